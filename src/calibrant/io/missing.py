"""Rows in which a value is missing: counted in one message, or left out."""

import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from calibrant._border.convert import is_missing
from calibrant._border.text import quoted
from calibrant._border.types import BoolArray
from calibrant.exceptions import DataWarning, InputError
from calibrant.io.sources import Source
from calibrant.io.values import Coded

MARKS = ("na", "n/a", "nan", "null", "<na>")
"""What programs write for a missing value, in lower case."""

NUMBER_MARKS = (*MARKS, "none", "-", "?", ".")
"""The same where a number is needed: some of these may be the name of a class."""


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


def complete_rows(
    source: Source,
    arrays: dict[str, Any],
    columns: Mapping[str, Sequence[str]],
    known: Collection[Any] = (),
    left_out: LeftOut | None = None,
) -> BoolArray | None:
    """Return which rows lack nothing, None if all are complete.

    Parameters
    ----------
    source : Source
        The file, for messages.
    arrays : dict
        What was read, by argument; "label" holds anything, the others numbers.
    columns : mapping
        The columns that each was read from.
    known : collection
        Names of classes, none of which means that a label is missing.
    left_out : LeftOut, optional
        Counts the incomplete rows; without it, they are refused.
    """
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


def _missing_labels(labels: Any, known: set[str]) -> BoolArray:
    """Return which labels are missing: no value, or a mark that is not the name of a class."""
    if isinstance(labels, Coded):
        marks = [text is None or (text.lower() in MARKS and text not in known) for text in labels.texts]
        return labels.map(marks, np.bool_)
    if labels.dtype.kind == "f":
        return np.isnan(labels).reshape(len(labels), -1).any(axis=1)
    if labels.dtype.kind == "O":
        return np.array([is_missing(label) for label in labels.ravel()], dtype=bool)
    return np.zeros(len(labels), dtype=bool)
