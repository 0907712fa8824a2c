"""Predictions that differ by rounding alone are the same everywhere."""

import numpy as np
import pytest

from calibrant import Predictions
from calibrant.curves import cumulative_curve, isotonic_curve
from calibrant.hypotest import ECCETest
from calibrant.metrics import Miscalibration, decompose

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


def test_predictions_that_differ_by_more_are_not_tied():
    p = Predictions([0.5] * 50 + [0.5 + 1e-11] * 50, np.repeat([0, 1], 50))
    assert Miscalibration()(p) == pytest.approx(0.25)
    assert isotonic_curve(p, n_resamples=99, rng=0).error.value == pytest.approx(0.25)
