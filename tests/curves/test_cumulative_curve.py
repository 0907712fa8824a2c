"""The running sum of outcomes minus predictions."""

import numpy as np
import pytest

from binary_cases import binary
from calibrant import Predictions
from calibrant.curves import cumulative_curve
from calibrant.hypotest import ECCETest
from calibrant.metrics import ECCE
from naming import each
from simulate import calibrated


def test_the_path_of_four_rows_is_that_of_a_hand_calculation():
    curve = cumulative_curve(Predictions([0.8, 0.2, 0.6, 0.4], labels=[1, 0, 0, 0]))
    assert curve.share.tolist() == pytest.approx([0, 0.25, 0.5, 0.75, 1])
    assert 4 * curve.cumulative == pytest.approx([0, -0.2, -0.6, -1.2, -1.0])
    assert curve.predicted.tolist() == [0.2, 0.2, 0.4, 0.6, 0.8]
    assert curve.sigma == pytest.approx(np.sqrt(2 * 0.16 + 2 * 0.24) / 4)
    assert (curve.ecce.value, curve.ecce_range.value) == pytest.approx((0.3, 0.3))
    worst = curve.worst
    assert (worst.lower, worst.upper, worst.count) == (0.2, 0.6, 3)
    assert (worst.start, worst.stop) == pytest.approx((0, 0.75))
    assert (worst.predicted, worst.observed, worst.net) == pytest.approx((0.4, 0, -0.3))


@each("n", [1, 2, 30, 3000])
@each("weighted", [False, True])
def test_path_sigma_and_worst_interval_are_those_of_the_metric_and_the_test(n, weighted):
    p = binary(n, seed=n, sharpness=1.5)
    if weighted:
        weights = np.random.default_rng(n).integers(0, 4, n) + (np.arange(n) == 0)
        p = Predictions(p.probs, p.labels, weights=weights)
    curve = cumulative_curve(p)
    assert curve.ecce.value == pytest.approx(ECCE()(p), rel=1e-9)
    test = ECCETest("range")(p)
    assert curve.ecce_range.value == pytest.approx(test.estimate, rel=1e-9)
    assert curve.sigma == pytest.approx(test.details["sigma"], rel=1e-9)
    worst = curve.worst
    assert [worst.lower, worst.upper] == test.details["interval"]
    assert worst.count == test.details["interval_rows"]
    assert worst.predicted == pytest.approx(test.details["interval_predicted"])
    assert abs(worst.net) == pytest.approx(curve.ecce_range.value)
    assert curve.n_samples == int((p.weights > 0).sum())


def test_an_integer_weight_is_as_many_copies_of_the_row():
    p = binary(200, seed=4)
    times = np.random.default_rng(0).integers(0, 4, 200)
    copies = cumulative_curve(p.take(np.repeat(np.arange(200), times)))
    weighted = cumulative_curve(Predictions(p.probs, p.labels, weights=times))
    assert weighted.cumulative == pytest.approx(copies.cumulative, abs=1e-14)
    assert weighted.share == pytest.approx(copies.share)


def test_a_long_path_keeps_its_ends_its_extremes_and_those_of_every_hundredth():
    p = binary(20_000, seed=1, sharpness=2.0)
    curve = cumulative_curve(p)
    assert len(curve.share) <= 401
    assert curve.n_distinct > 19_000
    order = np.argsort(p.positive)
    path = np.append(0.0, np.cumsum((p.labels - p.positive)[order]) / 20_000)
    share = np.arange(20_001) / 20_000
    assert (curve.share[0], curve.share[-1]) == (0, 1)
    for low in np.arange(100) / 100:
        whole = path[(share >= low) & (share < low + 0.01)]
        kept = curve.cumulative[(curve.share >= low - 1e-9) & (curve.share < low + 0.01 - 1e-9)]
        assert kept.max() == pytest.approx(whole.max(), abs=1e-4)
        assert kept.min() == pytest.approx(whole.min(), abs=1e-4)
    assert curve.cumulative.max() == pytest.approx(path.max(), abs=1e-12)
    assert curve.cumulative.min() == pytest.approx(path.min(), abs=1e-12)
    assert curve.cumulative[-1] == pytest.approx(path[-1], abs=1e-12)
    assert np.isin(curve.worst.start, curve.share)
    assert np.isin(curve.worst.stop, curve.share)


def test_more_classes_mean_confidence_against_correctness():
    p = calibrated(n=300, k=4)
    curve, top = cumulative_curve(p), cumulative_curve(p.top_label())
    assert curve.view == "top-label"
    assert curve.cumulative.tolist() == top.cumulative.tolist()


def test_certain_and_right_predictions_never_leave_zero():
    curve = cumulative_curve(Predictions([0.0, 1.0, 1.0, 0.5], labels=[0, 1, 1, 0]).take([0, 1, 2]))
    assert curve.worst is None
    assert curve.sigma == curve.ecce.value == curve.ecce_range.value == 0
