"""Names of files, and patterns that stand for several."""

import os
from collections.abc import Sequence
from glob import glob
from pathlib import Path

from calibrant._border.text import printable, repeated
from calibrant.exceptions import InputError

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
