"""Text from outside, made harmless and short: for one-line messages, tables and pages."""

import difflib
import os
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

from calibrant.exceptions import FileError

CELL_LIMIT = 60
"""Longest quotation of a cell, a column name or the message of another library."""

VISIBLE = "\u200c\u200d\u3000"
"""Characters that stay although Python calls them not printable: words and emoji need the two joiners, and text in
Chinese and Japanese its wide space."""


def printable(text: str | bytes | os.PathLike[str], limit: int | None = None) -> str:
    r"""Escape everything in `text` that nobody would see, that could disturb a terminal, or that would break the line.

    Control characters, ANSI escapes, line ends, unusual spaces, bidirectional and zero-width marks, and the undecodable
    bytes of file names become backslash escapes. Other characters, of any language, stay.

    Parameters
    ----------
    text : str, bytes or path
    limit : int, optional
        Longest result; the rest is replaced by an ellipsis.

    Examples
    --------
    >>> print(printable("a\nb\x1b[31m"))
    a\nb\x1b[31m
    """
    plain = os.fsdecode(text)
    if limit is not None and len(plain) > limit:
        plain = plain[: limit - 1] + "…"
    return (
        plain if plain.isprintable() else "".join(c if c.isprintable() or c in VISIBLE else _escape(c) for c in plain)
    )


def _escape(character: str) -> str:
    if 0xDC80 <= ord(character) <= 0xDCFF:  # A byte of a file name that is not UTF-8.
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def name(raw: Hashable, limit: int = 80) -> str:
    """Return a name fit for a table: printable, not empty, and without its middle if it is long.

    Examples
    --------
    >>> name("abcdefghij", limit=7), name("  ")
    ('abcd…ij', '(empty)')
    """
    text = printable(str(raw)).strip()
    if not text:
        return "(empty)"
    if len(text) <= limit:
        return text
    tail = limit // 3
    return f"{text[: limit - 1 - tail]}…{text[-tail:]}"


def capital(text: str) -> str:
    """Return the text with a capital letter at its beginning."""
    return text[:1].upper() + text[1:]


def quoted(text: str) -> str:
    """Return a cell or a column name in quotation marks, escaped and shortened."""
    return f"'{printable(text, CELL_LIMIT)}'"


def listing(names: Sequence[str], limit: int = 12) -> str:
    """Return the first `limit` names, comma-separated, and how many more there are."""
    shown = ", ".join(quoted(name) for name in names[:limit])
    return f"{shown} and {len(names) - limit} more" if len(names) > limit else shown or "none"


def repeated(names: Iterable[str]) -> str | None:
    """Return the first name that occurs more than once."""
    return next((name for name, count in Counter(names).items() if count > 1), None)


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return "Did you mean ...?" with similar names, or nothing."""
    near = difflib.get_close_matches(name, list(known), n=3)
    return f" Did you mean {' or '.join(quoted(n) for n in near)}?" if near else ""


def brief(error: BaseException) -> str:
    """Return the first line of the message of another library."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return printable(lines[0], 2 * CELL_LIMIT)


def damaged(file: str, kind: str, reason: str) -> FileError:
    """Return the error for a file whose content violates its format."""
    return FileError(
        f"{file} cannot be read as {kind}: {reason.rstrip('.')}. It may be damaged or incomplete; "
        "write or copy it again."
    )
