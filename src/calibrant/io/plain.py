"""Small, plain text tables, read without polars: its import takes longer than reading them."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._border.types import BoolArray, FloatArray
from calibrant.io import limits
from calibrant.io.values import Coded

MOST_BYTES = 4 * 2**20
"""Larger tables are read faster by polars, its import included."""

_PORTION = 2**17
"""Bytes that are parsed at a time: split into cells, they take several times the memory."""

_IN_NUMBERS, _MOST_DIGITS = b"0123456789.eE+-", 1000


class PlainColumns(NamedTuple):
    """Some columns of a table: numbers and texts."""

    numbers: list[FloatArray]
    texts: list[Coded]
    n_rows: int


def portions(rows: bytes) -> Iterator[bytes]:
    """Yield rows in portions that end with a line."""
    start = 0
    while start < len(rows):
        end = rows.find(b"\n", start + _PORTION) + 1 or len(rows)
        yield rows[start:end]
        start = end


def plain_columns(
    rows: bytes, separator: str, width: int, numbers: Sequence[int], texts: Sequence[int]
) -> PlainColumns | None:
    r"""Return columns by their position, or None if anything is unusual: quotes, spaces, missing values, a wrong row.

    The result is that of the complete reader, which is left to name errors.

    Examples
    --------
    >>> numbers, texts, n_rows = plain_columns(b"0.25,yes\n1e-1,no\n", ",", 2, [0], [1])
    >>> numbers, texts[0].texts, n_rows
    ([array([0.25, 0.1 ])], ['yes', 'no'], 2)
    >>> plain_columns(b"0.25,yes\n,no\n", ",", 2, [0], [1]) is None
    True
    """
    rows = rows.replace(b"\r\n", b"\n")
    rows = rows if rows.endswith(b"\n") else rows + b"\n"
    if not rows.isascii() or any(mark in rows for mark in (b'"', b"\r", b"\0")):
        return None
    if count_rows(rows, separator, width) < 0:
        return None
    cells = rows.replace(b"\n", separator.encode()).split(separator.encode())[:-1]
    found = [column for j in numbers if (column := _numbers(cells[j::width])) is not None]
    coded = [text for j in texts if (text := _coded(cells[j::width])) is not None]
    is_plain = (len(found), len(coded)) == (len(numbers), len(texts))
    return PlainColumns(found, coded, len(cells) // width) if is_plain else None


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


def _numbers(cells: Sequence[bytes]) -> FloatArray | None:
    """Return finite decimal numbers with a sane number of digits; None if a cell is anything else."""
    if max(map(len, cells)) > _MOST_DIGITS or b"".join(cells).translate(None, _IN_NUMBERS):
        return None
    try:
        found = np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        return None
    return found if np.isfinite(found).all() else None


def _coded(cells: Sequence[bytes]) -> Coded | None:
    """Return texts that are neither empty nor long nor surrounded by spaces; None if a cell is anything else."""
    positions = {cell: i for i, cell in enumerate(dict.fromkeys(cells))}
    if any(not cell or cell != cell.strip() or len(cell) > limits.MAX_TEXT_BYTES for cell in positions):
        return None
    codes = np.fromiter(map(positions.__getitem__, cells), np.int32, len(cells))
    return Coded([cell.decode("ascii") for cell in positions], codes)
