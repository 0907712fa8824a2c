"""Limits from formulas: Student's law corrected for skewness, and the sandwich, against slow definitions."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import expit, logit
from scipy.stats import norm, t

from calibrant import InputError, Predictions
from calibrant.intervals import interval
from calibrant.intervals.differences import Pair, difference_limits
from calibrant.intervals.means import N_REDRAWS, hall_laws
from calibrant.intervals.methods import METHODS, why_not
from calibrant.intervals.requirements import ONE_OUTCOME, SEPARATED
from calibrant.intervals.sandwich import influence_difference, influence_law
from calibrant.intervals.student import StudentLaw, law_of_sum
from calibrant.metrics import NLL, Brier, CoxIntercept, CoxSlope, InTheLarge, Metric, ObservedExpectedRatio
from calibrant.resampling.bootstrap import Bootstrap
from calibrant.resampling.redraws import redraw_labels
from naming import each
from properties import examples
from simulate import calibrated, sharpened

COEFFICIENTS = [CoxSlope(), CoxIntercept(), InTheLarge(), ObservedExpectedRatio()]
NAMES = [type(metric).__name__ for metric in COEFFICIENTS]


def binary(n, rng, truth=lambda p: expit(0.7 * logit(p) + 0.3), weights=None):
    probs = rng.beta(2, 2, n)
    return Predictions(probs, (rng.random(n) < truth(probs)).astype(int), weights)


def monte_carlo_bound(level, n_sets):
    """Coverage further than this from the level is not chance (one in a thousand)."""
    return norm.ppf(0.999) * np.sqrt(level * (1 - level) / n_sets)


def transformed(deviation, k):
    """Hall's polynomial, term by term."""
    return deviation + k * deviation**2 / 3 + k**2 * deviation**3 / 27 + k / 6


@given(st.floats(-1, 1), st.floats(1, 1e6), st.floats(0.5, 0.999))
def test_limits_of_a_skewed_law_are_where_the_transformed_deviation_is_students_quantile(k, freedom, level):
    low, high = StudentLaw(2.0, 0.5, freedom, k).limits(level)
    quantile = t.ppf((1 + level) / 2, freedom)
    for limit, target in ((low, quantile), (high, -quantile)):
        reach = 10 + 10 * quantile**3
        deviation = brentq(lambda x, q=target: transformed(x, k) - q, -reach, reach, xtol=1e-13)
        clipped = max(deviation, 0.0) if target > 0 else min(deviation, 0.0)
        assert limit == pytest.approx(2.0 - 0.5 * clipped, rel=1e-6, abs=1e-6)
    assert low <= 2.0 <= high


@given(st.floats(-3, 3), st.floats(-0.9, 0.9), st.floats(5, 1e4))
def test_a_p_value_is_below_5_percent_if_and_only_if_the_limits_exclude_0(value, k, freedom):
    law = StudentLaw(value, 0.7, freedom, k)
    low, high = law.limits(0.95)
    if min(abs(low), abs(high)) > 1e-6:
        assert (law.pvalue() < 0.05) == (low > 0 or high < 0)


def test_p_values_are_never_0_and_1_without_a_difference():
    assert StudentLaw(0.0, 0.0, 10).pvalue() == 1.0
    assert 0 < StudentLaw(1.0, 0.0, 10).pvalue() < 1e-300
    assert 0 < StudentLaw(1.0, 1e-300, 1e9).pvalue() < 1e-100


def test_the_law_of_a_mean_of_equal_rows_has_the_textbook_error():
    rows = np.random.default_rng(0).exponential(size=40)
    (law,) = hall_laws(rows[:, None], np.full(40, 3.0), Bootstrap(1))
    assert (law.value, law.error) == pytest.approx((rows.mean(), rows.std(ddof=1) / np.sqrt(40)), rel=1e-12)
    assert law.freedom == pytest.approx(20, rel=1e-12)
    centred = rows - rows.mean()
    assert law.skewness == pytest.approx(np.sum(centred**3) / np.sum(centred**2) ** 1.5, rel=1e-12)


def test_squared_weights_give_the_variance_and_their_squares_the_degrees_of_freedom():
    masses = np.array([3.0, 1.0, 1.0, 2.0])
    influences = np.array([0.2, -0.1, 0.3, -0.4])
    law = law_of_sum(1.0, influences, masses, skewed=False)
    shares = masses / 7
    assert law.error == pytest.approx(np.sqrt(np.sum(influences**2) / (1 - np.sum(shares**2))), rel=1e-12)
    assert law.freedom == pytest.approx(15**2 / (81 + 1 + 1 + 16) / 2, rel=1e-12)
    assert law.skewness == 0


def test_limits_of_a_score_are_those_of_its_rows_with_one_row_of_the_expected_kind():
    p = sharpened(calibrated(n=80, k=3), 0.5)
    rows = Brier().per_row(p)
    centred = rows - rows.mean()
    by_label = 1 + np.sum(p.probs**2, axis=1, keepdims=True) - 2 * p.probs  # The Brier score of every label.
    (labels,) = redraw_labels(p, N_REDRAWS, np.random.default_rng(3))
    expected = np.mean([by_label[np.arange(80), column].var() / 80 for column in labels.T])
    deciding = np.sum(centred**2) ** 2 / np.sum(centred**4)
    error = np.sqrt((deciding * rows.var(ddof=1) / 80 + expected) / (deciding + 1))
    k = np.sum(centred**3) / np.sum(centred**2) ** 1.5
    found = interval(p, Brier(), rng=3)
    assert found.method == "hall"
    assert transformed((rows.mean() - found.low) / error, k) == pytest.approx(t.ppf(0.975, 40), rel=1e-9)
    assert transformed((rows.mean() - found.high) / error, k) == pytest.approx(t.ppf(0.025, 40), rel=1e-9)


@pytest.mark.parametrize("metric", COEFFICIENTS, ids=NAMES)
@each("k", [2, 3])
@examples(5)
@given(seed=st.integers(0, 10**6))
def test_influences_are_derivatives_with_respect_to_the_weights(metric, k, seed):
    """The value changes by u_i e if the weight of row i is multiplied by 1 + e."""
    rng = np.random.default_rng(seed)
    p = sharpened(calibrated(n=60, k=k, seed=seed), 0.7)
    weights = rng.uniform(0.5, 2.0, 60)
    p = Predictions(p.probs, p.labels, weights)
    evaluate, step = metric.prepare(p), 1e-4
    rows = rng.choice(60, 5, replace=False)
    influence = metric.influence(p)
    assert influence.sum() == pytest.approx(0, abs=1e-8 * np.abs(influence).max() + 1e-10)
    for i in rows:
        change = np.repeat(weights[:, None], 2, axis=1)
        change[i] *= [1 + step, 1 - step]
        up, down = (float(evaluate(change[:, [b]])[0]) for b in (0, 1))
        assert influence[i] == pytest.approx((up - down) / (2 * step), rel=1e-3, abs=1e-5 * np.abs(influence).max())


@each("position, metric", [(0, CoxIntercept()), (1, CoxSlope())])
@each("clustered", [False, True])
def test_the_sandwich_is_that_of_dense_matrices(position, metric, clustered):
    rng = np.random.default_rng(4)
    p = binary(120, rng, weights=rng.uniform(0.2, 3.0, 120))
    clusters = np.arange(120) % 40 if clustered else np.arange(120)
    design = np.column_stack([np.ones(120), logit(p.positive)])
    line = np.array([CoxIntercept()(p), CoxSlope()(p)])
    fitted = expit(design @ line)
    bread = np.linalg.inv(design.T @ np.diag(p.weights * fitted * (1 - fitted)) @ design)
    scores = design * (p.weights * (p.labels - fitted))[:, None]
    by_cluster = np.array([scores[clusters == c].sum(axis=0) for c in np.unique(clusters)])
    masses = np.array([p.weights[clusters == c].sum() for c in np.unique(clusters)])
    meat = by_cluster.T @ by_cluster / (1 - np.sum(masses**2) / masses.sum() ** 2)
    error = np.sqrt((bread @ meat @ bread)[position, position])
    freedom = np.sum(masses**2) ** 2 / np.sum(masses**4) / 2
    half = t.ppf(0.975, freedom) * error
    plan = Bootstrap(1, clusters=clusters if clustered else None)
    found = METHODS["sandwich"](p, metric, 0.95, plan, rng)
    assert [*found] == pytest.approx([line[position] - half, line[position] + half], rel=1e-6)


@st.composite
def rows_of_an_event(draw):
    """Draw predictions with ties, outcomes of which few may be events, and weights of which some may be 0."""
    n = draw(st.integers(5, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scale = draw(st.sampled_from([0.02, 0.3, 1.0]))  # Rare events, and others.
    probs = np.round(scale * rng.uniform(0.01, 0.99, n), draw(st.sampled_from([3, 15])))
    labels = (rng.random(n) < probs).astype(int)
    labels[:2] = [1, 0]
    weights = np.ones(n) if draw(st.booleans()) else np.round(rng.exponential(size=n), 1)
    weights[:2] += 0.5
    return np.maximum(probs, 1e-3), labels, weights


@given(rows_of_an_event(), st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_the_ratio_of_observed_to_expected_events_and_its_limits_are_those_of_loops_over_rows(rows, level):
    """The ratio estimator of surveys; its limits solve Hall's cubic, here by bisection."""
    probs, labels, weights = (part.tolist() for part in rows)
    each_row = [*zip(probs, labels, weights, strict=True)]
    expected = math.fsum(w * p for p, _, w in each_row)
    ratio = math.fsum(w * y for _, y, w in each_row) / expected
    parts = [w * (y - ratio * p) / expected for p, y, w in each_row]
    total = math.fsum(weights)
    kept = 1 - math.fsum((w / total) ** 2 for w in weights)
    squares = math.fsum(u * u for u in parts)
    skewness = math.fsum(u**3 for u in parts) / squares**1.5
    freedom = max(math.fsum(w**2 for w in weights) ** 2 / math.fsum(w**4 for w in weights) / 2, 1.0)
    quantile, error = t.ppf((1 + level) / 2, freedom), math.sqrt(squares / kept)

    def solved(target):
        return brentq(lambda x: transformed(x, skewness) - target, -1e4, 1e4, xtol=1e-13, rtol=1e-13)

    low, high = ratio - error * max(solved(quantile), 0), ratio - error * min(solved(-quantile), 0)
    p, metric = Predictions(*rows), ObservedExpectedRatio()
    assert metric(p) == pytest.approx(ratio, rel=1e-12)
    assert [*METHODS["sandwich"](p, metric, level, Bootstrap(1), None)] == pytest.approx(
        [low, high], rel=1e-7, abs=1e-7
    )


@pytest.mark.parametrize("metric", COEFFICIENTS, ids=NAMES)
def test_weights_are_relative_and_rows_without_weight_are_absent(metric):
    rng = np.random.default_rng(5)
    weights = rng.uniform(0.5, 2.0, 200) * (rng.random(200) < 0.8)
    p = binary(200, rng, weights=weights)
    present = np.flatnonzero(weights)
    expected = interval(p.take(present), metric)
    for scale in (1.0, 1e200, 1e-200):
        found = interval(Predictions(p.probs, p.labels, scale * weights), metric)
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-7)


@pytest.mark.parametrize("metric", COEFFICIENTS, ids=NAMES)
def test_copies_in_clusters_leave_the_limits_of_the_originals(metric):
    p = binary(90, np.random.default_rng(9))
    rows = np.repeat(np.arange(90), 2)
    one, two = interval(p, metric), interval(p.take(rows), metric, bootstrap=Bootstrap(1, clusters=rows))
    assert (two.low, two.high) == pytest.approx((one.low, one.high), rel=1e-6)
    alone = interval(p.take(rows), metric)
    assert alone.high - alone.low == pytest.approx((one.high - one.low) / np.sqrt(2), rel=0.03)


def test_a_line_that_is_not_finite_has_no_limits():
    probs = np.linspace(0.2, 0.95, 200)
    separated = Predictions(probs, (probs > 0.7).astype(int))
    constant = Predictions([0.6] * 200, labels=[1] * 100 + [0] * 100)
    for p in (separated, constant):
        for metric in (CoxSlope(), CoxIntercept()):
            assert why_not(metric, p, Bootstrap(1)) == SEPARATED
            with pytest.raises(InputError, match="a threshold on the predictions separates the outcomes"):
                interval(p, metric, "sandwich")
        pair = {"x": Pair(CoxSlope(), p, p)}
        assert difference_limits(pair, 0.95, Bootstrap(1))["x"].reason == SEPARATED
        assert interval(p, InTheLarge()).method == "sandwich"


@pytest.mark.filterwarnings("ignore::calibrant.DataWarning")
def test_one_outcome_alone_is_named_as_the_reason_and_no_threshold():
    p = Predictions(np.linspace(0.6, 0.9, 100), np.ones(100, dtype=int))
    with pytest.raises(InputError, match="has no limits: only one of the two outcomes occurs"):
        interval(p, ObservedExpectedRatio(), "sandwich")
    pair = {"x": Pair(ObservedExpectedRatio(), p, p)}
    assert difference_limits(pair, 0.95, Bootstrap(1))["x"].reason == ONE_OUTCOME


def test_a_difference_has_the_influences_of_both_models_row_by_row():
    rng = np.random.default_rng(7)
    first = binary(150, rng)
    second = Predictions(0.7 * first.positive + 0.2, first.labels)
    for metric in COEFFICIENTS:
        law = influence_difference(first, second, metric, Bootstrap(1))
        rows = metric.influence(second) - metric.influence(first)
        assert law.value == pytest.approx(metric(second) - metric(first), rel=1e-9)
        assert law.error == pytest.approx(np.sqrt(np.sum(rows**2) * 150 / 149), rel=1e-9)
        back = influence_difference(second, first, metric, Bootstrap(1)).limits(0.95)
        assert [*law.limits(0.95)] == pytest.approx([-back.high, -back.low], rel=1e-9)
        twins = influence_difference(first, first, metric, Bootstrap(1))
        assert (twins.value, *twins.limits(0.95), twins.pvalue()) == (0, 0, 0, 1)


@dataclass(frozen=True)
class Excess(Metric):
    """Mean outcome minus mean prediction, with the influences of its rows."""

    family, accepts, better, measures, methods = "score", "binary", "none", "calibration", ("sandwich",)

    def prepare(self, predictions):
        residuals = predictions.labels - predictions.positive
        return lambda weights: residuals @ weights / weights.sum(axis=0)

    def influence(self, predictions):
        residuals = predictions.labels - predictions.positive
        return predictions.weights * (residuals - self(predictions)) / predictions.weights.sum()


def test_a_metric_of_ones_own_has_limits_and_differences_by_its_influences():
    rng = np.random.default_rng(7)
    first = binary(150, rng)
    second = Predictions(0.7 * first.positive + 0.2, first.labels)
    found = interval(first, Excess())
    assert (found.method, found.low < found.value < found.high) == ("sandwich", True)
    pairs = {"x": Pair(Excess(), first, second)}
    of_both = difference_limits(pairs, 0.95, Bootstrap(1))["x"]
    rows = first.positive - second.positive
    assert of_both.method == "sandwich"
    assert of_both.low < rows.mean() < of_both.high
    assert of_both.high - of_both.low == pytest.approx(2 * t.ppf(0.975, 75) * rows.std(ddof=1) / np.sqrt(150), rel=0.02)


def noisy(p):
    """A law that no line of log-odds describes: a fifth of the labels is drawn blindly."""
    return 0.1 + 0.8 * p**3


@pytest.mark.filterwarnings("ignore::calibrant.DataWarning")
@pytest.mark.parametrize("metric", COEFFICIENTS, ids=NAMES)
def test_the_sandwich_covers_where_no_line_is_true(metric):
    """200 sets of 150 rows; the truth is the value of 40 000 quantiles with their expected labels as weights."""
    probs = (np.arange(20_000) + 0.5) / 20_000
    both = Predictions(np.tile(probs, 2), np.repeat([1, 0], 20_000), np.concatenate([noisy(probs), 1 - noisy(probs)]))
    truth, rng = metric(both), np.random.default_rng(3)
    n_sets, covered = 200, 0
    for _ in range(n_sets):
        x = rng.random(150)
        p = Predictions(x, (rng.random(150) < noisy(x)).astype(int))
        low, high = influence_law(p, metric, Bootstrap(1)).limits(0.95)
        covered += low <= truth <= high
    assert abs(covered / n_sets - 0.95) < 0.02 + monte_carlo_bound(0.95, n_sets)


@pytest.mark.parametrize("metric, truth", [(CoxSlope(), 0.7), (CoxIntercept(), 0.3)])
def test_the_sandwich_of_forty_clusters_covers_and_that_of_rows_does_not(metric, truth):
    """Five copies of every row: rows alone would give limits that are too narrow by the root of five."""
    rng = np.random.default_rng(8)
    rows, n_sets, covered, alone = np.repeat(np.arange(40), 5), 150, 0, 0
    for _ in range(n_sets):
        p = binary(40, rng).take(rows)
        for plan in (Bootstrap(1, clusters=rows), Bootstrap(1)):
            low, high = influence_law(p, metric, plan).limits(0.95)
            if plan.clusters is None:
                alone += low <= truth <= high
            else:
                covered += low <= truth <= high
    assert abs(covered / n_sets - 0.95) < 0.03 + monte_carlo_bound(0.95, n_sets)
    assert alone / n_sets < 0.8


def test_limits_of_skewed_scores_cover_on_both_sides():
    """Log losses of rare events are skewed: plain t limits lie below the truth in 5 to 6 of 100 sets."""
    rng = np.random.default_rng(2)
    quantiles = (np.arange(100_000) + 0.5) / 100_000
    probs = 1 - (1 - quantiles) ** 0.25  # Beta(1, 4)
    truth = float(np.mean(-probs * np.log(probs) - (1 - probs) * np.log1p(-probs)))
    n_sets, below, above = 600, 0, 0
    for _ in range(n_sets):
        x = rng.beta(1, 4, 150)
        p = Predictions(x, (rng.random(150) < x).astype(int))
        low, high = METHODS["hall"](p, NLL(), 0.95, Bootstrap(1), rng)
        below, above = below + (high < truth), above + (low > truth)
    bound = norm.ppf(0.999) * np.sqrt(0.025 * 0.975 / n_sets)
    assert below / n_sets < 0.025 + 0.01 + bound
    assert above / n_sets < 0.025 + 0.01 + bound
    assert (
        0.93 - monte_carlo_bound(0.95, n_sets) < 1 - (below + above) / n_sets < 0.97 + monte_carlo_bound(0.95, n_sets)
    )
