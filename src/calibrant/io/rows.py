"""The rows of files: chosen columns and others, without rows in which a value is missing, if these may be left out."""

import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from calibrant._border.convert import is_missing
from calibrant._border.text import quoted
from calibrant._border.types import BoolArray
from calibrant._core.progress import portions, tell
from calibrant.exceptions import DataWarning, InputError
from calibrant.io.columns import Columns
from calibrant.io.opening import Paths, as_paths, open_source, stacked
from calibrant.io.request import ForecastRequest, Request
from calibrant.io.sources import Content, Source, located
from calibrant.io.values import MARKS, Coded, Column

Others: TypeAlias = dict[str, NDArray[np.generic]]
"""Further columns by name."""

Made = TypeVar("Made")
Make: TypeAlias = Callable[[Source, Columns, Content, Others], Made]
"""What is made of the columns of a file; errors about arrays become errors about the file and its columns."""

_STEPS = 3
"""Steps of reading a file that are reported as progress: columns chosen, numbers read, numbers checked."""


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
            warnings.warn(f"values are missing in {self}: {consequence}.", DataWarning, stacklevel=5)


def read_files(
    path: Paths, request: Request | ForecastRequest, make: Make[Made], others: Sequence[str] = ()
) -> tuple[dict[str, Made], Others]:
    """Return what is made of each file, by its path, and other columns of the rows of all files."""
    left_out = LeftOut(request.drop_missing)
    parts, columns = {}, []
    for each in portions(as_paths(path)):
        with open_source(each) as source:
            parts[each], found, _ = read_rows(source, source.choose(request), request, make, others, left_out)
            columns.append(found)
    left_out.warn("these rows are left out")
    return parts, {name: stacked([found[name] for found in columns]) for name in others}


def read_rows(
    source: Source,
    columns: Columns,
    request: Request | ForecastRequest,
    make: Make[Made],
    others: Sequence[str],
    left_out: LeftOut,
) -> tuple[Made, Others, BoolArray | None]:
    """Return what is made of a file, other columns of its rows, and which rows were kept, None if all were."""
    tell(1, _STEPS)
    content = _complete(source, columns, request, left_out)
    tell(2, _STEPS)
    found = {name: source.column(name) for name in others}
    if content.rows is not None:
        found = {name: values[content.rows] for name, values in found.items()}
    with located(source, columns.numbers):
        made = make(source, columns, content, found)
    tell(_STEPS, _STEPS)
    return made, found, content.rows


def _complete(source: Source, columns: Columns, request: Request | ForecastRequest, left_out: LeftOut) -> Content:
    """Read the chosen columns without the rows in which a value is missing; refuse these if they must not be left out.

    Percentages become probabilities. A label such as "NA" is not missing if it is the name of a class.
    """
    known = set(map(str, columns.classes or ()))
    if isinstance(request, Request):
        source.percent = request.percent
        known.add(str(request.positive))
    numbers, labels, _ = source.read(columns.numbers, columns.label)
    if source.percent:
        numbers["probs"] = numbers["probs"] / 100
    missing = dict(_missing(Content(numbers, labels), columns, known))
    if not missing:
        left_out.of += len(next(iter(numbers.values())))
        return Content(numbers, labels)
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
    if labels is not None:
        labels = labels.take(~bad) if isinstance(labels, Coded) else labels[~bad]
    return Content({argument: values[~bad] for argument, values in numbers.items()}, labels, ~bad)


def _missing(content: Content, columns: Columns, known: Collection[str]) -> Iterator[tuple[str, BoolArray]]:
    """Yield every column with missing values, and the rows in which they are missing."""
    for argument, values in content.numbers.items():
        if values.dtype.kind == "f" and values.size and np.isnan(np.min(values)):
            masks = np.isnan(values.reshape(len(values), -1)).T
            names = columns.numbers[argument]
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
