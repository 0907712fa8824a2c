"""Columns of any type; text as codes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibrant._border.types import Scalar
from calibrant.io.columns import check_positional
from calibrant.io.header import Columns
from calibrant.io.polars import pl
from calibrant.io.request import INTEGER, by_value

MARKS = ("na", "n/a", "nan", "null", "<na>")
"""Marks of a missing value, in lower case."""

NUMBER_MARKS = (*MARKS, "none", "-", "?", ".")
"""Marks of a missing number; some of them may name a class."""

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class Coded:
    """A column of text: the distinct texts, and for each row the position of its text among them."""

    texts: list[str | None]
    codes: NDArray[np.generic]

    def map(self, values: Sequence[object], dtype: type[Scalar]) -> NDArray[Scalar]:
        """Return the rows with each text replaced by the value at its position."""
        table = np.empty(len(values), dtype=dtype)
        table[:] = values
        return table[self.codes]

    def take(self, rows: NDArray[np.generic]) -> "Coded":
        """Return some rows, with only the texts that occur in them.

        Examples
        --------
        >>> Coded(["1", None, "0"], np.array([0, 1, 2, 0])).take(np.array([True, False, True, True])).texts
        ['1', '0']
        """
        used, codes = np.unique(self.codes[rows], return_inverse=True)
        return Coded([self.texts[i] for i in used], codes)


Column: TypeAlias = Coded | NDArray[np.generic]
"""A column of any type."""


def as_column(parts: Sequence["pl.Series"]) -> Column:
    """Return a column that was read in parts."""
    if not parts:
        return np.empty(0)
    series = pl.concat(parts)
    if series.dtype in (pl.String, pl.Categorical, pl.Enum):
        texts = series.unique()
        codes = series.replace_strict(texts, np.arange(len(texts)), return_dtype=pl.Int32)
        return Coded(texts.cast(pl.String).to_list(), codes.to_numpy())
    if series.dtype.is_integer():
        return series.cast(pl.Int64).to_numpy()
    if series.dtype.is_numeric():
        return series.cast(pl.Float64).to_numpy()
    if series.dtype == pl.Boolean and not series.null_count():
        return series.to_numpy()
    return np.array([*series.to_list(), None], dtype=object)[:-1]


def as_array(column: Column) -> NDArray[np.generic]:
    """Convert text to integers, floats or booleans if all of it can be; otherwise to strings."""
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


def as_labels(file: str, labels: Column, columns: Columns) -> NDArray[np.generic]:
    """Return labels as values of integer classes, or as positions of named ones; unknown labels stay as they are."""
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
