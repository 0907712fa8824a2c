"""Lists, data frames and tensors to NumPy, by protocol, without importing their libraries."""

import sys
from collections.abc import Hashable, Iterator, Mapping, Sequence, ValuesView
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant._border.numerals import decimals
from calibrant.exceptions import InputError

if TYPE_CHECKING:
    from narwhals import Series

READABLE = "Pass a list, an array, a data frame or a tensor."


@dataclass(frozen=True)
class Raw:
    """An argument as a NumPy array, with what else its container knew.

    Attributes
    ----------
    name : str
        The argument's name, for messages.
    values : ndarray
    columns : tuple or None
        Column names of a data frame; None if the columns are only numbered.
    index : pandas.Index or None
    bfloat : bool
        Whether the values had the type bfloat16, which NumPy lacks.
    """

    name: str
    values: NDArray[Any]
    columns: tuple[Hashable, ...] | None = None
    index: Any = None
    bfloat: bool = False

    @property
    def coarse(self) -> bool:
        """Whether the values had half precision, so that rows of probabilities sum to 1 only roughly."""
        return self.bfloat or self.values.dtype == np.float16


def convert(data: object, name: str) -> Raw:
    """Convert any supported container; `name` is the argument's name in messages."""
    if isinstance(data, (list, tuple)) and data and _is_masked_array(data[0]):
        data = np.ma.array(data)
    _refuse(data, name)
    if hasattr(data, "detach"):
        return _from_tensor(data, name)
    if isinstance(data, (list, tuple)) and data and hasattr(data[0], "detach"):
        rows = [convert(row, name) for row in data]
        return Raw(name, _as_array([row.values for row in rows], name), bfloat=rows[0].bfloat)
    if not isinstance(data, (np.ndarray, np.generic, list, tuple, int, float)):
        raw = _from_frame(data, name)
        if raw is not None:
            return raw
    return Raw(name, _native(_as_array(data, name), name))


def is_missing(value: object) -> bool:
    """Whether an object stands for a missing value: None, NaN, or the NA and NaT of pandas."""
    if isinstance(value, float):
        return value != value  # noqa: PLR0124 (only NaN differs from itself)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _is_masked_array(data: object) -> bool:
    """Whether data is a masked array, without loading `numpy.ma`, which takes a while."""
    return "numpy.ma" in sys.modules and isinstance(data, np.ma.MaskedArray)


def _refuse(data: Any, name: str) -> None:
    if isinstance(data, Iterator):
        raise TypeError(f"{name} must be an array, but an iterator was given. Pass list({name}).")
    # Predictions have rows, but are not a sequence of numbers.
    is_container = hasattr(data, "probs") and hasattr(data, "labels")
    if data is None or is_container or isinstance(data, (str, bytes, Mapping, AbstractSet, ValuesView)):
        raise TypeError(f"{name} must be an array, but got {type(data).__name__}. {READABLE}")
    if _is_masked_array(data) and np.ma.is_masked(data):
        masked = np.argwhere(np.ma.getmaskarray(data))
        raise InputError(
            f"{name} must have no missing values, but row {masked[0, 0]} is masked ({len(masked)} entries are). "
            f"Drop such rows, then pass {name}.data."
        )
    if hasattr(data, "nnz") and hasattr(data, "toarray"):
        size = float(np.prod(data.shape)) * 8 / 1e6
        raise InputError(
            f"{name} must be dense, but a sparse matrix was given. Pass {name}.toarray() ({decimals(size, 1)} MB)."
        )


def _from_tensor(tensor: Any, name: str) -> Raw:
    """Read a PyTorch tensor on any device, in any precision and at any place in a graph."""
    if str(getattr(tensor, "layout", "torch.strided")) != "torch.strided":
        raise InputError(f"{name} must be dense, but has the layout {tensor.layout}. Pass {name}.to_dense().")
    tensor = tensor.detach().cpu()
    bfloat = str(tensor.dtype) == "torch.bfloat16"
    return Raw(name, _native(np.asarray(tensor.float() if bfloat else tensor), name), bfloat=bfloat)


def _from_frame(data: Any, name: str) -> Raw | None:
    """Convert a data frame or a series that narwhals knows; None for anything else."""
    import narwhals as nw

    try:
        frame = nw.from_native(data, allow_series=True, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise InputError(
            f"{name} must have distinct column names. {' '.join(str(error).split())}. Rename them."
        ) from error
    # Only pandas has an index; elsewhere, `index` may be a method.
    index = data.index if hasattr(data, "iloc") else None
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, nw.Series):
        return Raw(name, _series_values(frame, name), index=index)
    if not isinstance(frame, nw.DataFrame):
        return None
    columns = [_series_values(frame[:, j], name) for j in range(frame.shape[1])]
    if len(columns) == 1 and columns[0].ndim == 2:  # One column of lists or of fixed-size arrays.
        return Raw(name, columns[0], index=index)
    values = np.column_stack(columns) if columns else np.empty((frame.shape[0], 0))
    names: tuple[Hashable, ...] = tuple(frame.columns)  # pandas allows any objects
    return Raw(name, values, None if names == tuple(range(len(names))) else names, index)


def _series_values(series: "Series[Any]", name: str) -> NDArray[np.generic]:
    """Return the values of one column: numbers, with NaN for nulls, or objects."""
    import narwhals as nw

    if series.dtype.is_numeric() or series.dtype in (nw.Boolean, nw.List, nw.Array):
        return _native(series.to_numpy(), name)
    return _native(np.array(series.to_list(), dtype=object), name)


def _as_array(data: Any, name: str) -> NDArray[np.generic]:
    try:
        values = np.asarray(data)
        # Among strings, NumPy would turn None and NaN into the strings "None" and "nan".
        return np.array(data, dtype=object) if isinstance(data, (list, tuple)) and values.dtype.kind in "US" else values
    except ValueError as error:
        raise InputError(f"{name} must have rows of equal length, but {_ragged(data)}. Repair them.") from error


def _ragged(rows: Sequence[object]) -> str:
    sizes = [len(row) if hasattr(row, "__len__") else 1 for row in rows]
    odd = next((i for i, size in enumerate(sizes) if size != sizes[0]), None)
    return "their entries differ in shape" if odd is None else f"row {odd} has {sizes[odd]} and row 0 has {sizes[0]}"


def _native(values: NDArray[np.generic], name: str) -> NDArray[np.generic]:
    """Convert arrays of Python objects to the type of the values that they hold."""
    kind = values.dtype.kind
    if kind in "cmMV":
        raise TypeError(f"{name} must hold numbers or class names, but has dtype {values.dtype}. Convert it first.")
    if kind == "T":
        return values.astype(object)
    if kind != "O":
        return values
    if values.ndim == 0:
        raise TypeError(f"{name} must be an array, but got {type(values.item()).__name__}. {READABLE}")
    if values.ndim == 1 and len(values) and isinstance(values[0], (list, tuple, np.ndarray)):
        return _as_array(values.tolist(), name)
    return _unbox(values)


def _unbox(values: NDArray[np.generic]) -> NDArray[np.generic]:
    """Turn objects into floats if all of them are numbers or missing (NaN); otherwise return them as they are."""
    flat = values.ravel().tolist()
    if any(isinstance(value, (str, bytes)) for value in flat):
        return values
    try:
        return np.array([np.nan if is_missing(v) else float(v) for v in flat]).reshape(values.shape)
    except (TypeError, ValueError, OverflowError):
        return values
