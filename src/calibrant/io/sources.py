"""What files of all formats have in common: named columns or arrays, and names of places in them."""

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from numpy.typing import NDArray

from calibrant._border.files import OpenFile
from calibrant._border.text import printable, quoted
from calibrant.exceptions import InputError
from calibrant.io.columns import Columns, Request, choose_columns
from calibrant.io.forecast_columns import Arguments, ForecastRequest, choose_forecasts


class Source(ABC):
    """An open file with named columns or arrays.

    Attributes
    ----------
    file : OpenFile
    names : tuple of str
    nested : collection of str
        Those columns that hold a whole row of numbers in each cell.
    """

    file: OpenFile
    names: tuple[str, ...]
    nested: Collection[str] = frozenset()

    def choose(self, request: Request) -> Columns:
        """Choose the columns of predictions."""
        return choose_columns(self.file.name, self.names, self.nested, request)

    def choose_forecasts(self, request: ForecastRequest) -> Arguments:
        """Choose the columns of forecasts."""
        return choose_forecasts(self.file.name, self.names, self.nested, request)

    @abstractmethod
    def read(self, numbers: Mapping[str, Sequence[str]], label: str = "") -> dict[str, Any]:
        """Read columns.

        Parameters
        ----------
        numbers : mapping
            Arguments of a container to the columns of numbers that they are read from, which stand side by side.
        label : str, optional
            A column of any type.

        Returns
        -------
        dict
            An array per argument and, with the key "label", the column of any type as an array or as `Coded`.
        """

    @abstractmethod
    def column(self, name: str) -> NDArray[Any]:
        """Read one column of any type."""

    def place(self, row: int) -> str:
        """Say where in the file a row is."""
        return f"row {row}"


@contextmanager
def located(source: Any, columns: Mapping[str, Sequence[str]], words: Mapping[str, str]) -> Iterator[None]:
    """Say in terms of the file what a container says in terms of arrays.

    Parameters
    ----------
    source : Source, or what has its `file` and `place`
    columns : mapping
        Arguments of the container, with which its messages begin, to the columns that they were read from.
    words : mapping
        What is said in other words to somebody who reads a file.
    """
    try:
        yield
    except (InputError, TypeError) as error:
        message = str(error)
        names = columns.get(message.split(" ", 1)[0], ())

        def translate(found: re.Match[str]) -> str:
            return source.place(int(found["row"])) + _within_row(found["column"], names)

        message = re.sub(r"\brow (?P<row>\d+)(, column (?P<column>\d+))?", translate, message, count=1)
        for theirs, ours in words.items():
            message = message.replace(theirs, ours)
        raise InputError(f"{source.file.name}: {printable(message)}") from error


def _within_row(position: str | None, names: Sequence[str]) -> str:
    """Name the column; if it holds a whole row of numbers in each cell, say also which of them."""
    if len(names) == 1:
        return f", column {quoted(names[0])}" + ("" if position is None else f", entry {position}")
    if position is None:
        return ""
    return f", column {quoted(names[int(position)]) if int(position) < len(names) else position}"
