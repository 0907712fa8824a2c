"""Checks that turn raw parameters of predictive distributions into clean arrays."""

from itertools import combinations
from typing import NoReturn

import numpy as np

from calibrant._border.checks import bad_rows, check_alignment
from calibrant._border.convert import Raw, convert
from calibrant._border.numerals import as_given, significant
from calibrant._border.types import BoolArray, FloatArray
from calibrant.exceptions import InputError

SMALLEST, LARGEST = 1e-75, 1e75
"""Bounds of scales and of absolute values: squares of their ratios never overflow."""

SYMMETRY_TOLERANCE = 1e-5
"""Covariances that are symmetric within this share of their largest entry are symmetrised; others are refused."""

WEIGHT_TOLERANCE = 1e-6
"""Mixture weights that sum to 1 within this are renormalised; others are refused."""


def as_numbers(raw: Raw, ndims: tuple[int, ...], shape: str) -> FloatArray:
    """Return a fresh float64 array of finite numbers; `shape` describes in words what is required."""
    values = raw.values
    if values.ndim not in ndims:
        raise InputError(f"{raw.name} must have the shape {shape}, but has shape {values.shape}. Reshape it.")
    if values.size == 0:
        raise InputError(f"{raw.name} must have at least one row, but has shape {values.shape}. Pass at least one row.")
    if values.dtype.kind not in "fiub":
        found = next(v for v in values.ravel().tolist() if not isinstance(v, (int, float)))
        raise TypeError(f"{raw.name} must hold numbers, but holds {found!r:.60}. Convert them first.")
    with np.errstate(over="ignore"):  # What overflows is refused below.
        numbers = np.array(values, dtype=np.float64, order="C")
    bad = ~np.isfinite(numbers)
    if bad.any():
        fail_at(raw.name, numbers, bad, "must be finite")
    bad = np.abs(numbers) > LARGEST
    if bad.any():
        fail_at(
            raw.name, numbers, bad, f"must not exceed {as_given(LARGEST)} in absolute value", "Choose another unit."
        )
    return numbers


def as_columns(**data: object) -> tuple[list[FloatArray], Raw | None]:
    """Return parameters as arrays of one length n, scalars repeated, and the first that had a pandas index."""
    raws = [convert(values, name) for name, values in data.items()]
    for one, other in combinations(raws, 2):
        check_alignment(one, other)
    columns = [_as_column(raw) for raw in raws]
    lengths = {raw.name: len(column) for raw, column in zip(raws, columns, strict=True) if column.ndim}
    if len(set(lengths.values())) > 1:
        raise InputError(
            f"{' and '.join(lengths)} must have equal lengths, but have {' and '.join(map(str, lengths.values()))}. "
            "Pass one entry per row, or a scalar for all rows."
        )
    n = max(lengths.values(), default=1)
    return [np.array(np.broadcast_to(column, n)) for column in columns], source_of(raws)


def source_of(raws: list[Raw]) -> Raw | None:
    """Return the first argument that had a pandas index, without its values."""
    return next((Raw(raw.name, np.empty(0), index=raw.index) for raw in raws if raw.index is not None), None)


def _as_column(raw: Raw) -> FloatArray:
    numbers = as_numbers(raw, (0, 1, 2), "(n,)")
    if numbers.ndim < 2:
        return numbers
    if numbers.shape[1] != 1:
        raise InputError(
            f"{raw.name} must be one number per row, but has shape {numbers.shape}. Pass an array of shape (n,), or "
            "use MvNormal for vectors."
        )
    return numbers[:, 0]


def as_levels(level: object) -> FloatArray:
    """Return levels strictly between 0 and 1 as an array of shape () or (q,)."""
    levels = np.asarray(level, dtype=np.float64)
    if levels.ndim > 1 or levels.size == 0 or not np.all((levels > 0) & (levels < 1)):
        raise InputError(f"level must be one or several numbers between 0 and 1, but is {level!r:.60}.")
    return levels


def check_positive(name: str, values: FloatArray, smallest: float = SMALLEST) -> None:
    """Refuse scales and variances that are not positive."""
    bad = values < smallest
    if bad.any():
        fail_at(name, values, bad, f"must be positive and not below {as_given(smallest)}")


def check_covariances(cov: FloatArray) -> FloatArray:
    """Return covariance matrices, of shape (n, d, d), made exactly symmetric."""
    flipped = cov.transpose(0, 2, 1)
    largest = np.abs(cov).max(axis=(1, 2), keepdims=True)
    bad = np.abs(cov - flipped) > SYMMETRY_TOLERANCE * largest
    if bad.any():
        row, i, j = np.argwhere(bad)[0].tolist()
        raise InputError(
            f"cov must be symmetric, but in row {row} the entry ({i}, {j}) is {as_given(cov[row, i, j])} and ({j}, "
            f"{i}) is {as_given(cov[row, j, i])} ({bad_rows(bad)}). Pass (cov + cov.transpose(0, 2, 1)) / 2 if this is "
            "rounding."
        )
    return (cov + flipped) / 2


def cholesky(cov: FloatArray) -> FloatArray:
    """Return the lower Cholesky factors of checked covariance matrices, or name a row that has none."""
    try:
        return np.asarray(np.linalg.cholesky(cov), dtype=np.float64)
    except np.linalg.LinAlgError:
        smallest = np.linalg.eigvalsh(cov)[:, 0] / np.abs(cov).max(axis=(1, 2)).clip(min=1e-300)
        row = int(smallest.argmin())
        raise InputError(
            f"cov must be positive definite, but row {row} is not: its smallest eigenvalue is "
            f"{significant(np.linalg.eigvalsh(cov[row])[0])}. Add a small multiple of the identity, or drop such "
            "rows."
        ) from None


def as_mixture_weights(data: object, n: int, n_components: int) -> tuple[FloatArray, Raw]:
    """Return an (n, M) matrix of mixture weights whose rows sum to 1."""
    raw = convert(data, "weights")
    weights = as_numbers(raw, (1, 2), "(M,) or (n, M)")
    if weights.shape[-1] != n_components or (weights.ndim == 2 and len(weights) != n):
        raise InputError(
            f"weights must have the shape ({n_components},) or ({n}, {n_components}), one column per component, but "
            f"have shape {weights.shape}."
        )
    matrix = np.array(np.broadcast_to(weights, (n, n_components)))
    if (matrix < 0).any():
        fail_at("weights", matrix, matrix < 0, "must not be negative")
    sums = matrix.sum(axis=1)
    off = np.abs(sums - 1) > WEIGHT_TOLERANCE
    if off.any():
        row = int(off.argmax())
        raise InputError(
            f"the weights of a mixture must sum to 1, but in row {row} they sum to {significant(sums[row], 9)} "
            f"({bad_rows(off)}). Divide each row by its sum."
        )
    matrix /= sums[:, None]
    return matrix, raw


def fail_at(name: str, values: FloatArray, bad: BoolArray, rule: str, advice: str = "Drop or repair them.") -> NoReturn:
    """Raise an error that names the first bad value, its place and the number of bad rows."""
    if values.ndim == 0:
        raise InputError(f"{name} {rule}, but is {as_given(float(values))}.")
    row, *rest = np.argwhere(bad)[0].tolist()
    column = f", column {rest[0]}" if len(rest) == 1 else f", entry {tuple(rest)}" if rest else ""
    raise InputError(
        f"{name} {rule}, but row {row}{column} is {as_given(values[(row, *rest)])} ({bad_rows(bad)}). {advice}"
    )
