"""What files of all formats share: named columns or arrays, and errors that name the place in the file."""

import errno
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibrant._border.convert import is_missing
from calibrant._border.files import OpenFile
from calibrant._border.labels import ONE_EACH
from calibrant._border.text import brief, damaged, printable, quoted
from calibrant._border.types import FloatArray
from calibrant.exceptions import InputError
from calibrant.io.columns import choose_columns
from calibrant.io.forecast_columns import choose_forecasts
from calibrant.io.header import Columns, Header
from calibrant.io.request import ForecastRequest, Request
from calibrant.io.sniff import Kind
from calibrant.io.values import MARKS, Column

_WORDS = {
    "Pass them to Predictions.from_logits.": "Read them with logits=True.",
    'Build the calibrator with scores="logits".': "Take them with logits=True.",
    'With scores="logits", -inf is allowed.': "With logits=True, -inf is allowed.",
    "Probabilities and labels look swapped: here the probabilities come first.": "The columns look swapped: name them "
    "the other way round with label= and probs=.",
    "Divide them by 100.": "Read them with percent=True.",
    "Pass classes=[...] in the order of the columns of probs, or for one column positive=, the class whose probability "
    "it is.": "Name the class whose probability the column holds with positive=.",
    ONE_EACH: "Name the columns of all classes with probs=, with commas between them.",
    "loc and scale must": "mean and sd must",
    "loc must": "mean must",
    "scale must": "sd must",
    "values must": "quantiles must",
}
"""Advice of the containers about arrays, and what it is for somebody who reads a file."""

_NUMBERED = re.compile(r"pass (labels - 1, or )?classes=(range\(1, (?P<last>\d+)\)|\[-1, 1\])")
"""Advice of the containers about numbered labels; names of columns that are numbers too would not fit them."""

MOST_NAMES = 30
"""Most columns and classes that advice writes out, so that it can be copied."""

WIDE = {
    "probs": "a whole row of probabilities",
    "draws": "all draws of a row",
    "values": "all quantiles of a row",
}
"""Arguments that are matrices, with what one nested cell holds; all other arguments are single columns."""

Numbers: TypeAlias = dict[str, FloatArray]
"""An array per argument of a container; arrays of archives may have other types, which the container checks."""


class Content(NamedTuple):
    """What was read: numbers by argument, and labels if there are any."""

    numbers: Numbers
    label: Column | None = None


class Source(ABC):
    """An open file with named columns or arrays."""

    file: OpenFile
    names: tuple[str, ...]
    nested: Collection[str] = frozenset()  # Columns that hold a whole row of numbers in each cell.
    percent: bool = False  # Whether numbers may end in a percent sign.
    kind: Kind = Kind.CSV
    foreign: tuple[type[BaseException], ...] = ()  # Exceptions of other libraries about damaged content.

    def close(self) -> None:
        """Close the file; nothing can be read from it any more."""
        self.file.handle.close()

    @property
    def header(self) -> Header:
        """The names, from which columns are chosen."""
        return Header(self.file.name, self.names, self.nested)

    def choose(self, request: Request | ForecastRequest) -> Columns:
        """Choose the columns that are requested, or that have usual names."""
        if isinstance(request, ForecastRequest):
            return choose_forecasts(self.header, request)
        return choose_columns(self.header, request, self._distinct)

    def undamaged(self) -> AbstractContextManager[None]:
        """Turn exceptions of other libraries about content that they cannot decode into one clear line."""
        return undamaged(self.file.name, self.kind, *self.foreign)

    def _distinct(self, name: str) -> list[str]:
        """Return the distinct values of a column as texts, without those that stand for a missing value."""
        texts = [str(value) for value in dict.fromkeys(self.column(name).tolist()) if not is_missing(value)]
        return [text for text in texts if text in self.names or text.lower() not in MARKS]

    @abstractmethod
    def read(self, numbers: Mapping[str, Sequence[str]], label: str = "") -> Content:
        """Read columns of numbers by arguments of a container, side by side, and a column of labels of any type."""

    @abstractmethod
    def column(self, name: str) -> NDArray[np.generic]:
        """Read one column of any type."""

    def place(self, row: int) -> str:
        """Return the place of a row in the file, for messages."""
        return f"row {row}"


@contextmanager
def undamaged(file: str, kind: str, *foreign: type[BaseException]) -> Iterator[None]:
    """Turn exceptions about a file that other libraries cannot decode into one clear line."""
    try:
        yield
    except InputError:
        raise
    except foreign as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise  # The disk is at fault, not the content.
        raise damaged(file, kind, brief(error)) from error


@contextmanager
def located(source: Source, columns: Mapping[str, Sequence[str]], start: int = 0) -> Iterator[None]:
    """Turn errors of a container about arrays into errors about the file and its columns; others stay as they are.

    Messages begin with an argument; `columns` are those that each was read from, from row `start` of the file on.
    """
    try:
        yield
    except (InputError, TypeError) as error:
        message = str(error)
        if message.startswith(source.file.name):
            raise
        names = columns.get(message.split(" ", 1)[0].replace("logits", "probs"), ())

        def translate(found: re.Match[str]) -> str:
            return source.place(start + int(found["row"])) + _within_row(found["column"], names)

        message = re.sub(r"\brow (?P<row>\d+)(, column (?P<column>\d+))?", translate, message, count=1)
        message = _NUMBERED.sub(lambda found: _named(columns.get("probs", ()), found["last"]), message)
        for theirs, ours in _WORDS.items():
            message = message.replace(theirs, ours)
        raise InputError(f"{source.file.name}: {printable(message)}") from error


def _named(probs: Sequence[str], last: str | None) -> str:
    """Say how to name columns and classes if these are numbered from 1, or -1 and 1."""
    classes = ["-1", "1"] if last is None else [str(number) for number in range(1, int(last))]
    columns, names = (
        ",".join(part if len(part) <= MOST_NAMES else [*part[:2], "...", part[-1]]) for part in (probs, classes)
    )
    return f"name columns and classes with probs={columns} and classes={names}"


def _within_row(position: str | None, names: Sequence[str]) -> str:
    """Name the column, and for a column of whole rows also the entry."""
    if len(names) == 1:
        return f", column {quoted(names[0])}" + ("" if position is None else f", entry {position}")
    if position is None:
        return ""
    return f", column {quoted(names[int(position)]) if int(position) < len(names) else position}"
