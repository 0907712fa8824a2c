"""Binned errors against slow definitions and published values."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import InputError, Predictions, reliability_curve
from calibrant.binning import EqualMass, EqualWidth
from calibrant.metrics import (
    ECE,
    ChanceECE,
    Classwise,
    DebiasedECE,
    PerPredictedClass,
    Reliability,
    Resolution,
    TopLabel,
)
from naming import each
from simulate import calibrated

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.DataWarning")  # Tiny data is the point here.


def bin_of(value, n_bins):
    """Right-closed equal-width bins with 0 in the first, decided with exact fractions of decimals."""
    from fractions import Fraction

    scaled = Fraction(repr(float(value))) * n_bins
    return max(math.ceil(scaled) - 1, 0)


def ece_by_definition(p, y, w, bins, norm):
    """Loop over bins and rows as the formula is written."""
    total, gaps = sum(w), []
    for b in set(bins):
        rows = [i for i in range(len(p)) if bins[i] == b and w[i] > 0]
        mass = sum(w[i] for i in rows)
        if mass > 0:
            gap = abs(sum(w[i] * (p[i] - y[i]) for i in rows) / mass)
            gaps.append((mass / total, gap))
    if norm == math.inf:
        return max(gap for _, gap in gaps)
    return sum(share * gap**norm for share, gap in gaps) ** (1 / norm)


def equal_mass_by_definition(p, w, n_bins):
    """Assign each distinct value, in order, to the bin in which the first of its integer copies falls.

    Copies have ranks; rank r is in bin floor(r B / n), and all copies of a value follow the last edge below them.
    """
    copies = sorted(v for v, m in zip(p, w, strict=True) for _ in range(m))
    n = len(copies)
    edges = [copies[math.ceil(b * n / n_bins) - 1] for b in range(1, n_bins)]
    return [sum(v > e for e in sorted(set(edges))) for v in p]


decimals = st.integers(0, 20).map(lambda v: v / 20)
rows = st.lists(st.tuples(decimals, st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=30).filter(
    lambda rows: any(w for _, _, w in rows)
)


@given(rows, st.integers(1, 12), st.sampled_from([1, 2, 3.5, math.inf]))
def test_ece_equals_its_definition_on_round_probabilities(rows, n_bins, norm):
    p, y, w = (list(column) for column in zip(*rows, strict=True))
    bins = [bin_of(v, n_bins) for v in p]
    expected = ece_by_definition(p, y, w, bins, norm)
    assert ECE(EqualWidth(n_bins), norm)(Predictions(p, y, w)) == pytest.approx(expected, abs=1e-12)


@given(rows, st.integers(1, 12))
def test_equal_mass_ece_equals_its_definition_with_ties_and_weights(rows, n_bins):
    p, y, w = (list(column) for column in zip(*rows, strict=True))
    expected = ece_by_definition(p, y, w, equal_mass_by_definition(p, w, n_bins), 1)
    assert ECE(EqualMass(n_bins))(Predictions(p, y, w)) == pytest.approx(expected, abs=1e-12)


@given(rows, st.integers(1, 12))
def test_ece_is_at_least_the_difference_of_the_means(rows, n_bins):
    p, y, w = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    difference = abs(np.average(p - y, weights=w))
    assert ECE(EqualWidth(n_bins))(Predictions(p, y, w)) >= difference - 1e-12


TORCHMETRICS_P, TORCHMETRICS_Y = [0.25, 0.25, 0.55, 0.75, 0.75], [0, 0, 1, 1, 1]
TORCHMETRICS_ROWS = [[0.25, 0.20, 0.55], [0.55, 0.05, 0.40], [0.10, 0.30, 0.60], [0.90, 0.05, 0.05]]
VERIFIED_P, VERIFIED_Y = [0.5, 0.5, 0.5, 0.6, 0.5, 0.6, 0.6, 0.6, 0.6], [0, 1, 0, 1, 0, 1, 1, 1, 0]
VERIFIED_ROWS = [[0.6, 0.3, 0.1]] * 6 + [[0.1, 0.8, 0.1]] * 4 + [[0.1, 0.0, 0.9]] * 4
VERIFIED_LABELS = [0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2]


@pytest.mark.parametrize(
    "metric, p, y, expected",
    [
        (ECE(EqualWidth(2)), TORCHMETRICS_P, TORCHMETRICS_Y, 0.29),
        (ECE(EqualWidth(2), norm=2), TORCHMETRICS_P, TORCHMETRICS_Y, 0.2918),
        (ECE(EqualWidth(2), norm=math.inf), TORCHMETRICS_P, TORCHMETRICS_Y, 0.3167),
        (ECE(EqualWidth(3)), TORCHMETRICS_ROWS, [0, 1, 2, 0], 0.2),
        (ECE(EqualWidth(3), norm=2), TORCHMETRICS_ROWS, [0, 1, 2, 0], 0.2082),
        (ECE(EqualWidth(3), norm=math.inf), TORCHMETRICS_ROWS, [0, 1, 2, 0], 0.2333),
        (ECE(EqualWidth(10)), VERIFIED_P, VERIFIED_Y, 4 / 9 * 0.25 + 5 / 9 * 0.2),
        (ECE(EqualWidth(10), norm=2), VERIFIED_P, VERIFIED_Y, 0.223607),
        (
            Classwise(ECE(EqualWidth(100))),
            VERIFIED_ROWS,
            VERIFIED_LABELS,
            4 / 42 * 0.1 + 6 / 42 * (5 / 6 - 0.6) + 8 / 42 * 0.1 + 4 / 42 * 0.05 + 6 / 42 * (0.3 - 1 / 6),
        ),
        (
            ECE(EqualWidth(100)),
            VERIFIED_ROWS,
            VERIFIED_LABELS,
            6 / 14 * (5 / 6 - 0.6) + 4 / 14 * 0.05 + 4 / 14 * 0.1,
        ),
        (ECE(EqualMass(2)), [0.1, 0.7, 0.5, 0.9], [0, 1, 0, 1], 0.25),
        (ECE(EqualMass(4)), [0.1, 0.7, 0.5, 0.9], [0, 1, 0, 1], 0.25),
        (ECE(EqualMass(2)), [0.6, 0.7, 0.8, 0.9], [0, 0, 1, 1], 0.4),
        (ECE(EqualMass(2)), [0.1, 0.1, 0.1, 0.1, 0.7], [0, 1, 0, 0, 1], 0.15 * 4 / 5 + 0.3 / 5),
        (ECE(EqualWidth(2)), [0.1, 0.2, 0.3, 0.7, 0.8, 0.9], [0, 0, 0, 1, 1, 1], 0.2),
        (ECE(EqualWidth(2)), [0.4] * 3 + [0.6] * 3, [0, 0, 0, 1, 1, 1], 0.4),
        (ECE(), [0.6] * 10, [1] * 6 + [0] * 4, 0.0),
        (ECE(EqualWidth(2), norm=math.inf), [0.1] * 3 + [0.6] * 3, [0, 0, 0, 1, 1, 1], 0.4),
        (TopLabel(ECE()), [[0.6, 0.2, 0.2]] * 10, [0] * 6 + [1] * 2 + [2] * 2, 0.0),
        (Classwise(ECE()), [[0.6, 0.2, 0.2]] * 10, [0] * 6 + [1] * 2 + [2] * 2, 0.0),
        (ECE(EqualWidth(10)), [0.95, 1.0], [1, 0], 0.475),
        (TopLabel(ECE()), [[0.9, 0.1], [0.8, 0.2]], [0, 0], 0.15),
    ],
    ids=lambda value: repr(value) if not isinstance(value, (list, float)) else "",
)
def test_published_values(metric, p, y, expected):
    printed = {0.2918: 5e-5, 0.3167: 5e-5, 0.2082: 5e-5, 0.2333: 5e-5, 0.223607: 5e-7}  # Rounded where published.
    assert metric(Predictions(p, y)) == pytest.approx(expected, rel=0, abs=printed.get(expected, 1e-12))


@pytest.mark.parametrize("n_bins, edges", [(2, [0.4]), (3, [0.3, 0.5])])
def test_published_equal_mass_edges(n_bins, edges):
    values = np.array([0.3, 0.5, 0.2, 0.3, 0.5, 0.7])
    assert EqualMass(n_bins).cut(values, np.ones(6)).upper[:-1] == pytest.approx(edges)


@each("value, bin_", [(0.0, 0), (0.1, 0), (0.45, 4), (1.0, 9), (0.3, 2), (0.1 + 0.2, 2), (0.7, 6)])
def test_edges_belong_to_the_bin_below(value, bin_):
    assert EqualWidth(10).cut(np.array([value]), np.ones(1)).index[0] == bin_


def test_values_one_ulp_apart_share_an_equal_mass_bin():
    values = np.array([0.1, 0.4, np.nextafter(0.4, 1), 0.9])
    index = EqualMass(2).cut(values, np.ones(4)).index
    assert index[1] == index[2]


@pytest.mark.parametrize("bins", [EqualWidth(7), EqualMass(7)])
def test_as_many_bins_as_asked_for_and_all_rows_in_them(bins):
    values = np.random.default_rng(0).random(1000)
    cut = bins.cut(values, np.ones(1000))
    assert cut.n_bins == 7
    assert set(cut.index) == set(range(7))


def test_all_equal_predictions_use_one_bin():
    estimate = ECE(EqualMass(15)).estimate(Predictions([0.3] * 10, [0, 1] * 5))
    assert estimate.details["bins_used"] == 1
    assert estimate.value == pytest.approx(0.2)


def test_published_debiased_square_is_zero():
    """D is 0 exactly; the value is the root of what rounding leaves of it."""
    estimate = DebiasedECE(EqualWidth(10)).estimate(Predictions(VERIFIED_P, VERIFIED_Y))
    assert abs(estimate.details["squared"]) < 1e-16
    assert estimate.value < 1e-8


def test_debiased_square_keeps_its_sign():
    p = Predictions([0.5] * 4, [0, 1, 0, 1])
    estimate = DebiasedECE().estimate(p)
    assert estimate.value == 0.0
    assert estimate.details["squared"] == pytest.approx(-0.25 / 3)


def test_debiased_square_averages_to_the_truth():
    """D over 400 data sets of three bins whose true gaps are known, within 4 standard errors."""
    rng = np.random.default_rng(0)
    probs = np.repeat([0.1, 0.5, 0.9], 20)
    truth = np.repeat([0.2, 0.5, 0.7], 20)
    expected = (0.01 + 0.0 + 0.04) / 3
    draws = np.array(
        [DebiasedECE(EqualWidth(10)).details(Predictions(probs, rng.random(60) < truth))["squared"] for _ in range(400)]
    )
    assert abs(draws.mean() - expected) < 4 * draws.std() / np.sqrt(len(draws))


@each("n, k", [(500, 2), (2000, 2), (2000, 10)])
def test_chance_value_equals_the_mean_over_redraws(n, k):
    from calibrant.hypotest import ConsistencyTest

    p = calibrated(n=n, k=k, seed=3)
    null = ConsistencyTest(ECE(), 999)(p, rng=1).null
    error = null.std() / np.sqrt(len(null))
    # The normal approximation in sparse bins is good to a few per cent.
    assert abs(ChanceECE()(p) - null.mean()) < 4 * error + 0.03 * null.mean()


def test_chance_value_of_sparse_bins_is_near_the_exact_one():
    p = Predictions([0.01, 0.99, 0.5], [0, 1, 1])
    exact = (2 * 0.01 * 0.99 + 2 * 0.01 * 0.99 + 0.5) / 3
    assert ChanceECE()(p) == pytest.approx(exact, rel=0.25)


def test_per_predicted_class_weighs_by_share():
    p = calibrated(n=300, k=4)
    predicted = p.predicted
    expected = 0.0
    for c in range(4):
        rows = np.flatnonzero(predicted == c)
        view = Predictions(p.probs[rows, c], p.labels[rows] == c)
        expected += len(rows) / 300 * ECE()(view)
    assert PerPredictedClass(ECE())(p) == pytest.approx(expected)


def test_reliability_curve_of_the_published_example():
    y = [0, 0, 0, 0, 1, 1, 1, 1, 1]
    p = [0.1, 0.2, 0.3, 0.4, 0.65, 0.7, 0.8, 0.9, 1.0]
    curve = reliability_curve(Predictions(p, y), EqualWidth(3))
    assert curve.observed == pytest.approx([0, 0.5, 1])
    assert curve.predicted == pytest.approx([0.2, 0.525, 0.85])
    assert curve.count.tolist() == [3, 2, 4]


def test_wilson_limits_equal_the_ones_of_scipy():
    from scipy.stats import binomtest

    curve = reliability_curve(Predictions([0.3] * 20, [1] * 7 + [0] * 13), level=0.9)
    interval = binomtest(7, 20).proportion_ci(0.9, method="wilson")
    assert (curve.low[0], curve.high[0]) == pytest.approx((interval.low, interval.high))


def test_huge_weights_do_not_overflow():
    curve = reliability_curve(Predictions([0.3, 0.31, 0.9], [1, 0, 1], [1e150, 1e-150, 1e150]))
    assert np.isfinite([curve.low, curve.high, curve.observed]).all()


@each(
    "build, words",
    [
        (lambda: EqualWidth(0), "n_bins must be a whole number of at least 1, but is 0"),
        (lambda: EqualMass(2.5), "n_bins must be a whole number"),
        (lambda: EqualWidth(5, convention="mapie"), "convention must be one of"),
        (lambda: EqualMass(5, convention="guo"), "convention must be one of"),
        (lambda: ECE(norm=0.5), "norm must be a number of at least 1"),
        (lambda: reliability_curve(Predictions([0.5], [1]), level=1), "level must be a number between 0 and 1"),
        (lambda: reliability_curve(Predictions([0.5], [1]), level="5"), "level must be a number between 0 and 1"),
    ],
)
def test_bad_settings_are_refused(build, words):
    with pytest.raises(InputError, match=words):
        build()


def test_a_function_is_not_a_metric():
    with pytest.raises(TypeError, match="metric must be a Metric"):
        TopLabel(max)


def test_a_number_of_bins_is_a_binning():
    p = calibrated(200, 2, seed=3)
    for metric in (ECE, ChanceECE, Reliability, Resolution):
        assert metric(7) == metric(EqualWidth(7))
        assert metric(7)(p) == metric(EqualWidth(7))(p)


def test_counted_events_give_the_debiased_error_of_weighted_rows():
    rng = np.random.default_rng(0)
    probs = rng.random(10_000).round(2)
    labels = (rng.random(10_000) < probs**1.2).astype(int)
    p = Predictions(probs, labels, rng.choice([1.0, 5.0, 20.0], 10_000))
    counted = DebiasedECE().prepare_counts(p)
    assert counted.evaluate(counted.cells.count(labels[:, None]))[0] == pytest.approx(DebiasedECE()(p), rel=1e-9)
