"""What files of all formats have in common: named columns or arrays, and names of places in them."""

import errno
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibrant._border.convert import is_missing
from calibrant._border.files import OpenFile
from calibrant._border.labels import ONE_EACH
from calibrant._border.text import brief, damaged, printable, quoted
from calibrant._border.types import FloatArray
from calibrant.exceptions import InputError
from calibrant.io.columns import Columns, choose_columns
from calibrant.io.forecast_columns import Arguments, ForecastRequest, choose_forecasts
from calibrant.io.request import Request
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
"""What containers say of arrays, in words for somebody who reads a file."""

WIDE = {
    "probs": "a whole row of probabilities",
    "draws": "all draws of a row",
    "values": "all quantiles of a row",
}
"""Arguments that are matrices, and what a cell is called that holds a row of one; all others are single columns."""


Numbers: TypeAlias = dict[str, FloatArray]
"""An array per argument of a container; in single precision, or no numbers, if an archive holds such."""


class Content(NamedTuple):
    """What was read, and the labels if there are any."""

    numbers: Numbers
    label: Column | None = None


class Source(ABC):
    """An open file with named columns or arrays.

    Attributes
    ----------
    file : OpenFile
    names : tuple of str
    nested : collection of str
        Those columns that hold a whole row of numbers in each cell.
    percent : bool
        Whether numbers may end in a percent sign.
    """

    file: OpenFile
    names: tuple[str, ...]
    nested: Collection[str] = frozenset()
    percent: bool = False

    def close(self) -> None:
        """Close the file, of which nothing is read any more."""
        self.file.handle.close()

    def choose(self, request: Request) -> Columns:
        """Choose the columns of predictions."""
        return choose_columns(self.file.name, self.names, self.nested, request, self._distinct)

    def _distinct(self, name: str) -> list[str]:
        """Return the different values of a column as texts, without what stands for a missing value."""
        texts = [str(value) for value in dict.fromkeys(self.column(name).tolist()) if not is_missing(value)]
        return [text for text in texts if text in self.names or text.lower() not in MARKS]

    def choose_forecasts(self, request: ForecastRequest) -> Arguments:
        """Choose the columns of forecasts."""
        return choose_forecasts(self.file.name, self.names, self.nested, request)

    @abstractmethod
    def read(self, numbers: Mapping[str, Sequence[str]], label: str = "") -> Content:
        """Read columns.

        Parameters
        ----------
        numbers : mapping
            Arguments of a container to the columns of numbers that they are read from, which stand side by side.
        label : str, optional
            A column of any type.
        """

    @abstractmethod
    def column(self, name: str) -> NDArray[np.generic]:
        """Read one column of any type."""

    def place(self, row: int) -> str:
        """Say where in the file a row is."""
        return f"row {row}"


@contextmanager
def undamaged(file: str, kind: str, *foreign: type[BaseException]) -> Iterator[None]:
    """Turn what other libraries raise for a file that they cannot decode into one clear line."""
    try:
        yield
    except InputError:
        raise
    except foreign as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise  # The disk, not the content.
        raise damaged(file, kind, brief(error)) from error


@contextmanager
def located(source: Source, columns: Mapping[str, Sequence[str]], start: int = 0) -> Iterator[None]:
    """Say in terms of the file what a container says in terms of arrays.

    Parameters
    ----------
    source : Source
    columns : mapping
        Arguments of the container, with which its messages begin, to the columns that they were read from.
    start : int, default=0
        Row of the file that is the first of the arrays.
    """
    try:
        yield
    except (InputError, TypeError) as error:
        message = str(error)
        names = columns.get(message.split(" ", 1)[0].replace("logits", "probs"), ())

        def translate(found: re.Match[str]) -> str:
            return source.place(start + int(found["row"])) + _within_row(found["column"], names)

        message = re.sub(r"\brow (?P<row>\d+)(, column (?P<column>\d+))?", translate, message, count=1)
        for theirs, ours in _WORDS.items():
            message = message.replace(theirs, ours)
        raise InputError(f"{source.file.name}: {printable(message)}") from error


def _within_row(position: str | None, names: Sequence[str]) -> str:
    """Name the column; if it holds a whole row of numbers in each cell, say also which of them."""
    if len(names) == 1:
        return f", column {quoted(names[0])}" + ("" if position is None else f", entry {position}")
    if position is None:
        return ""
    return f", column {quoted(names[int(position)]) if int(position) < len(names) else position}"
