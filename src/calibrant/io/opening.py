"""Files opened with the reader of their format, patterns that stand for several files, and single columns."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from glob import glob
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from calibrant._border.files import OpenFile, open_regular
from calibrant._border.text import listing, printable, quoted, repeated
from calibrant.exceptions import InputError
from calibrant.io.arrays import Archive, open_npy
from calibrant.io.columnar import Columnar
from calibrant.io.delimited import Delimited
from calibrant.io.header import is_pattern
from calibrant.io.request import ForecastRequest, Request
from calibrant.io.sniff import Kind, recognise, recognise_text
from calibrant.io.sources import Source
from calibrant.io.text import JsonLines, unpacked

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""One file or several."""


def as_paths(given: Paths) -> list[str]:
    """Return the named files; a pattern is replaced by the files that match it, sorted by name.

    Examples
    --------
    >>> as_paths("predictions.csv")
    ['predictions.csv']
    """
    names = [given] if isinstance(given, (str, os.PathLike)) else list(given)
    if not names:
        raise InputError("at least one file must be named, but none is given.")
    paths = [path for name in names for path in _expanded(os.fspath(name))]
    twice = repeated(map(os.path.abspath, paths))
    if twice is not None:
        raise InputError(f"the files must be different, but {printable(twice)} is given twice. Name it once.")
    return paths


def _expanded(name: str) -> list[str]:
    """Return the files that match a pattern; any other name, and the name of an existing file, is returned as it is."""
    if not any(sign in name for sign in "*?[") or not name.isprintable() or Path(name).exists():
        return [name]
    found = sorted(glob(name))  # noqa: PTH207 (`Path.glob` takes no absolute patterns)
    if not found:
        raise FileNotFoundError(f"{printable(name)} matches no file. Check the folder and the pattern.")
    return found


_SOURCES: dict[Kind, Callable[[OpenFile], Source]] = {
    Kind.CSV: Delimited,
    Kind.PARQUET: lambda file: Columnar(file, Kind.PARQUET),
    Kind.IPC: lambda file: Columnar(file, Kind.IPC),
    Kind.NPZ: Archive,
    Kind.NPY: open_npy,
    Kind.JSONL: JsonLines,
}


@contextmanager
def open_source(path: str | os.PathLike[str]) -> Iterator[Source]:
    """Open a file with the reader of its format, which is recognised by content."""
    with open_regular(path) as file:
        kind = recognise(file)
        if kind is Kind.GZIP:
            file = unpacked(file)  # noqa: PLW2901 (closed by the original)
            kind = recognise_text(file)
        yield _SOURCES[kind](file)


def stacked(parts: Sequence[NDArray[np.generic]]) -> NDArray[np.generic]:
    """Return columns one below the other, as objects if their kinds differ: NumPy would turn numbers into text."""
    kinds = {part.dtype.kind for part in parts}
    return np.concatenate(parts if len(kinds) == 1 else [part.astype(object) for part in parts])


def read_column(path: Paths, name: str) -> NDArray[np.generic]:
    """Read one column of a file, in the order of its rows.

    Parameters
    ----------
    path : str, path, or sequence of them
    name : str
        Column of a table, or array of an NPZ file.

    Returns
    -------
    ndarray of shape (n,)
        Integers, floats, booleans, or else objects: strings, and None where a value is missing.
    """
    found = []
    for each in as_paths(path):
        with open_source(each) as source:
            found.append(source.column(name))
    return stacked(found)


def column_names(path: str | os.PathLike[str]) -> list[str]:
    """Return the names of the columns of a table, or of the arrays of an NPZ file, in the order of the file."""
    with open_source(path) as source:
        return list(source.names)


def feature_names(
    path: str | os.PathLike[str], request: Request | ForecastRequest, patterns: Sequence[str] | None
) -> list[str]:
    """Return the columns of features in the order of the file: those that match the patterns, or all.

    The columns of labels, predictions and weights are no features: groups made of labels are wrong by construction.
    """
    with open_source(path) as source:
        file, chosen = source.file.name, source.choose(request)
        taken = {chosen.label, *(name for names in chosen.numbers.values() for name in names)}
        misused = next((name for name in patterns or () if name in taken and not is_pattern(name)), None)
        if misused is not None:
            raise InputError(
                f"{file}: {quoted(misused)} is read as labels, predictions or weights and cannot be a feature. "
                "Leave it out of --features."
            )
        free = [name for name in source.names if name and name not in taken and name not in source.nested]
        if patterns is not None:
            wanted = {name for pairs in source.header.expand(patterns) for name, _ in pairs}
            free = [name for name in free if name in wanted]
    if not free:
        raise InputError(
            f"{file} has no column of features, only labels, predictions and weights: {listing(source.names)}."
        )
    return free
