"""Columns as they are read: collected without holding them twice, text coded, and rows that lack a value."""

import re
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant._border.convert import is_missing
from calibrant._border.text import quoted
from calibrant._border.types import BoolArray, Scalar
from calibrant.exceptions import DataWarning, InputError
from calibrant.io import limits
from calibrant.io.columns import INTEGER, Columns, by_value, check_positional
from calibrant.io.sources import Source

if TYPE_CHECKING:
    import polars as pl


MARKS = ("na", "n/a", "nan", "null", "<na>")
"""What programs write for a missing value, in lower case."""

NUMBER_MARKS = (*MARKS, "none", "-", "?", ".")
"""The same where a number is needed: some of these may be the name of a class."""

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


class Stack:
    """A matrix that grows by blocks of rows; the allocator extends it, so that it is never copied."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.values: NDArray[np.generic] = np.empty((0, 0))

    def append(self, block: NDArray[np.generic]) -> None:
        """Add rows below."""
        rows, width = len(self.values), block.shape[1]
        limits.check_size(self.file, rows + len(block), width)
        if not rows:
            self.values = np.empty((0, width), dtype=block.dtype)
        self.values.resize((rows + len(block), width), refcheck=False)
        self.values[rows:] = block


@dataclass(frozen=True)
class Coded:
    """A column of text: few distinct texts, and for each row the position of its own."""

    texts: list[str | None]
    codes: NDArray[np.generic]

    def map(self, values: Sequence[object], dtype: type[Scalar]) -> NDArray[Scalar]:
        """Return the rows with each text replaced by the value at its position."""
        table = np.empty(len(values), dtype=dtype)
        table[:] = values
        return table[self.codes]

    def take(self, rows: NDArray[np.generic]) -> "Coded":
        """Return some rows, with those texts that occur in them.

        Examples
        --------
        >>> Coded(["1", None, "0"], np.array([0, 1, 2, 0])).take(np.array([True, False, True, True])).texts
        ['1', '0']
        """
        used, codes = np.unique(self.codes[rows], return_inverse=True)
        return Coded([self.texts[i] for i in used], codes)


class Collector:
    """One column of any kind, collected from batches."""

    def __init__(self) -> None:
        self._known: dict[str | None, int] = {}
        self._chunks: list[NDArray[np.generic]] = []
        self._is_text = False

    def append(self, series: "pl.Series") -> None:
        """Add the rows of a batch."""
        import polars as pl

        if series.dtype in (pl.String, pl.Categorical, pl.Enum):
            self._is_text = True
            self._chunks.append(self._encode(series.cast(pl.String)))
        elif series.dtype.is_integer():
            self._chunks.append(series.cast(pl.Int64).to_numpy())
        elif series.dtype.is_numeric():
            self._chunks.append(series.cast(pl.Float64).to_numpy())
        elif series.dtype == pl.Boolean and not series.null_count():
            self._chunks.append(series.to_numpy())
        else:
            self._chunks.append(np.array([*series.to_list(), None], dtype=object)[:-1])

    def append_coded(self, column: Coded) -> None:
        """Add the rows of a batch of text."""
        self._is_text = True
        codes = [self._known.setdefault(text, len(self._known)) for text in column.texts]
        self._chunks.append(np.array(codes, dtype=np.int32)[column.codes])

    def _encode(self, series: "pl.Series") -> NDArray[np.int32]:
        import polars as pl

        texts = series.unique().to_list()
        codes = [self._known.setdefault(text, len(self._known)) for text in texts]
        return series.replace_strict(texts, codes, return_dtype=pl.Int32).to_numpy()

    def result(self) -> Coded | NDArray[np.generic]:
        """Return the whole column."""
        values = np.concatenate(self._chunks) if self._chunks else np.empty(0)
        return Coded(list(self._known), values) if self._is_text else values


def as_array(column: Coded | NDArray[np.generic]) -> NDArray[np.generic]:
    """Give text the type that all of it has: integers, numbers, booleans, or else strings."""
    if not isinstance(column, Coded):
        return column
    texts = [text for text in column.texts if text is not None]
    if len(texts) < len(column.texts) or not texts:
        return column.map(column.texts, np.object_)
    if all(INTEGER.fullmatch(text) for text in texts):
        return column.map([int(text) for text in texts], np.int64)
    if all(NUMBER.fullmatch(text) for text in texts):
        return column.map([float(text) for text in texts], np.float64)
    if {text.casefold() for text in texts} <= {"true", "false"}:
        return column.map([text.casefold() == "true" for text in texts], np.bool_)
    return column.map(texts, np.object_)


def as_labels(file: str, labels: Coded | NDArray[np.generic], columns: Columns) -> NDArray[np.generic]:
    """Return labels by value for integer classes, by position for named ones; what is unknown stays as it is."""
    classes = columns.classes or ()
    positions = {str(name): i for i, name in enumerate(classes)}
    valued = by_value(classes)
    if isinstance(labels, Coded) and all(text in positions for text in labels.texts):
        found = [positions[str(text)] for text in labels.texts]
        return labels.map([classes[i] for i in found] if valued else found, np.int64)
    values = as_array(labels)
    if valued or values.dtype.kind not in "iufb":
        return values
    if values.dtype.kind == "b" and {name.casefold() for name in positions} == {"false", "true"}:
        return np.asarray(values == (str(classes[1]).casefold() == "true"))
    check_positional(file, columns)
    return values


class LeftOut:
    """How many rows of how many were left out because a value is missing, and in which columns."""

    def __init__(self) -> None:
        self.rows = self.of = 0
        self.columns: dict[str, int] = {}

    def __str__(self) -> str:
        return f"{self.rows} of {self.of} rows ({', '.join(f'{quoted(c)} {n}' for c, n in self.columns.items())})"

    def add(self, missing: Mapping[str, BoolArray], rows: BoolArray) -> None:
        """Count the rows of a file."""
        self.rows += int(rows.sum())
        self.of += len(rows)
        for name, mask in missing.items():
            self.columns[name] = self.columns.get(name, 0) + int(mask.sum())


def read_complete(
    source: Source,
    numbers: Mapping[str, Sequence[str]],
    label: str = "",
    known: Collection[object] = (),
    left_out: LeftOut | None = None,
) -> tuple[dict[str, Any], BoolArray | None]:
    """Read columns as `Source.read` does; return those rows that lack nothing, and which these are if not all.

    Marks of missing values that are among the `known` names of classes are labels. Without `left_out`, which counts
    them, incomplete rows are refused.
    """
    arrays = source.read(numbers, label)
    rows = _complete_rows(source, arrays, {**numbers, "label": (label,)}, known, left_out)
    return {argument: taken(values, rows) for argument, values in arrays.items()}, rows


def _complete_rows(
    source: Source,
    arrays: dict[str, Any],
    columns: Mapping[str, Sequence[str]],
    known: Collection[object],
    left_out: LeftOut | None,
) -> BoolArray | None:
    """Return which rows lack nothing, None if all are complete."""
    missing = _missing(arrays, columns, {str(name) for name in known})
    if not missing:
        if left_out is not None:
            left_out.of += len(next(iter(arrays.values())))
        return None
    rows = np.logical_or.reduce(list(missing.values()))
    if left_out is None:
        counts = LeftOut()
        counts.add(missing, rows)
        row = int(rows.argmax())
        column = next(name for name, mask in missing.items() if mask[row])
        raise InputError(
            f"{source.file.name}: values are missing in {counts}, the first on {source.place(row)}, column "
            f"{quoted(column)}. "
            "Fill them in, or leave these rows out with drop_missing=True."
        )
    left_out.add(missing, rows)
    if rows.all():
        raise InputError(f"{source.file.name}: a value is missing in every row, so that none is left: {left_out}.")
    return np.logical_not(rows)


def warn_of(left_out: LeftOut) -> None:
    """Say how many rows were left out, if any."""
    if left_out.rows:
        message = f"values are missing in {left_out}: these rows are left out."
        warnings.warn(message, DataWarning, stacklevel=3)


def taken(values: Any, rows: BoolArray | None) -> Any:
    """Return the values at these rows."""
    if rows is None or values is None:
        return values
    return values.take(rows) if isinstance(values, Coded) else values[rows]


def _missing(arrays: dict[str, Any], columns: Mapping[str, Sequence[str]], known: set[str]) -> dict[str, BoolArray]:
    """Return for every column in which values are missing, where they are."""
    found: dict[str, BoolArray] = {}
    for argument, values in arrays.items():
        names = columns[argument]
        if argument == "label":
            mask = _missing_labels(values, known)
            found |= dict(zip(names, [mask], strict=True)) if mask.any() else {}
        elif values.dtype.kind == "f" and values.size and np.isnan(np.min(values)):
            masks = np.isnan(values.reshape(len(values), -1)).T
            alone = masks.any(axis=0)[None] if len(names) != len(masks) else masks
            found |= {name: mask for name, mask in zip(names or (argument,), alone, strict=True) if mask.any()}
    return found


def _missing_labels(labels: Coded | NDArray[np.generic], known: set[str]) -> BoolArray:
    """Return which labels are missing: no value, or a mark that is not the name of a class."""
    if isinstance(labels, Coded):
        marks = [text is None or (text.lower() in MARKS and text not in known) for text in labels.texts]
        return labels.map(marks, np.bool_)
    if labels.dtype.kind == "f":
        return np.isnan(labels).reshape(len(labels), -1).any(axis=1)
    if labels.dtype.kind == "O":
        return np.array([is_missing(label) for label in labels.ravel()], dtype=bool)
    return np.zeros(len(labels), dtype=bool)
