"""Limits beyond which a file is refused, and sizes of the parts in which files are read."""

from calibrant._border.numerals import as_given, count, counted
from calibrant.exceptions import InputError

MAX_BYTES = 8 * 2**30
"""Maximum size in memory of the arrays of one file."""

MAX_RATIO = 1000
"""Maximum ratio of unpacked to compressed bytes in an archive."""

RATIO_FREE_BYTES = 10**6
"""Members of an archive up to this unpacked size may have any ratio."""

MAX_LINE_BYTES = 64 * 2**20
"""Longest row of a text file, so that a file without line ends is not read into memory as a whole."""

MAX_TEXT_BYTES = 2**16
"""Longest text in a column of labels or groups; names are shorter."""

BLOCK_BYTES = 8 * 2**20
"""Size of the blocks in which text is parsed, so that memory does not depend on the size of the file."""

BATCH_ROWS, BATCH_CELLS = 2**18, 4_000_000
"""Most rows, and most cells, of a table that are passed on at a time."""


def check_bytes(file: str, n_bytes: int, does: str = "would unpack to", remedy: str = "Split it") -> None:
    """Refuse content that would not fit into memory, before it is read."""
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
