"""Predictions that differ by rounding alone are the same everywhere."""

import numpy as np
import pytest

from calibrant import Predictions
from calibrant.curves import cumulative_curve, isotonic_curve
from calibrant.exceptions import DataWarning
from calibrant.hypotest import ECCETest
from calibrant.kernels import TotalVariation, median_distance
from calibrant.metrics import METRICS, Miscalibration, decompose
from naming import each

pytestmark = pytest.mark.filterwarnings("ignore:every row is predicted correctly")


def nearly_tied(order=slice(None), weights=None):
    probs = np.array([0.5] * 50 + [0.5 + 1e-13] * 50)
    return Predictions(probs[order], np.repeat([0, 1], 50)[order], weights)


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)], ids=["ascending", "descending"])
@pytest.mark.parametrize("weights", [None, np.tile([1.0, 2.0], 50)], ids=["plain", "weighted"])
def test_isotonic_parts_agree_on_what_is_tied(order, weights):
    p = nearly_tied(order, weights)
    curve = isotonic_curve(p, n_resamples=99, rng=0)
    assert Miscalibration()(p) == pytest.approx(0, abs=1e-12)
    assert curve.error.value == pytest.approx(0, abs=1e-12)
    assert curve.error.value == pytest.approx(decompose(p).miscalibration, abs=1e-12)
    assert (curve.predicted.tolist(), curve.observed.tolist(), curve.count.tolist()) == ([0.5], [0.5], [100])


def test_running_sums_agree():
    assert ECCETest()(nearly_tied()).estimate == pytest.approx(0, abs=1e-12)
    assert cumulative_curve(nearly_tied()).ecce.value == pytest.approx(0, abs=1e-12)


@pytest.mark.filterwarnings("ignore::calibrant.DataWarning")
@each("k", [2, 3, 40])
@each("name", ["ece-simplex-median", "kde-ece", "kde-ece-one-vs-rest", "kde-ece-per-predicted-class"])
def test_rounding_of_votes_changes_nothing(name, k):
    rng = np.random.default_rng(k)
    votes = rng.multinomial(10, rng.dirichlet(np.ones(k)), 120) / 10
    votes = votes[np.sort(votes, axis=1)[:, -1] > np.sort(votes, axis=1)[:, -2]]  # The predicted class is not a tie.
    noise = rng.integers(-2, 3, votes.shape) * np.finfo(float).eps
    labels = rng.integers(0, k, len(votes))
    exact, rounded = (METRICS[name](Predictions(np.minimum(p, 1), labels)) for p in (votes, votes * (1 + noise)))
    assert rounded == pytest.approx(exact, abs=1e-9)


@each("k", [2, 3])
def test_rounding_does_not_make_a_lengthscale(k):
    one = np.repeat([[0.7, 0.3], [0.2, 0.8]] if k == 2 else [[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]], [170, 30], axis=0)
    noise = np.random.default_rng(k).integers(-3, 4, one.shape) * np.finfo(float).eps
    found = []
    for probs in (one, one * (1 + noise)):
        with pytest.warns(DataWarning, match="median distance of 200 predictions is 0"):
            found.append(median_distance(TotalVariation(), Predictions(probs, np.arange(200) % k).probs))
    assert found[1] == pytest.approx(found[0], abs=1e-9)
    assert found[0] == pytest.approx(0.5 if k == 2 else 0.6)


@pytest.mark.filterwarnings("ignore::calibrant.DataWarning")
@each("factor", [0.3, 1 / 3, 0.7])
def test_a_constant_factor_of_weights_does_not_choose_between_classes_of_equal_frequency(factor):
    votes = np.random.default_rng(8).multinomial(10, np.ones(100) / 100, 120) / 10
    labels = np.random.default_rng(9).integers(0, 100, 120)
    metric = METRICS["kde-ece-one-vs-rest"]
    weighted = Predictions(votes, labels, weights=np.full(120, factor))
    assert metric(weighted) == pytest.approx(metric(Predictions(votes, labels)), abs=1e-9)


def test_predictions_that_differ_by_more_are_not_tied():
    p = Predictions([0.5] * 50 + [0.5 + 1e-11] * 50, np.repeat([0, 1], 50))
    assert Miscalibration()(p) == pytest.approx(0.25)
    assert isotonic_curve(p, n_resamples=99, rng=0).error.value == pytest.approx(0.25)
