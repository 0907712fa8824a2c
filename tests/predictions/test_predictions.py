"""The container itself: read-only, without side effects, with views that agree with their definitions."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from calibrant import DataWarning, InputError, Predictions
from calibrant.metrics import METRICS
from properties import examples
from simulate import calibrated

always_the_same = examples(50, derandomize=True)
ARRAYS = ("probs", "labels", "weights", "log_probs", "predicted")


@st.composite
def positive_rows(draw):
    """A matrix of positive numbers of very different size."""
    shape = draw(st.tuples(st.integers(1, 6), st.integers(2, 6)))
    exponents = draw(arrays(float, shape, elements=st.floats(-300, 300)))
    return 10.0**exponents


@st.composite
def valid_predictions(draw):
    """Valid predictions with ties, zeros and ones among them."""
    n, k = draw(st.integers(1, 8)), draw(st.integers(2, 5))
    counts = draw(arrays(float, (n, k), elements=st.integers(0, 4)))
    counts[counts.sum(axis=1) == 0] = 1.0
    labels = draw(arrays(int, n, elements=st.integers(0, k - 1)))
    return silently(counts, labels, renormalise=True)


def silently(*args, build=Predictions, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return build(*args, **kwargs)


@always_the_same
@given(positive_rows())
def test_rows_sum_to_one(rows):
    p = silently(rows, np.zeros(len(rows)), renormalise=True)
    np.testing.assert_allclose(p.probs.sum(axis=1), 1, rtol=0, atol=1e-15 * p.n_classes)
    assert np.all(p.probs >= 0)
    np.testing.assert_array_equal(silently(p.probs, p.labels).probs, p.probs)


@always_the_same
@given(rows=arrays(float, st.tuples(st.integers(1, 30), st.integers(2, 12)), elements=st.floats(0.0, 1.0)))
def test_rows_are_summed_and_compared_as_numpy_does(rows):
    rows[~rows.any(axis=1)] = 1.0
    p = silently(rows, np.zeros(len(rows), dtype=int), renormalise=True)
    relative = rows / rows.max(axis=1, keepdims=True)
    sums = relative.sum(axis=1, keepdims=True)
    sums[np.abs(sums - 1) <= rows.shape[1] * np.finfo(float).eps] = 1.0
    assert p.probs.tobytes() == (relative / sums).tobytes()
    assert p.predicted.tolist() == p.probs.argmax(axis=1).tolist()


@always_the_same
@given(valid_predictions(), st.floats(-1e3, 1e3))
def test_an_offset_of_the_logits_does_not_matter(p, offset):
    logits = p.probs * 8 - 4
    one = silently(logits, p.labels, build=Predictions.from_logits)
    other = silently(logits + offset, p.labels, build=Predictions.from_logits)
    np.testing.assert_allclose(other.probs, one.probs, rtol=0, atol=1e-15 * max(8, abs(offset)))
    np.testing.assert_allclose(np.exp(one.log_probs), one.probs, rtol=1e-14)


@always_the_same
@given(valid_predictions())
def test_views_agree_with_their_slow_definition(p):
    rows = list(zip(p.probs.tolist(), p.labels.tolist(), strict=True))
    top = p.top_label()
    assert top.positive.tolist() == [max(row) for row, _ in rows]
    assert top.labels.tolist() == [int(row.index(max(row)) == label) for row, label in rows]
    for c in range(p.n_classes):
        view = p.one_vs_rest(c)
        assert view.positive.tolist() == [row[c] for row, _ in rows]
        assert view.labels.tolist() == [int(label == c) for _, label in rows]
        np.testing.assert_allclose(view.probs.sum(axis=1), 1, rtol=0, atol=1e-15)
    onehot = np.array([[float(label == c) for c in range(p.n_classes)] for _, label in rows])
    np.testing.assert_array_equal(p.residuals, onehot - p.probs)


@pytest.mark.filterwarnings("ignore:the median distance:calibrant.DataWarning")
@pytest.mark.filterwarnings("ignore:.* has no value:calibrant.DataWarning")  # Which is NaN in every shape.
@examples(8, derandomize=True)  # Of all metrics.
@given(arrays(float, st.integers(1, 12), elements=st.floats(0, 1)), st.data())
def test_two_classes_are_the_same_in_every_shape(positive, data):
    labels = data.draw(arrays(int, len(positive), elements=st.integers(0, 1)))
    positive[0] = min(positive[0], 0.5)  # A single column of ones would be a model of one class.
    shapes = [positive, positive[:, None], np.column_stack([1 - positive, positive])]
    flat, column, both = (silently(shape, labels) for shape in shapes)
    np.testing.assert_array_equal(flat.positive, column.positive)
    np.testing.assert_array_equal(flat.positive, both.positive)
    for metric in METRICS.values():
        if len(positive) >= metric.least_rows:
            assert metric(both) == pytest.approx(metric(flat), rel=1e-12, abs=1e-12, nan_ok=True)


def test_arrays_are_read_only_in_views_too():
    p = calibrated(n=60, k=3)
    for view in (p, p.top_label(), p.one_vs_rest(1), p.take([3, 4]), p.take(slice(5)), p.with_labels(p.labels * 0)):
        for name in ARRAYS:
            with pytest.raises(ValueError, match="read-only"):
                getattr(view, name)[0] = 0
    with pytest.raises(AttributeError):
        p.probs = p.probs[:2]


def test_arguments_are_neither_changed_nor_shared_nor_locked():
    probs, labels = np.array([[0.2, 0.8005], [-1e-9, 1.0]]), np.array([1, 1])
    weights = np.array([1.0, 2.0])
    logits, frame = np.array([[1e4, -1.0], [0.0, 2.0]]), pd.DataFrame({"b": [0.2, 0.6], "a": [0.8, 0.4]})
    tensor = torch.tensor([0.25, 0.5])
    before = pickle.dumps((probs, labels, weights, logits, frame, tensor))
    built = [
        Predictions(probs, labels, weights),
        Predictions.from_logits(logits, labels, weights),
        Predictions(frame, labels, weights, classes=["a", "b"]),
        Predictions(tensor, labels, torch.tensor([1.0, 2.0])),
    ]
    built[0].with_labels(labels)
    assert pickle.dumps((probs, labels, weights, logits, frame, tensor)) == before
    for array in (probs, labels, weights, logits):
        assert array.flags.writeable
        assert not any(np.shares_memory(array, getattr(p, name)) for p in built for name in ARRAYS)


def test_global_state_is_left_alone():
    def state():
        return np.random.get_state()[1].tolist(), warnings.filters[:], np.geterr(), np.get_printoptions()  # noqa: NPY002

    before = state()
    p = Predictions.from_logits([[1e308, -1e308, 0.0], [0.0, 1.0, -np.inf]] * 2, [0, 1, 2, 2])
    assert np.isneginf(p.log_probs).any()
    with pytest.raises(InputError):
        Predictions([0.2, 1.7], [0, 1])
    assert state() == before


def test_strict_floating_point_settings_of_the_caller_do_no_harm():
    with np.errstate(all="raise"):
        p = Predictions([[1e-320, 1 - 1e-4], [0.5, 0.5]], [0, 1], [1e-300, 1.0])
        assert np.isfinite(p.log_probs).all()
        assert Predictions.from_logits([[1e308, -1e308], [0.0, -745.0]], [0, 1]).probs[0].tolist() == [1, 0]
        with pytest.raises(InputError, match="log-probabilities"):
            Predictions([[-900.0, -1e-9]], [0])


def test_take_and_with_labels_keep_what_was_known_exactly():
    p = Predictions.from_logits([[0.0, -800.0], [0.0, 1.0], [2.0, 0.0]], [1, 1, 0], weights=[1, 2, 3])
    assert p.take([0, 2]).log_probs[0].tolist() == [0, -800]
    assert p.take([0, 2]).predicted.tolist() == [0, 0]
    assert p.take(np.array([False, True, True])).weights.tolist() == [2, 3]
    assert p.with_labels(np.array([0, 0, 0])).log_probs[0].tolist() == [0, -800]


def test_views_that_make_no_sense_are_refused():
    p = calibrated(n=20, k=3)
    with pytest.raises(InputError, match="at least one row"):
        p.take(p.labels > 5)
    with pytest.raises(InputError, match=r"from 0 to 2, but is 3"):
        p.one_vs_rest(3)
    with pytest.raises(TypeError, match=r"class index, but is 'cat'.*classes.index"):
        p.one_vs_rest("cat")
    with pytest.raises(InputError, match=r"binary predictions are needed.*3 classes.*top_label"):
        _ = p.positive


def test_it_describes_itself_and_survives_pickling():
    p = Predictions([0.2, 0.7], [0, 1], weights=[1, 2], classes=["no", "yes"])
    assert repr(p) == "Predictions(n_samples=2, n_classes=2)"
    assert p.is_weighted
    assert not p.top_label().take([0]).is_weighted
    again = pickle.loads(pickle.dumps(p))  # noqa: S301 (our own bytes)
    assert again.classes == ("no", "yes")
    np.testing.assert_array_equal(again.probs, p.probs)
