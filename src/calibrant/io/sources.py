"""Opening a file with the reader of its format, and naming places in it."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

from calibrant.exceptions import InputError
from calibrant.io.sniff import Kind, OpenFile, open_regular, recognise
from calibrant.io.text import printable, quoted


class Source(Protocol):
    """A file with named columns or arrays."""

    file: OpenFile

    def place(self, row: int) -> str:
        """Say where in the file a row is."""


AnySource = TypeVar("AnySource", bound=Source)


@contextmanager
def open_source(
    path: str | os.PathLike[str], readers: Mapping[Kind, Callable[[OpenFile], AnySource]]
) -> Iterator[AnySource]:
    """Open a file with the reader of its format, which is recognised by content."""
    with open_regular(path) as file:
        kind = recognise(file)
        if kind not in (Kind.NPZ, Kind.NPY):
            _need_polars()
        yield readers[kind](file)


def _need_polars() -> None:
    try:
        import polars as pl  # noqa: F401 (only whether it is there)
    except ImportError as error:
        raise ImportError(
            'Tables are read with polars, which is not installed: pip install "calibrant[cli]". '
            "NPZ and NPY files can be read without it."
        ) from error


@contextmanager
def located(source: Source, columns: Mapping[str, Sequence[str]], words: Mapping[str, str]) -> Iterator[None]:
    """Say in terms of the file what a container says in terms of arrays.

    Parameters
    ----------
    source : Source
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
