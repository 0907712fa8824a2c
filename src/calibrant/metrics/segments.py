"""The squared error of groups of rows, in parts."""

import numpy as np

from calibrant._border.checks import check_length
from calibrant._border.convert import convert, is_missing
from calibrant._border.types import BoolArray, FloatArray, IntArray
from calibrant.exceptions import InputError
from calibrant.metrics.scores import SquaredError
from calibrant.predictions import Predictions
from calibrant.results import SegmentDecomposition, SquaredErrorParts


def segment_decomposition(predictions: Predictions, segments: object) -> SegmentDecomposition:
    r"""Split the squared error of every segment into what calibration and what refinement cost.

    Parameters
    ----------
    predictions : Predictions
    segments : array-like of shape (n,)
        The segment of every row, by number or name: the leaf of a tree, the segment of a ROC hull, a bin, a group.

    Returns
    -------
    SegmentDecomposition

    Notes
    -----
    With :math:`\mathrm{SE}(x) = \frac12 \sum_k (\hat p_k(x) - y_k(x))^2`, the empirical probabilities
    :math:`\dot p` of a segment :math:`S` and one prediction :math:`\hat p` for all of it,

    .. math:: \mathrm{SE}(S) = \sum_{x \in S} \mathrm{SE}(x)
        = |S| \, \tfrac12 \sum_k (\hat p_k - \dot p_k)^2 + |S| \, \tfrac12 \sum_k \dot p_k (1 - \dot p_k).

    The first part is the calibration loss. It is 0 only if :math:`\hat p = \dot p`: the empirical probability is the
    best prediction for a segment. The second is the refinement loss, the squared error of predicting :math:`\dot p`.
    Weights take the place of numbers of rows throughout.

    Where predictions vary within a segment, :math:`\hat p` is their mean and a third part completes the sum,
    :math:`\sum_x \big( \frac12 |\hat p(x) - \hat p|^2 - (\hat p(x) - \hat p) \cdot (y(x) - \dot p) \big)`.

    The parts depend on the segments: if every row is its own segment, all of the error is calibration loss.

    Examples
    --------
    >>> p = Predictions([0.6, 0.6, 0.6, 0.6], labels=[1, 1, 1, 0])
    >>> parts = segment_decomposition(p, ["leaf"] * 4).total
    >>> round(parts.squared_error, 4), round(parts.calibration, 4), round(parts.refinement, 4)
    (0.84, 0.09, 0.75)
    """
    if not isinstance(predictions, Predictions):
        raise TypeError(f"segment_decomposition is computed from Predictions, but got {type(predictions).__name__}.")
    present = predictions.weights > 0
    names, first, index = _as_segments(segments, present)
    p = predictions.take(present)
    mass, onehot = p.weights, np.eye(p.n_classes)[p.labels]
    weight = _sums(index, mass[:, None])
    empirical = _sums(index, mass[:, None] * onehot) / weight
    # Deviations from one row of the segment: the mean of equal predictions is then exactly that prediction.
    reference = p.probs[first]
    predicted = reference + _sums(index, mass[:, None] * (p.probs - reference[index])) / weight
    spread = p.probs - predicted[index]
    joint = spread * (spread / 2 - (onehot - empirical[index]))
    parts = {
        "squared_error": _sums(index, (mass * SquaredError().per_row(p))[:, None])[:, 0],
        "calibration": (weight / 2 * (predicted - empirical) ** 2).sum(axis=1),
        "refinement": (weight / 2 * empirical * (1 - empirical)).sum(axis=1),
        "within": _sums(index, mass[:, None] * joint).sum(axis=1),
    }
    total = {name: float(values.sum()) for name, values in parts.items()}
    return SegmentDecomposition(
        segments=names,
        size=np.bincount(index),
        weight=weight[:, 0],
        empirical=empirical,
        predicted=predicted,
        **parts,
        total=SquaredErrorParts(**total),
        mean=SquaredErrorParts(**{name: value / float(weight.sum()) for name, value in total.items()}),
    )


def _as_segments(segments: object, present: BoolArray) -> tuple[tuple[object, ...], IntArray, IntArray]:
    """Return the sorted names of the segments of present rows, the first row of each, and the segment of each row."""
    raw = convert(segments, "segments")
    if raw.values.ndim != 1:
        raise InputError(
            f"segments must be one name or number per row, but have shape {raw.values.shape}. Pass shape (n,)."
        )
    check_length(raw, len(present))
    entries = raw.values.tolist() if raw.values.dtype.kind in "fO" else []  # Other kinds have no missing values.
    missing = [i for i, name in enumerate(entries) if is_missing(name)]
    if missing:
        raise InputError(
            f"segments must have no missing values, but row {missing[0]} is missing ({len(missing)} of {len(present)} "
            "rows are). Name such rows or drop them."
        )
    try:
        names, first, index = np.unique(raw.values[present], return_index=True, return_inverse=True)
    except TypeError as error:
        raise InputError("segments must be all numbers or all names, but both occur. Pass them as names.") from error
    return tuple(names.tolist()), first, index


def _sums(index: IntArray, values: FloatArray) -> FloatArray:
    """Return the sums over the rows of each segment, column by column."""
    return np.column_stack([np.bincount(index, weights=column) for column in values.T])
