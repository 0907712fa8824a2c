"""The debiased mean squared gap and its root, against the sum over pairs that defines them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import Predictions
from calibrant.binning import EqualMass, EqualWidth
from calibrant.metrics import ECE, METRICS, Classwise, DebiasedSquaredGap, PerPredictedClass, Root
from naming import each
from simulate import calibrated, sharpened

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.DataWarning")  # Tiny data is the point here.


def by_definition(p, y, w, index):
    """Loop over bins and over pairs of different rows as the formula is written."""
    value = 0.0
    for b in set(index):
        rows = [i for i in range(len(p)) if index[i] == b and w[i] > 0]
        if len(rows) > 1:
            pairs = [(i, j) for i in rows for j in rows if i != j]
            products = sum(w[i] * w[j] * (y[i] - p[i]) * (y[j] - p[j]) for i, j in pairs)
            value += sum(w[i] for i in rows) / sum(w) * products / sum(w[i] * w[j] for i, j in pairs)
    return value


def of_binary(p, metric, rows=slice(None)):
    index = metric.bins.cut(p.positive[rows], p.weights[rows]).index
    return by_definition(p.positive[rows], p.labels[rows], p.weights[rows], index)


decimals = st.integers(0, 20).map(lambda v: v / 20)
some_rows = st.lists(st.tuples(decimals, st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=25).filter(
    lambda rows: any(w for _, _, w in rows)
)


@given(some_rows, st.sampled_from([EqualMass(3), EqualWidth(4), EqualMass(15)]))
def test_it_is_the_mean_over_pairs_of_different_rows(rows, bins):
    p = Predictions(*(list(column) for column in zip(*rows, strict=True)))
    metric = DebiasedSquaredGap(bins)
    expected = of_binary(p, metric)
    assert metric(p) == pytest.approx(expected, abs=1e-12)
    assert Root(metric)(p) == pytest.approx(np.sqrt(max(expected, 0.0)), abs=1e-6)


def test_lifts_average_squares_and_not_roots():
    p = sharpened(calibrated(n=60, k=3), 0.4)
    p = Predictions(p.probs, p.labels, np.random.default_rng(0).exponential(size=60))
    metric, weights = DebiasedSquaredGap(EqualMass(4)), p.weights / p.weights.sum()
    one = np.mean([of_binary(p.one_vs_rest(c), metric) for c in range(3)])
    groups = [np.flatnonzero(p.predicted == c) for c in range(3)]
    per = sum(weights[rows].sum() * of_binary(p.top_label(), metric, rows) for rows in groups)
    assert Root(Classwise(metric))(p) == pytest.approx(np.sqrt(one), rel=1e-12)
    assert Root(PerPredictedClass(metric))(p) == pytest.approx(np.sqrt(per), rel=1e-12)
    assert Root(metric)(p) == pytest.approx(np.sqrt(of_binary(p.top_label(), metric)), rel=1e-12)


@each("name", [name for name in METRICS if name.startswith("rms-debiased")])
@each("factor", [1e-300, 7.0, 1e300])
def test_a_constant_factor_of_the_weights_changes_nothing(name, factor):
    p = sharpened(calibrated(n=200, k=3), 0.5)
    weights = np.random.default_rng(1).exponential(size=200)
    values = [METRICS[name](Predictions(p.probs, p.labels, w)) for w in (weights, factor * weights)]
    assert values[0] == pytest.approx(values[1], rel=1e-12)


def test_chance_adds_nothing_on_average():
    """Over redraws of the labels its mean is 0 within 4 standard errors, where that of the plain square is not."""
    p = calibrated(n=300, k=2)
    p = Predictions(p.probs, p.labels, np.random.default_rng(2).exponential(size=300))
    labels = (np.random.default_rng(3).random((300, 2000)) < p.positive[:, None]).astype(int)
    draws = DebiasedSquaredGap().prepare_labels(p)(labels)
    plain = ECE(EqualMass(15), norm=2).prepare_labels(p)(labels) ** 2
    error = draws.std() / np.sqrt(len(draws))
    assert abs(draws.mean()) < 4 * error
    assert plain.mean() > 40 * error


def test_the_details_keep_the_sign_of_the_square():
    estimate = Root(DebiasedSquaredGap()).estimate(Predictions([0.5] * 4, labels=[0, 1, 0, 1]))
    assert estimate.value == 0.0
    assert estimate.details == {"bins_used": 1, "squared": pytest.approx(-1 / 12)}  # -1/4 in 8 of 12 pairs, 1/4 in 4


def test_the_details_of_classes_are_roots():
    p = sharpened(calibrated(n=400, k=3), 0.4)
    classes = Root(Classwise(DebiasedSquaredGap())).estimate(p).details["classes"]
    assert [*classes.values()] == pytest.approx([Root(DebiasedSquaredGap())(p.one_vs_rest(c)) for c in range(3)])


def test_rare_events_are_seen_by_bins_of_equal_mass():
    """Half the true rate of rare events: one bin of equal width holds nearly all, those of equal mass see the gap."""
    rng = np.random.default_rng(4)
    true = rng.beta(1, 30, 4000)
    p = Predictions(true / 2, (rng.random(4000) < true).astype(int))
    truth = np.sqrt(np.mean((true / 2) ** 2))
    assert METRICS["rms-debiased"](p) == pytest.approx(truth, rel=0.25)


def test_details_say_that_no_two_rows_share_a_bin():
    for labels in ([0, 0, 1], [1, 1, 1]):
        apart = METRICS["rms-debiased"].estimate(Predictions([0.2, 0.5, 0.8], labels))
        assert (apart.value, apart.details["unpaired"]) == (0.0, True)
    one_of_two = Predictions([0.2, 0.2], [0, 0], weights=[1.0, 0.0])
    assert METRICS["rms-debiased"].estimate(one_of_two).details["unpaired"]
    assert "unpaired" not in METRICS["rms-debiased"].estimate(Predictions([0.2, 0.2, 0.8], [0, 0, 1])).details
