"""Raw probabilities, logits and weights to clean arrays; `labels` does the same for labels and classes."""

from typing import Any, NoReturn

import numpy as np

from calibrant._border.convert import Raw, convert
from calibrant._border.numerals import as_given
from calibrant._border.types import BoolArray, FloatArray
from calibrant.exceptions import InputError

SUM_TOLERANCE = 1e-3
"""Rows of probabilities whose sum differs from 1 by at most this are renormalised; others are refused."""

COARSE_SUM_TOLERANCE = 2e-2
"""The same for half-precision input."""

RANGE_TOLERANCE = 1e-6
"""Probabilities outside [0, 1] by at most this are taken for rounding errors and clipped."""

COARSE_RANGE_TOLERANCE = 1e-3
"""The same for half-precision input."""

FEW = 0.1
"""If the share of rows with values outside [0, 1] is below this, the values are not taken for logits."""

FAR = 1e100
"""If the largest weight is above this, or below its inverse, all weights are divided by it."""


# Underflow is fine here, and everything else is checked by value, whatever the caller has set with numpy.seterr.
@np.errstate(all="ignore")
def as_probabilities(data: object, *, renormalise: bool = False) -> tuple[FloatArray, Raw]:
    """Return an (n, K) matrix of probabilities whose rows sum to 1, and the raw argument."""
    raw = convert(data, "probs")
    values = as_floats(raw)
    one_column = values.shape[1] == 1
    largest = float(np.finfo(float).max) if renormalise and not one_column else 1.0
    if not (values.min() >= 0 and values.max() <= largest):  # NaN fails both.
        _check_range(values, raw, largest)
        values.clip(0.0, largest, out=values)
    if one_column:
        return _with_complement(values, raw), raw
    if renormalise:
        _check_not_zero(values)
        values /= values.max(axis=1, keepdims=True)  # Then no sum overflows or underflows.
    _normalise_rows(values, raw, renormalise=renormalise)
    return values, raw


@np.errstate(all="ignore")
def as_log_probabilities(data: object) -> tuple[FloatArray, FloatArray, Raw]:
    """Return the (n, K) softmax and log-softmax of logits; one column means the log-odds of class 1."""
    raw = convert(data, "logits")
    values = as_floats(raw)
    if not values.max() < np.inf:  # NaN fails too.
        fail_at(raw, values, ~(values < np.inf), "must be finite, or -inf for an impossible class")
    if values.shape[1] == 1:
        values = np.column_stack([np.zeros(len(values)), values[:, 0]])
    largest = values.max(axis=1, keepdims=True)
    if np.isneginf(largest).any():
        row = int(np.isneginf(largest).argmax())
        raise InputError(
            f"logits must leave at least one class possible, but row {row} is -inf everywhere. Drop such rows."
        )
    values -= largest
    probs = np.exp(values)
    total = probs.sum(axis=1, keepdims=True)
    probs /= total
    values -= np.log(total)
    return probs, values, raw


@np.errstate(all="ignore")
def as_weights(raw: Raw | None, n_samples: int) -> FloatArray:
    """Return n non-negative weights; ones if none are given."""
    if raw is None:
        return np.ones(n_samples)
    return _in_range(as_finite_weights(raw, n_samples)[:, None], raw)[:, 0]


def as_finite_weights(raw: Raw, n_samples: int) -> FloatArray:
    """Return n non-negative, finite weights, not rescaled."""
    values = as_floats(raw)
    if values.shape[1] != 1:
        raise InputError(
            f"weights must be one number per row, but have shape {raw.values.shape}. Pass an array of shape (n,)."
        )
    check_length(raw, n_samples)
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        fail_at(raw, values, bad, "must be finite and not negative")
    return values[:, 0]


def _in_range(weights: FloatArray, raw: Raw) -> FloatArray:
    """Rescale weights if their sums or products could overflow or underflow; only their ratios matter."""
    largest = float(weights.max())
    if largest == 0:
        raise InputError("weights must have a positive, finite sum, but it is 0. Give some row a weight.")
    relative = weights / largest
    lost = (weights > 0) & (relative < np.finfo(float).tiny)
    if lost.any():
        advice = "Weights are relative: give such rows 0, which leaves them out, or a weight that counts."
        fail_at(raw, weights, lost, f"must be 0 or at least 1e-307 of the largest, {as_given(largest)}", advice)
    return weights if 1 / FAR <= largest <= FAR else relative


def check_copies(sample_weight: object) -> None:
    """Refuse weights too extreme to be numbers of copies of a row; others refuse what is not a number."""
    if sample_weight is None:
        return
    raw = convert(sample_weight, "sample_weight")
    if raw.values.dtype.kind not in "fiub":
        return
    values = as_floats(raw)
    bad = (values > 0) & np.isfinite(values) & ((values < 1 / FAR) | (values > FAR))
    if bad.any():
        advice = "Calibrators treat a row of weight w as w copies: rescale the weights, 1 for an ordinary row."
        fail_at(raw, values, bad, f"must be 0 or lie between {as_given(1 / FAR)} and {as_given(FAR)}", advice)


def as_floats(raw: Raw) -> FloatArray:
    """Return the values as a fresh, native, contiguous float64 matrix; one dimension becomes one column."""
    values = raw.values
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2:
        raise InputError(
            f"{raw.name} must have one or two dimensions, (n,) or (n, K), but has shape {raw.values.shape}. "
            f"Reshape with {raw.name}.reshape(-1, K), one row per sample."
        )
    if values.size == 0:
        raise InputError(
            f"{raw.name} must have at least one row and one column, but has shape {raw.values.shape}. "
            "Pass at least one row."
        )
    if values.dtype.kind not in "fiub":
        row, value = next((i, v) for i, row in enumerate(values.tolist()) for v in row if not _is_number(v))
        raise TypeError(f"{raw.name} must hold numbers, but row {row} holds {value!r:.60}. Convert them first.")
    return np.array(values, dtype=np.float64, order="C")


def check_length(raw: Raw, n_samples: int) -> None:
    """Refuse an argument that does not have one entry per row."""
    if len(raw.values) != n_samples:
        raise InputError(
            f"{raw.name} must have one entry per row, but there are {len(raw.values)} {raw.name} and {n_samples} rows. "
            "Make sure that both come from the same samples."
        )


def check_alignment(first: Raw, second: Raw) -> None:
    """Refuse two pandas objects whose rows are in different order."""
    one, two = first.index, second.index
    if one is None or two is None or len(one) != len(two) or one.equals(two):
        return
    if not (one.is_unique and two.is_unique):
        found = "their indices differ and have duplicates"
    elif one.isin(two).all():
        found = "their indices hold the same entries in another order"
    else:
        return
    raise InputError(
        f"{first.name} and {second.name} must have their rows in the same order, but {found}. Pass "
        f"{second.name}.loc[{first.name}.index] to align them, or .reset_index(drop=True) if positions already agree."
    )


def _is_number(value: Any) -> bool:
    try:
        return not isinstance(value, (str, bytes)) and float(value) is not None
    except (TypeError, ValueError, OverflowError):
        return False


def bad_rows(bad: BoolArray) -> str:
    """Say how many rows have a bad entry.

    Examples
    --------
    >>> bad_rows(np.array([True, False])), bad_rows(np.array([[True, True], [False, True], [False, False]]))
    ('1 of 2 rows is bad', '2 of 3 rows are bad')
    """
    n_bad = int(bad.reshape(len(bad), -1).any(axis=1).sum())
    return f"{n_bad} of {len(bad)} rows {'is' if n_bad == 1 else 'are'} bad"


def fail_at(raw: Raw, values: FloatArray, bad: BoolArray, rule: str, advice: str = "Drop or repair them.") -> NoReturn:
    """Raise an error with the row and the column of the first bad value, and how many rows are bad."""
    row, col = np.argwhere(bad)[0].tolist()
    column = f", column {raw.columns[col] if raw.columns else col!r}" if values.shape[1] > 1 else ""
    raise InputError(
        f"{raw.name} {rule}, but row {row}{column} is {as_given(values[row, col])} ({bad_rows(bad)}). {advice}"
    )


def _check_range(values: FloatArray, raw: Raw, largest: float) -> None:
    bad = ~np.isfinite(values)
    if bad.any():
        fail_at(raw, values, bad, "must be finite")
    tolerance = COARSE_RANGE_TOLERANCE if raw.coarse else RANGE_TOLERANCE
    bad = (values < -tolerance) | (values > largest + tolerance)
    if bad.any():
        rule = "must lie in [0, 1]" if largest == 1 else "must not be negative"
        fail_at(raw, values, bad, rule, _guess(values, float(bad.any(axis=1).mean())))


def _guess(values: FloatArray, share_bad: float) -> str:
    """Return advice on values outside [0, 1], by what they probably are."""
    low, high = values.min(), values.max()
    one_column = values.shape[1] == 1
    if low >= 0 and 10 < high <= 100 and (one_column or np.allclose(values.sum(axis=1), 100, atol=1)):
        return "Are these percentages? Divide them by 100."
    if high <= 0 and (one_column or np.allclose(np.exp(values).sum(axis=1), 1, atol=1e-2)):
        return "Are these log-probabilities? Pass them to Predictions.from_logits."
    if share_bad < FEW:
        return "Drop or repair them."
    return "Are these logits? Pass them to Predictions.from_logits."


def _with_complement(values: FloatArray, raw: Raw) -> FloatArray:
    """Return the columns 1 - p and p."""
    if raw.values.ndim == 2 and np.all(values == 1.0):
        raise InputError(
            "probs must have at least two classes, but its only column is 1 everywhere: that is a model "
            "with one class. For binary predictions pass the probability of class 1."
        )
    both = np.empty((len(values), 2))
    np.subtract(1.0, values[:, 0], out=both[:, 0])
    both[:, 1] = values[:, 0]
    return both


def _check_not_zero(values: FloatArray) -> None:
    zero = ~values.any(axis=1)
    if zero.any():
        raise InputError(
            f"each row of probs must sum to 1, but row {int(zero.argmax())} is 0 everywhere "
            f"({int(zero.sum())} of {len(values)} rows). Drop these rows."
        )


def _row_sums(values: FloatArray) -> FloatArray:
    """Return the sum of each row; few columns are added one by one, to the same bits but ten times as fast."""
    if values.shape[1] >= 8:
        return np.asarray(values.sum(axis=1))
    total = values[:, 0] + values[:, 1]
    for column in range(2, values.shape[1]):
        total += values[:, column]
    return total


def _normalise_rows(values: FloatArray, raw: Raw, *, renormalise: bool) -> None:
    """Divide each row by its sum, in place."""
    sums = _row_sums(values)
    tolerance = COARSE_SUM_TOLERANCE if raw.coarse else SUM_TOLERANCE
    off = np.abs(sums - 1) > tolerance + 1e-9  # Probabilities with three decimals may sum to 0.999.
    if off.any() and not renormalise:
        _check_not_zero(values)
        row = int(off.argmax())
        advice = (
            "Its columns do: it looks transposed, pass probs.T."
            if np.all(np.abs(values.sum(axis=0) - 1) <= tolerance)
            else "Pass renormalise=True if the rows are proportions, or one column at a time if a row may belong "
            "to several classes."
        )
        raise InputError(
            f"each row of probs must sum to 1, but row {row} sums to {as_given(sums[row])} "
            f"({int(off.sum())} of {len(sums)} rows do not sum to 1). {advice}"
        )
    # Rows that are exact up to rounding keep their digits, so that a second check changes nothing.
    inexact = np.abs(sums - 1) > values.shape[1] * np.finfo(float).eps
    if inexact.any():
        sums[~inexact] = 1.0
        values /= sums[:, None]
