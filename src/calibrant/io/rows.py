"""The rows of files: chosen columns and others, without rows in which a value is missing, if these may be left out."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibrant._border.convert import is_missing
from calibrant._border.text import quoted
from calibrant._border.types import BoolArray
from calibrant._border.warn import warn
from calibrant._core.progress import portions, tell
from calibrant.exceptions import InputError
from calibrant.io.header import Columns
from calibrant.io.opening import Paths, as_paths, open_source, stacked
from calibrant.io.request import ForecastRequest, Request
from calibrant.io.sources import Numbers, Source, located
from calibrant.io.values import MARKS, Coded, Column

Others: TypeAlias = dict[str, NDArray[np.generic]]
"""Further columns by name."""

_STEPS = 3
"""Steps of reading a file that are reported as progress: columns chosen, numbers read, numbers checked."""


class Part(NamedTuple):
    """What was read from a file, which is still open: numbers by argument, labels if there are any, other columns.

    `rows` says which rows were kept; None if all were.
    """

    source: Source
    columns: Columns
    numbers: Numbers
    label: Column | None
    others: Others
    rows: BoolArray | None

    def located(self) -> AbstractContextManager[None]:
        """Turn errors about arrays into errors about the file and its columns."""
        return located(self.source, self.columns.numbers)


@dataclass
class LeftOut:
    """Counts of rows that are left out because a value is missing: in all and by column."""

    rows: int = 0
    of: int = 0
    columns: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        return f"{self.rows} of {self.of} rows ({', '.join(f'{quoted(c)} {n}' for c, n in self.columns.items())})"

    def add(self, missing: Mapping[str, BoolArray], n_rows: int) -> BoolArray:
        """Count the rows of a file, and return those in which a value is missing."""
        bad = np.logical_or.reduce(list(missing.values()) or [np.zeros(n_rows, dtype=bool)])
        self.rows += int(bad.sum())
        self.of += len(bad)
        self.columns.update({name: int(mask.sum()) for name, mask in missing.items()})
        return np.asarray(bad)

    def warn(self, consequence: str) -> None:
        """Warn of rows that were left out, if there are any."""
        if self.rows:
            warn(f"values are missing in {self}: {consequence}.")


def read_parts(path: Paths, request: Request | ForecastRequest, others: Sequence[str] = ()) -> Iterator[Part]:
    """Yield what is in each file, without rows in which a value is missing, of which it warns at the end."""
    left_out = LeftOut()
    for each in portions(as_paths(path)):
        with open_source(each) as source:
            yield read_part(source, source.choose(request), request, left_out, others)
            tell(_STEPS, _STEPS)
    left_out.warn("these rows are left out")


def together(parts: Sequence[Others]) -> Others:
    """Return the other columns of all files, one below the other."""
    return {name: stacked([part[name] for part in parts]) for name in parts[0]}


def read_part(
    source: Source,
    columns: Columns,
    request: Request | ForecastRequest,
    left_out: LeftOut,
    others: Sequence[str] = (),
) -> Part:
    """Read the chosen columns without the rows in which a value is missing; refuse these if they must not be left out.

    Percentages become probabilities. A label such as "NA" is not missing if it is the name of a class.
    """
    tell(1, _STEPS)
    known = set(map(str, columns.classes or ()))
    if isinstance(request, Request):
        source.percent = request.percent
        known.add(str(request.positive))
    numbers, labels = source.read(columns.numbers, columns.label)
    if source.percent:
        numbers["probs"] = numbers["probs"] / 100
    missing = dict(_missing(numbers, labels, columns, known))
    counts = left_out if request.drop_missing or not missing else LeftOut()
    bad = counts.add(missing, len(next(iter(numbers.values()))))
    if missing and not request.drop_missing:
        row = int(bad.argmax())
        column = next(name for name, mask in missing.items() if mask[row])
        raise InputError(
            f"{source.file.name}: values are missing in {counts}, the first on {source.place(row)}, column "
            f"{quoted(column)}. Fill them in, or leave these rows out with drop_missing=True."
        )
    if missing and bad.all():
        raise InputError(f"{source.file.name}: a value is missing in every row, so no row is left: {counts}.")
    rows = ~bad if missing else None
    tell(2, _STEPS)
    found = {name: source.column(name) for name in others}
    if rows is not None:  # Else nothing is copied.
        numbers = {argument: values[rows] for argument, values in numbers.items()}
        labels = labels.take(rows) if isinstance(labels, Coded) else None if labels is None else labels[rows]
        found = {name: values[rows] for name, values in found.items()}
    return Part(source, columns, numbers, labels, found, rows)


def _missing(
    numbers: Numbers, labels: Column | None, columns: Columns, known: Collection[str]
) -> Iterator[tuple[str, BoolArray]]:
    """Yield every column with missing values, and the rows in which they are missing."""
    for argument, values in numbers.items():
        if values.dtype.kind == "f" and values.size and np.isnan(np.min(values)):
            masks = np.isnan(values.reshape(len(values), -1)).T
            names = columns.numbers[argument]
            if len(names) != len(masks):  # One column holds all numbers of a row.
                masks = np.any(masks, axis=0, keepdims=True)
            yield from ((name, mask) for name, mask in zip(names, masks, strict=True) if mask.any())
    if labels is not None:
        mask = _missing_labels(labels, known)
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
