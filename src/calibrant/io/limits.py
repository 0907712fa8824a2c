"""How large a file and its parts may be before it is refused."""

from calibrant._border.numerals import as_given, count, counted
from calibrant.exceptions import InputError

MAX_BYTES = 8 * 2**30
"""Most bytes that the arrays of one file may take in memory."""

MAX_RATIO = 1000
"""Most bytes that one compressed byte of an archive may stand for."""

RATIO_FREE_BYTES = 10**6
"""Archive members up to this size may be compressed as well as they like."""

MAX_LINE_BYTES = 64 * 2**20
"""Longest row of a text file; a file without line ends must not be read into memory whole."""

MAX_TEXT_BYTES = 2**16
"""Longest text of a column that is read as text, such as a label or a group: longer ones are no names."""

BLOCK_BYTES = 8 * 2**20
"""Text is parsed in blocks of about this size, so that memory does not depend on the size of the file."""

BATCH_ROWS, BATCH_CELLS = 100_000, 4_000_000
"""Rows, and numbers in them, converted at a time from columnar files."""

STREAM_ROWS = 2**18
"""Most rows of a columnar file that are passed on at a time where none is kept."""


def check_bytes(file: str, n_bytes: int, does: str = "would unpack to", remedy: str = "Split it") -> None:
    """Refuse what would not fit into memory, before it is read."""
    if n_bytes > MAX_BYTES:
        raise InputError(
            f"{file} {does} more than {as_given(MAX_BYTES / 2**30)} GiB. {remedy}, or keep a sample of the rows."
        )


def check_size(file: str, rows: int, width: int) -> None:
    """Refuse a matrix that would not fit, before it is allocated."""
    if rows * width * 8 > MAX_BYTES:
        raise InputError(
            f"{file} holds more than {as_given(MAX_BYTES / 2**30)} GiB of numbers ({counted(rows)}, {count(width)} "
            "columns). Split it, or keep a sample of the rows."
        )
