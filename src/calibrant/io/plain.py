"""Small, plain text tables, read without polars: its import takes longer than reading them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from calibrant._border.types import BoolArray, FloatArray
from calibrant.io import limits
from calibrant.io.values import Coded

MOST_BYTES = 4 * 2**20
"""Larger tables are read faster by polars, its import included."""

_IN_NUMBERS, _MOST_DIGITS = b"0123456789.eE+-", 1000


def plain_columns(
    rows: bytes, separator: str, width: int, numbers: Sequence[int], texts: Sequence[int]
) -> tuple[list[FloatArray], list[Coded]] | None:
    r"""Return columns of numbers and of texts by their position, or None if there are no rows or anything is unusual.

    Quotes, spaces, missing values and rows of another length are unusual. Otherwise the result is that of the complete
    reader, which is left to name errors.

    Examples
    --------
    >>> numbers, texts = plain_columns(b"0.25,yes\n1e-1,no\n", ",", 2, [0], [1])
    >>> numbers, texts[0].texts
    ([array([0.25, 0.1 ])], ['yes', 'no'])
    >>> plain_columns(b"0.25,yes\n,no\n", ",", 2, [0], [1]) is None
    True
    """
    rows = rows.replace(b"\r\n", b"\n")
    rows = rows if rows.endswith(b"\n") else rows + b"\n"
    if (
        not rows.isascii()
        or any(mark in rows for mark in (b'"', b"\r", b"\0"))
        or count_rows(rows, separator, width) < 1
    ):
        return None
    cells = rows.replace(b"\n", separator.encode()).split(separator.encode())[:-1]
    try:
        return [_numbers(cells[j::width]) for j in numbers], [_coded(cells[j::width]) for j in texts]
    except ValueError:
        return None


def count_rows(rows: bytes, separator: str, width: int) -> int:
    r"""Return the number of rows, or -1 if one of them has too many or too few fields.

    Examples
    --------
    >>> count_rows(b'1,"a,\nb"\n2,c\n', ",", 2), count_rows(b"1\n2,3,4\n", ",", 2)
    (2, -1)
    """
    text = np.frombuffer(rows if rows.endswith(b"\n") else rows + b"\n", np.uint8)
    ends = text == ord("\n")
    are_marks = ends | (text == ord(separator))
    if b'"' in rows:
        are_marks &= ~quotes_open(text)
    marks = ends[are_marks]
    found = int(np.count_nonzero(marks))
    return found if len(marks) == width * found and marks[width - 1 :: width].all() else -1


def quotes_open(text: NDArray[np.uint8]) -> BoolArray:
    """Return for every byte whether a quotation mark is open there."""
    return np.cumsum(text == ord('"'), dtype=np.uint8) % 2 == 1  # Wrapping at 256 keeps odd and even apart.


def _numbers(cells: Sequence[bytes]) -> FloatArray:
    """Return finite decimal numbers with a sane number of digits; ValueError if a cell is anything else."""
    if max(map(len, cells)) > _MOST_DIGITS or b"".join(cells).translate(None, _IN_NUMBERS):
        raise ValueError
    found = np.fromiter(map(float, cells), np.float64, len(cells))
    if not np.isfinite(found).all():
        raise ValueError
    return found


def _coded(cells: Sequence[bytes]) -> Coded:
    """Return texts that are neither empty nor long nor surrounded by spaces; ValueError if a cell is anything else."""
    positions = {cell: i for i, cell in enumerate(dict.fromkeys(cells))}
    if any(not cell or cell != cell.strip() or len(cell) > limits.MAX_TEXT_BYTES for cell in positions):
        raise ValueError
    codes = np.fromiter(map(positions.__getitem__, cells), np.int32, len(cells))
    return Coded([cell.decode("ascii") for cell in positions], codes)
