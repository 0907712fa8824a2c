"""The squared error of segments and its parts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant import InputError, Predictions
from calibrant.metrics import SquaredError
from calibrant.metrics.decomposition import segment_decomposition
from calibrant.results import as_record
from naming import each

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.DataWarning")  # Tiny data is the point here.
reproducible = settings(derandomize=True)


def leaves_of_the_document():
    """Rows of the three leaves: 20 of 60, 10 of 15 and 20 of 25 are spam, and each leaf predicts its share."""
    labels = np.repeat([1, 0, 1, 0, 1, 0], [20, 40, 10, 5, 20, 5])
    leaves = np.repeat(["left", "centre", "right"], [60, 15, 25])
    share = {"left": 20 / 60, "centre": 10 / 15, "right": 20 / 25}
    return Predictions([share[leaf] for leaf in leaves], labels), leaves


def simulated(n, k, m, seed):
    """Random predictions, labels, weights of which some are 0, and segments."""
    rng = np.random.default_rng(seed)
    weights = rng.random(n) * (rng.random(n) < 0.8)
    weights[0] = 1.0
    p = Predictions(rng.dirichlet(np.ones(k), n), rng.integers(0, k, n), weights)
    return p, rng.integers(0, m, n)


def one_prediction_each(p, segments):
    """The same with the prediction of one row for all of its segment."""
    rows = {segment: i for i, segment in enumerate(segments.tolist())}
    return Predictions(p.probs[[rows[s] for s in segments.tolist()]], p.labels, p.weights)


sizes = given(st.integers(1, 60), st.integers(2, 5), st.integers(1, 6), st.integers(0, 2**31))


def test_the_leaves_of_the_document():
    result = segment_decomposition(*leaves_of_the_document())
    assert result.segments == ("centre", "left", "right")
    by_leaf = dict(zip(result.segments, result.squared_error.tolist(), strict=True))
    assert {leaf: round(error, 2) for leaf, error in by_leaf.items()} == {"left": 13.33, "centre": 3.33, "right": 4.0}
    assert by_leaf == pytest.approx({"left": 40 / 3, "centre": 10 / 3, "right": 4})
    assert round(result.mean.squared_error, 2) == 0.21
    assert result.size.tolist() == [15, 60, 25]
    assert result.empirical[:, 1] == pytest.approx([2 / 3, 1 / 3, 0.8])
    assert result.refinement == pytest.approx(result.squared_error)
    assert result.calibration == pytest.approx([0, 0, 0], abs=1e-15)


def test_a_leaf_that_predicts_something_else_pays_the_distance_times_its_size():
    p, leaves = leaves_of_the_document()
    half = Predictions(np.full(100, 0.5), p.labels)
    result = segment_decomposition(half, leaves)
    assert result.squared_error == pytest.approx([15 / 4, 60 / 4, 25 / 4])
    assert result.calibration == pytest.approx([15 / 36, 60 / 36, 25 * 0.09])
    assert result.refinement == pytest.approx([10 / 3, 40 / 3, 4])


@sizes
@reproducible
def test_the_identity_with_one_prediction_a_segment(n, k, m, seed):
    p, segments = simulated(n, k, m, seed)
    p = one_prediction_each(p, segments)
    result = segment_decomposition(p, segments)
    assert result.squared_error == pytest.approx(result.calibration + result.refinement, rel=1e-12, abs=1e-12)
    assert np.all(result.within == 0)


@sizes
@reproducible
def test_the_identity_with_predictions_that_vary(n, k, m, seed):
    result = segment_decomposition(*simulated(n, k, m, seed))
    parts = result.calibration + result.refinement + result.within
    assert result.squared_error == pytest.approx(parts, rel=1e-12, abs=1e-12)
    for whole in (result.total, result.mean):
        assert whole.squared_error == pytest.approx(whole.calibration + whole.refinement + whole.within, abs=1e-12)


@sizes
@reproducible
def test_every_part_by_its_definition(n, k, m, seed):
    p, segments = simulated(n, k, m, seed)
    result = segment_decomposition(p, segments)
    onehot = np.eye(k)[p.labels]
    for i, segment in enumerate(result.segments):
        rows = [r for r in range(n) if segments[r] == segment and p.weights[r] > 0]
        size = sum(p.weights[r] for r in rows)
        empirical = sum(p.weights[r] * onehot[r] for r in rows) / size
        predicted = sum(p.weights[r] * p.probs[r] for r in rows) / size
        assert result.size[i] == len(rows)
        assert result.weight[i] == pytest.approx(size)
        assert result.empirical[i] == pytest.approx(empirical, abs=1e-12)
        assert result.predicted[i] == pytest.approx(predicted, abs=1e-12)
        assert result.squared_error[i] == pytest.approx(
            sum(p.weights[r] * ((p.probs[r] - onehot[r]) ** 2).sum() / 2 for r in rows)
        )
        assert result.calibration[i] == pytest.approx(size * ((predicted - empirical) ** 2).sum() / 2, abs=1e-12)
        of_empirical = sum(p.weights[r] * ((empirical - onehot[r]) ** 2).sum() / 2 for r in rows)
        assert result.refinement[i] == pytest.approx(of_empirical, abs=1e-12)


@sizes
@reproducible
def test_totals_are_the_squared_error_of_all_rows(n, k, m, seed):
    p, segments = simulated(n, k, m, seed)
    result = segment_decomposition(p, segments)
    assert result.total.squared_error == pytest.approx(SquaredError().total(p), rel=1e-12)
    assert result.mean.squared_error == pytest.approx(SquaredError()(p), rel=1e-12)


@sizes
@reproducible
def test_the_empirical_probability_is_the_best_prediction_of_a_segment(n, k, m, seed):
    p, segments = simulated(n, k, m, seed)
    p = one_prediction_each(p, segments)
    result = segment_decomposition(p, segments)
    place = {name: i for i, name in enumerate(result.segments)}
    rows = [place.get(s, 0) for s in segments.tolist()]
    best = segment_decomposition(Predictions(result.empirical[rows], p.labels, p.weights), segments)
    assert np.all(best.squared_error <= result.squared_error + 1e-12)
    assert best.squared_error == pytest.approx(result.refinement, abs=1e-12)
    assert result.squared_error - best.squared_error == pytest.approx(result.calibration, abs=1e-12)


@sizes
@reproducible
def test_the_order_of_rows_does_not_matter(n, k, m, seed):
    p, segments = simulated(n, k, m, seed)
    order = np.random.default_rng(seed).permutation(n)
    one, other = segment_decomposition(p, segments), segment_decomposition(p.take(order), segments[order])
    assert one.segments == other.segments
    for name in ("size", "weight", "empirical", "predicted", "squared_error", "calibration", "refinement", "within"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-12)


def test_whole_weights_equal_copies():
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 4, 80)
    probs, labels, segments = rng.dirichlet(np.ones(3), 80), rng.integers(0, 3, 80), rng.integers(0, 5, 80)
    rows = np.repeat(np.arange(80), weights)
    weighted = segment_decomposition(Predictions(probs, labels, weights), segments)
    copied = segment_decomposition(Predictions(probs[rows], labels[rows]), segments[rows])
    assert weighted.total.calibration == pytest.approx(copied.total.calibration, rel=1e-12)
    assert weighted.within == pytest.approx(copied.within, abs=1e-12)
    assert weighted.weight.tolist() == copied.size.tolist()


def test_segments_without_weight_are_left_out():
    p = Predictions([0.2, 0.4, 0.9], [0, 1, 1], weights=[1, 0, 1])
    assert segment_decomposition(p, ["a", "b", "c"]).segments == ("a", "c")


def test_one_segment_has_the_uncertainty_of_the_labels_as_refinement():
    p, _ = leaves_of_the_document()
    assert segment_decomposition(p, np.zeros(100)).mean.refinement == pytest.approx(0.25)


def test_the_result_can_be_written_out():
    record = as_record(segment_decomposition(*leaves_of_the_document()))
    assert record["segments"] == ["centre", "left", "right"]
    assert record["mean"]["squared_error"] == pytest.approx(0.20666666666666667)


@each(
    "segments, kind, message",
    [
        ([0, 1], InputError, "2 segments and 3 rows"),
        ([[0, 1, 2]], InputError, r"shape \(1, 3\)"),
        ([0, np.nan, 1], InputError, "must have no missing values, but row 1 is missing"),
        (["a", None, "b"], InputError, "must have no missing values, but row 1 is missing"),
        (np.array(["a", 1, "b"], dtype=object), InputError, "all numbers or all names"),
        (None, TypeError, "segments must be an array"),
    ],
)
def test_bad_segments(segments, kind, message):
    with pytest.raises(kind, match=message):
        segment_decomposition(Predictions([0.2, 0.4, 0.9], [0, 1, 1]), segments)


def test_only_predictions_are_decomposed():
    with pytest.raises(TypeError, match="computed from Predictions, but got list"):
        segment_decomposition([0.2, 0.4], [0, 1])
