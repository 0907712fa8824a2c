"""Rows that lack a value: counted and left out, or refused with the place of the first."""

import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from calibrant._border.convert import is_missing
from calibrant._border.text import quoted
from calibrant._border.types import BoolArray
from calibrant.exceptions import DataWarning, InputError
from calibrant.io.sources import Content, Numbers, Source
from calibrant.io.values import MARKS, Coded, Column


class LeftOut:
    """How many rows of how many were left out because a value is missing, and in which columns."""

    def __init__(self) -> None:
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
        """Say what happens to these rows, if there are any."""
        if self.rows:
            warnings.warn(f"values are missing in {self}: {consequence}.", DataWarning, stacklevel=4)


class Complete(NamedTuple):
    """The rows of a file that lack nothing, and which these are: None if all are."""

    numbers: Numbers
    label: Column | None
    rows: BoolArray | None


def read_complete(
    source: Source,
    columns: Mapping[str, Sequence[str]],
    label: str = "",
    known: Collection[object] = (),
    left_out: LeftOut | None = None,
) -> Complete:
    """Read columns as `Source.read` does, without the rows in which a value is missing.

    Marks of missing values that are among the `known` names of classes are labels. Without `left_out`, which counts
    them, incomplete rows are refused.
    """
    content = source.read(columns, label)
    missing = dict(_missing(content, columns, label, {str(name) for name in known}))
    if not missing:
        if left_out is not None:
            left_out.of += len(next(iter(content.numbers.values())))
        return Complete(*content, None)
    bad = np.logical_or.reduce(list(missing.values()))
    counted = LeftOut() if left_out is None else left_out
    counted.add(missing, bad)
    if left_out is None:
        row = int(bad.argmax())
        column = next(name for name, mask in missing.items() if mask[row])
        raise InputError(
            f"{source.file.name}: values are missing in {counted}, the first on {source.place(row)}, column "
            f"{quoted(column)}. Fill them in, or leave these rows out with drop_missing=True."
        )
    if bad.all():
        raise InputError(f"{source.file.name}: a value is missing in every row, so that none is left: {left_out}.")
    rows = ~bad
    numbers = {argument: values[rows] for argument, values in content.numbers.items()}
    return Complete(numbers, content.label if content.label is None else taken(content.label, rows), rows)


def taken(values: Column, rows: BoolArray | None) -> Column:
    """Return the values at these rows, all if None."""
    if rows is None:
        return values
    return values.take(rows) if isinstance(values, Coded) else values[rows]


def _missing(
    content: Content, columns: Mapping[str, Sequence[str]], label: str, known: Collection[str]
) -> Iterator[tuple[str, BoolArray]]:
    """Yield every column in which values are missing, and where they are."""
    for argument, values in content.numbers.items():
        if values.dtype.kind == "f" and values.size and np.isnan(np.min(values)):
            masks = np.isnan(values.reshape(len(values), -1)).T
            names = columns[argument] or (argument,)
            if len(names) != len(masks):  # All numbers of a row are in one column.
                masks = np.any(masks, axis=0, keepdims=True)
            yield from ((name, mask) for name, mask in zip(names, masks, strict=True) if mask.any())
    if content.label is not None:
        mask = _missing_labels(content.label, known)
        if mask.any():
            yield label, mask


def _missing_labels(labels: Column, known: Collection[str]) -> BoolArray:
    """Return which labels are missing: no value, or a mark that is not the name of a class."""
    if isinstance(labels, Coded):
        marks = [text is None or (text.lower() in MARKS and text not in known) for text in labels.texts]
        return labels.map(marks, np.bool_)
    if labels.dtype.kind == "f":
        return np.asarray(np.isnan(labels).reshape(len(labels), -1).any(axis=1))
    if labels.dtype.kind == "O":
        return np.array([is_missing(label) for label in labels.ravel()], dtype=bool)
    return np.zeros(len(labels), dtype=bool)
