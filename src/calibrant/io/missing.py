"""Rows in which a value is missing: counted and left out, or refused with the place of the first."""

import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Mapping

import numpy as np

from calibrant._border.convert import is_missing
from calibrant._border.text import quoted
from calibrant._border.types import BoolArray
from calibrant.exceptions import DataWarning, InputError
from calibrant.io.columns import Columns
from calibrant.io.sources import Content, Source
from calibrant.io.values import MARKS, Coded, Column


class LeftOut:
    """Counts of rows that are left out because a value is missing, in all and by column.

    Parameters
    ----------
    allowed : bool
        Whether rows may be left out; otherwise a missing value is an error.
    """

    def __init__(self, allowed: bool) -> None:
        self.allowed = allowed
        self.rows = self.of = 0
        self.columns: Counter[str] = Counter()

    def __str__(self) -> str:
        return f"{self.rows} of {self.of} rows ({', '.join(f'{quoted(c)} {n}' for c, n in self.columns.items())})"

    def add(self, missing: Mapping[str, BoolArray], rows: BoolArray) -> None:
        """Count the rows of a file."""
        self.rows += int(rows.sum())
        self.of += len(rows)
        self.columns.update({name: int(mask.sum()) for name, mask in missing.items()})

    def warn(self, consequence: str) -> None:
        """Warn of rows that were left out, if there are any."""
        if self.rows:
            warnings.warn(f"values are missing in {self}: {consequence}.", DataWarning, stacklevel=4)


def read_complete(source: Source, columns: Columns, left_out: LeftOut, known: Collection[object] = ()) -> Content:
    """Read the chosen columns without the rows in which a value is missing; refuse these if they must not be left out.

    Parameters
    ----------
    source : Source
    columns : Columns
    left_out : LeftOut
        Counts the rows that are left out.
    known : collection, optional
        Names of classes: a label such as "NA" is not missing if it is one of them.
    """
    content = source.read(columns.numbers, columns.label)
    missing = dict(_missing(content, columns, {str(name) for name in known}))
    if not missing:
        left_out.of += len(next(iter(content.numbers.values())))
        return content
    bad = np.logical_or.reduce(list(missing.values()))
    counted = left_out if left_out.allowed else LeftOut(allowed=False)
    counted.add(missing, bad)
    if not left_out.allowed:
        row = int(bad.argmax())
        column = next(name for name, mask in missing.items() if mask[row])
        raise InputError(
            f"{source.file.name}: values are missing in {counted}, the first on {source.place(row)}, column "
            f"{quoted(column)}. Fill them in, or leave these rows out with drop_missing=True."
        )
    if bad.all():
        raise InputError(f"{source.file.name}: a value is missing in every row, so no row is left: {left_out}.")
    numbers = {argument: values[~bad] for argument, values in content.numbers.items()}
    labels = content.label
    if labels is not None:
        labels = labels.take(~bad) if isinstance(labels, Coded) else labels[~bad]
    return Content(numbers, labels, ~bad)


def _missing(content: Content, columns: Columns, known: Collection[str]) -> Iterator[tuple[str, BoolArray]]:
    """Yield every column with missing values, and the rows in which they are missing."""
    for argument, values in content.numbers.items():
        if values.dtype.kind == "f" and values.size and np.isnan(np.min(values)):
            masks = np.isnan(values.reshape(len(values), -1)).T
            names = columns.numbers[argument] or (argument,)
            if len(names) != len(masks):  # One column holds all numbers of a row.
                masks = np.any(masks, axis=0, keepdims=True)
            yield from ((name, mask) for name, mask in zip(names, masks, strict=True) if mask.any())
    if content.label is not None:
        mask = _missing_labels(content.label, known)
        if mask.any():
            yield columns.label, mask


def _missing_labels(labels: Column, known: Collection[str]) -> BoolArray:
    """Return which labels are missing: null, or a mark such as "NA" that is not the name of a class."""
    if isinstance(labels, Coded):
        marks = [text is None or (text.lower() in MARKS and text not in known) for text in labels.texts]
        return labels.map(marks, np.bool_)
    if labels.dtype.kind == "f":
        return np.asarray(np.isnan(labels).reshape(len(labels), -1).any(axis=1))
    if labels.dtype.kind == "O":
        return np.array([is_missing(label) for label in labels.ravel()], dtype=bool)
    return np.zeros(len(labels), dtype=bool)
