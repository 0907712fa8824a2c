"""Isotonic reliability curves: the curve, its points, its error, odd data. The bands are in test_curve_bands."""

import json

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from binary_cases import binary
from calibrant import DataWarning, InputError, Predictions, as_record, to_frame
from calibrant.curves import isotonic_curve
from calibrant.metrics import SquaredError
from calibrant.roc import convex_hull, hull_probabilities, roc_curve
from naming import each
from simulate import calibrated


def curve_of(p, **settings):
    return isotonic_curve(p, **({"n_resamples": 39, "rng": 0} | settings))


def min_max(values, outcomes, weights):
    """The isotonic fit at each distinct value by its definition: the largest lower end of the smallest mean above."""
    distinct = np.unique(values)

    def mean(low, high):
        rows = (values >= low) & (values <= high)
        return np.average(outcomes[rows], weights=weights[rows])

    return [max(min(mean(a, b) for b in distinct[distinct >= x]) for a in distinct[distinct <= x]) for x in distinct]


@pytest.mark.parametrize("weighted", [False, True])
def test_the_curve_is_the_definition_of_isotonic_regression_with_ties_pooled(weighted):
    rng = np.random.default_rng(3)
    values, outcomes = rng.integers(0, 15, 60) / 20, rng.integers(0, 2, 60)
    weights = rng.exponential(2.0, 60) if weighted else np.ones(60)
    curve = curve_of(Predictions(values, outcomes, weights))
    assert curve.predicted.tolist() == np.unique(values).tolist()
    assert curve.observed == pytest.approx(min_max(values, outcomes, weights), abs=1e-12)
    assert curve.count.tolist() == np.unique(values, return_counts=True)[1].tolist()
    assert curve.weight == pytest.approx([weights[values == v].sum() for v in curve.predicted], rel=1e-12)


def test_the_curve_agrees_with_scikit_learn_and_with_the_roc_hull():
    p = binary(900, seed=1, sharpness=2.0)
    curve = curve_of(p)
    fit = IsotonicRegression(y_min=0, y_max=1).fit(p.positive, p.labels)
    assert curve.observed == pytest.approx(fit.predict(curve.predicted), abs=1e-12)
    hull = convex_hull(roc_curve(p.positive, p.labels))
    assert curve.observed == pytest.approx(hull_probabilities(hull, curve.predicted), abs=1e-12)


def test_many_distinct_predictions_are_thinned_without_losing_anything_of_the_curve():
    p = binary(20_000, seed=2)
    curve = curve_of(p)
    fit = IsotonicRegression().fit(p.positive, p.labels)
    assert 1900 <= len(curve.predicted) <= 2400
    assert curve.observed == pytest.approx(fit.predict(curve.predicted), abs=1e-12)
    # Straight lines between the points are the whole curve: every jump is between two neighbours.
    assert np.interp(p.positive, curve.predicted, curve.observed) == pytest.approx(fit.predict(p.positive), abs=1e-9)
    assert curve.count.sum() == 20_000
    inside = [((lo <= p.positive) & (p.positive <= hi)).sum() for lo, hi in zip(curve.lower, curve.upper, strict=True)]
    assert curve.count.tolist() == inside
    assert np.all((curve.lower <= curve.predicted) & (curve.predicted <= curve.upper))
    assert np.all(np.diff(curve.low) >= 0)
    assert np.all(np.diff(curve.high) >= 0)


def test_the_miscalibration_of_the_reference_example():
    """Worked out by hand: the fit is 1/4 for the lowest four and 1 for the others."""
    curve = curve_of(Predictions([0.4, 0.3, 0.2, 0.1, 0.5, 0.9], labels=[0, 0, 0, 1, 1, 1]))
    assert curve.observed.tolist() == [0.25, 0.25, 0.25, 0.25, 1, 1]
    assert curve.error.name == "MCB"
    assert curve.error.value == pytest.approx(1.36 / 6 - 0.75 / 6, abs=1e-12)
    assert curve.error.details == pytest.approx({"discrimination": 0.125, "uncertainty": 0.25}, abs=1e-12)


def test_the_parts_of_the_error_sum_to_the_squared_error():
    p = binary(300, seed=5, sharpness=1.5, weighted=True)
    error = curve_of(p).error
    total = error.value - error.details["discrimination"] + error.details["uncertainty"]
    assert total == pytest.approx(SquaredError()(p), rel=1e-9)


def test_more_classes_mean_confidence_against_correctness():
    p = calibrated(k=4)
    curve, same = curve_of(p), curve_of(p.top_label())
    assert (curve.view, same.view) == ("top-label", "class")
    assert curve.observed.tolist() == same.observed.tolist()
    assert curve.high.tolist() == same.high.tolist()


def test_integer_weights_equal_copies_and_weight_zero_is_absence():
    rng = np.random.default_rng(6)
    values, outcomes, copies = rng.random(50).round(2), rng.integers(0, 2, 50), rng.integers(0, 4, 50)
    weighted = curve_of(Predictions(values, outcomes, copies))
    repeated = curve_of(Predictions(values.repeat(copies), outcomes.repeat(copies)))
    assert weighted.predicted.tolist() == repeated.predicted.tolist()
    assert weighted.observed == pytest.approx(repeated.observed, abs=1e-12)
    assert weighted.weight == pytest.approx(repeated.weight, rel=1e-12)
    assert weighted.error.value == pytest.approx(repeated.error.value, abs=1e-12)
    assert weighted.count.sum() == (copies > 0).sum()


def test_huge_weights_do_not_overflow():
    p = binary(60, seed=7)
    huge = Predictions(p.positive, p.labels, np.full(60, 1e305))
    assert curve_of(huge).high == pytest.approx(curve_of(p).high, abs=1e-12)
    assert curve_of(huge).error.value == pytest.approx(curve_of(p).error.value, rel=1e-12)


def test_one_row_has_a_curve_of_one_point():
    curve = curve_of(Predictions([0.3], labels=[1]))
    assert (curve.predicted.tolist(), curve.observed.tolist(), curve.count.tolist()) == ([0.3], [1.0], [1])
    assert (curve.low.tolist(), curve.high.tolist()) == ([0.0], [1.0])


@pytest.mark.parametrize("simultaneous", [False, True])
def test_certain_predictions_have_no_room_in_the_band(simultaneous):
    with pytest.warns(DataWarning):
        p = Predictions([0.0, 0.0, 1.0, 1.0], labels=[0, 1, 1, 1])
    curve = curve_of(p, simultaneous=simultaneous)
    assert curve.observed.tolist() == [0.5, 1.0]
    assert (curve.low.tolist(), curve.high.tolist()) == ([0.0, 1.0], [0.0, 1.0])


def test_rounding_of_weighted_means_does_not_widen_a_simultaneous_band():
    """Rows that are certain have width 0 in the band: a redrawn value of 1 - 1e-16 there would change its size."""
    rng = np.random.default_rng(9)
    probs = np.concatenate([np.ones(300), np.full(300, 0.5)])
    p = Predictions(probs, np.concatenate([np.ones(300), np.arange(300) % 2]).astype(int), rng.exponential(size=600))
    curve = curve_of(p, simultaneous=True)
    assert (curve.low[1], curve.high[1]) == (1.0, 1.0)
    assert 0.3 < curve.low[0] < 0.5 < curve.high[0] < 0.7


def test_labels_of_one_class_make_a_flat_curve():
    rng = np.random.default_rng(8)
    curve = curve_of(Predictions(rng.random(40), np.zeros(40, dtype=int)))
    assert not curve.observed.any()
    assert curve.error.details == {"discrimination": 0.0, "uncertainty": 0.0}


def test_the_seed_decides_and_progress_is_reported():
    p, seen = binary(80), []
    one = isotonic_curve(p, n_resamples=50, rng=4, progress=lambda done, total: seen.append((done, total)))
    assert one.high.tolist() == isotonic_curve(p, n_resamples=50, rng=4).high.tolist()
    assert one.high.tolist() != isotonic_curve(p, n_resamples=50, rng=5).high.tolist()
    assert seen == [(i, 50) for i in range(1, 51)]


def test_a_curve_is_written_out_with_its_histogram_and_error():
    curve = curve_of(binary(100))
    record = as_record(curve)
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert sum(record["histogram"]["positives"]) + sum(record["histogram"]["negatives"]) == 100
    assert (record["band"], record["simultaneous"], record["error"]["name"]) == ("consistency", False, "MCB")
    assert to_frame(curve, backend="polars").shape == (len(curve.predicted), 8)


@each(
    "settings, message",
    [
        ({"level": 1.0}, "level must be a number between 0 and 1, but is 1.0"),
        ({"n_resamples": 0}, "n_resamples must be a whole number of at least 1"),
        ({"n_resamples": 38}, r"n_resamples must be at least 39 for level=0.95, but is 38"),
        ({"n_resamples": 37, "simultaneous": True}, "n_resamples must be at least 38 for level=0.95, but is 37"),
        ({"band": "prediction"}, 'band must be "consistency" or "confidence", but is \'prediction\''),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        isotonic_curve(binary(20), **settings)
