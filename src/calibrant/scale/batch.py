"""A batch of rows as a sketch takes it: checked by the rules of `Predictions`, bad rows refused or counted."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._border.checks import (
    RANGE_TOLERANCE,
    SUM_TOLERANCE,
    as_finite_weights,
    as_floats,
    as_probabilities,
    check_length,
)
from calibrant._border.convert import Raw, convert, is_missing
from calibrant._border.labels import as_labels
from calibrant._border.types import BoolArray, FloatArray, IntArray
from calibrant._core.sketch import are_plain
from calibrant.binning.cells.weights import ONE, as_units
from calibrant.exceptions import InputError

_PLAIN = {np.dtype(np.float32), np.dtype(np.float64)}
"""Types of probabilities that need no conversion."""


class Batch(NamedTuple):
    """The rows that are kept, and how many are not."""

    probs: FloatArray  # Of class 1, (n,), in single or double precision, or of all of more than two classes, (n, K).
    labels: IntArray
    n_missing: int = 0
    n_outside: int = 0
    units: IntArray | None = None  # Weights in units of 2^-20; None if all are 1.


def clean(
    probs: object, labels: object, classes: tuple[Hashable, ...], *, skip_bad: bool, weights: object = None
) -> Batch:
    """Check a batch as `Predictions` does; bad rows are left out and counted if `skip_bad`.

    Rows of weight 0 are left out, and not counted.

    Examples
    --------
    >>> clean([0.5, float("nan"), 7.0], [1, 0, 0], (0, 1), skip_bad=True)
    Batch(probs=array([0.5]), labels=array([1]), n_missing=1, n_outside=1, units=None)
    """
    if weights is None and (plain := _plain(probs, labels, classes)):
        return plain
    raw, observed = convert(probs, "probs"), convert(labels, "labels")
    _check_shape(raw, len(classes))
    check_length(observed, len(raw.values))
    units = None if weights is None else _units(convert(weights, "weights"), len(raw.values), skip_bad=skip_bad)
    missing = outside = 0
    if skip_bad:
        lost, beyond = _bad_rows(raw, observed, units)
        missing, outside, kept = int(lost.sum()), int(beyond.sum()), ~(lost | beyond)
        if missing or outside:
            raw, observed = (Raw(one.name, _rows(one.values, kept), one.columns) for one in (raw, observed))
            units = None if units is None else units[kept]
    if len(raw.values) == 0:
        return Batch(np.empty(0 if len(classes) == 2 else (0, len(classes))), np.empty(0, np.int64), missing, outside)
    clean_probs = _probabilities(raw)
    indices, _ = as_labels(observed, raw, (len(raw.values), len(classes)), classes)
    return _present(Batch(clean_probs, indices, missing, outside, units))


def _units(raw: Raw, n_rows: int, *, skip_bad: bool) -> IntArray:
    """Return weights in units of 2^-20; with `skip_bad`, -1 where one is missing."""
    check_length(raw, n_rows)
    if not n_rows:
        return np.empty(0, np.int64)
    lost = _missing(raw.values) & skip_bad
    values = np.where(lost, 1.0, raw.values.reshape(n_rows, -1)[:, 0]).astype(float) if lost.any() else raw.values
    units = as_units(as_finite_weights(Raw(raw.name, values), n_rows))
    return np.where(lost, -1, units)


def _present(batch: Batch) -> Batch:
    """Leave out rows of weight 0, and weights that are all 1."""
    units = batch.units
    if units is None or np.all(units == ONE):
        return batch._replace(units=None)
    kept = units > 0
    if kept.all():
        return batch
    return _present(batch._replace(probs=batch.probs[kept], labels=batch.labels[kept], units=units[kept]))


def _plain(probs: object, labels: object, classes: tuple[Hashable, ...]) -> Batch | None:
    """Return the arrays themselves if they need no change: most do not, and copying would take most of the time."""
    if type(probs) is not np.ndarray or type(labels) is not np.ndarray or classes != (0, 1):
        return None
    if probs.dtype not in _PLAIN or labels.dtype.kind not in "iub" or probs.ndim != 1 or probs.shape != labels.shape:
        return None
    return Batch(probs, labels) if len(probs) and are_plain(probs, labels) else None


def _rows(values: NDArray[np.generic], kept: BoolArray) -> NDArray[np.generic]:
    """Return the rows that are kept; as numbers, if only missing values had made them objects."""
    found = values[kept]
    if found.dtype != object or not len(found) or isinstance(found.flat[0], (str, bytes)):
        return found
    return np.array(found.tolist())


def _check_shape(raw: Raw, n_classes: int) -> None:
    width = raw.values.shape[1] if raw.values.ndim == 2 else 1
    if width != n_classes and not (width == 1 and n_classes == 2):
        needed = f"{n_classes} columns" if n_classes > 2 else "one or two columns"
        raise InputError(f"probs must have {needed}, one per class of the sketch, but the shape is {raw.values.shape}.")


def _probabilities(raw: Raw) -> FloatArray:
    """Return the probabilities of class 1 of two, otherwise those of all classes."""
    if raw.values.ndim == 1 or raw.values.shape[1] == 1:
        values = as_floats(raw)[:, 0]
        if values.min() >= 0 and values.max() <= 1:
            return values
    matrix, _ = as_probabilities(raw.values)
    return np.ascontiguousarray(matrix[:, 1]) if matrix.shape[1] == 2 else matrix


def _bad_rows(raw: Raw, observed: Raw, units: IntArray | None) -> tuple[BoolArray, BoolArray]:
    """Return which rows miss a number, and which of the others are not probabilities."""
    values = np.array(raw.values, dtype=float).reshape(len(raw.values), -1)
    lost = np.isnan(values).any(axis=1) | _missing(observed.values)
    if units is not None:
        lost |= units < 0
    with np.errstate(invalid="ignore"):
        beyond = ((values < -RANGE_TOLERANCE) | (values > 1 + RANGE_TOLERANCE)).any(axis=1)
        if values.shape[1] > 1:
            beyond |= np.abs(values.sum(axis=1) - 1) > SUM_TOLERANCE + 1e-9
    return lost, beyond & ~lost


def _missing(labels: NDArray[np.generic]) -> BoolArray:
    if labels.dtype.kind == "f":
        return np.asarray(np.isnan(labels.reshape(len(labels), -1)).any(axis=1))
    if labels.dtype.kind == "O":
        return np.fromiter(map(is_missing, labels), bool, len(labels))
    return np.zeros(len(labels), dtype=bool)


@dataclass(frozen=True)
class Counters:
    """Rows that a sketch has seen.

    Parameters
    ----------
    rows : int
        Rows that are in the sketch.
    missing : int
        Rows left out because a probability or the label was missing.
    outside : int
        Rows left out because a probability was outside [0, 1], or because they did not sum to 1.
    infinite : int
        Rows in the sketch whose label had a predicted probability of exactly 0.
    """

    rows: int = 0
    missing: int = 0
    outside: int = 0
    infinite: int = 0

    def __add__(self, other: "Counters") -> "Counters":
        return Counters(
            self.rows + other.rows,
            self.missing + other.missing,
            self.outside + other.outside,
            self.infinite + other.infinite,
        )
