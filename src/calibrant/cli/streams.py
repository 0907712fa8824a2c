"""Standard streams that may be closed or full, or unable to show every character."""

import codecs
import io
import os
import sys
from pathlib import Path
from typing import IO, TextIO

PLAIN = {
    "≤": "<=",
    "≥": ">=",
    "…": "...",
    "→": "->",
    "∞": "inf",
    "\N{MINUS SIGN}": "-",
    "\N{EN DASH}": "-",
    "\N{MULTIPLICATION SIGN}": "x",
    "\N{RIGHT SINGLE QUOTATION MARK}": "'",
}
"""Replacements of characters where only ASCII can be shown."""

PLAINER = "calibrant-plainer"


def prepare() -> None:
    """Make every text printable on every terminal, and replace closed streams."""
    codecs.register_error(PLAINER, _plainer)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # The shell has closed it: >&-
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 (open as long as the program runs)
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=PLAINER)


def _plainer(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that the encoding lacks by ASCII."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(PLAIN.get(c) or c.encode("ascii", "backslashreplace").decode() for c in text), error.end


def write(stream: TextIO, text: str) -> None:
    """Write a text at once; if the reader has closed the pipe, go on, because a gate may still fail."""
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        discard(stream)


def discard(stream: IO[str]) -> None:
    """Discard output that could not be written, so that Python does not try again at exit."""
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):  # The stream is in memory.
        return
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
