"""Names fit for display: without invisible characters, and short enough for a table."""

from collections.abc import Hashable

_INVISIBLE = [
    *range(0x20),
    *range(0x7F, 0xA0),
    *(0xAD, 0x61C, 0x200B, 0x200E, 0x200F, 0xFEFF, 0xFFFE, 0xFFFF),
    *range(0x2028, 0x202F),
    *range(0x2060, 0x2070),
    *range(0xD800, 0xE000),
    *range(0xFFF9, 0xFFFC),
    *range(0xE0000, 0xE0080),
]
ESCAPES = {code: chr(code).encode("unicode_escape").decode() for code in _INVISIBLE}
"""Invisible characters as Python writes them: terminal escapes, line ends, changes of the writing direction, characters
without width, lone surrogates. The two joiners stay, since words and emoji need them."""


def printable(text: str) -> str:
    r"""Return the text with control characters and other invisible characters escaped.

    Examples
    --------
    >>> print(printable("a\x1b[31m"))
    a\x1b[31m
    """
    return text.translate(ESCAPES)


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
