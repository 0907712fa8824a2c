"""Rows counted into the cells of a sketch, compiled or in NumPy; both give the same integers on every machine.

Cells are intervals of p by the exponent and the leading binary digits of min(p, 1 - p), see `calibrant.binning.cells`.
Sums of scores are in units of 2^-32. Nothing here depends on the order of the rows.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._core.library import library

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Integers = NDArray[np.int64]
Events = NDArray[np.uint8]

MAIN, TAIL = (int(np.float64(edge).view(np.int64)) for edge in (2.0**-27, 2.0**-63))
"""Bits of the smallest numbers whose cells have all digits (MAIN), and two digits (TAIL)."""

FIRST_TAIL, FIRST_MAIN = 61, 205
"""The first cells of these ranges; before them are the cell of 0 and 60 cells of 16 octaves each."""

OFFSET_BITS = 30
"""Number of binary digits after those of the cell that are summed as offsets."""

MOST_ROWS = 2**20
"""Largest number of rows at a time: the sums of their scores, each below 2^42, fit into 63 bits."""

MOST_COUNTED = 2**31 - 1
"""Largest number of rows in records: those without the event and those with it share 63 bits."""

_UNSIGNED = {n_bytes: np.dtype(f"u{n_bytes}") for n_bytes in (1, 2, 4, 8)}
_HALF, _LINE = 32, 64
_NOTHING = np.array([-np.inf, -np.inf])
_MAGNITUDE = np.iinfo(np.int64).max

_ROOT_HALF = 0x3FE6A09E667F3BCD
_LOG2_HIGH, _LOG2_LOW, _LOG2_54 = 0.6931471803691238, 1.9082149292705877e-10, 37.42994775023705


class Cuts(NamedTuple):
    """The cells of one grid, some of which are cut into parts; parts are numbered in ascending order.

    Attributes
    ----------
    digits : int
        Leading binary digits that a cell has.
    numbers : ndarray of uint8, of shape (cells,)
        The number of each cell among the cells with cuts, counted from 1; 0 for cells without cuts.
    ends : ndarray of int32
        Where the cuts of each cell with cuts begin in `at`, followed by the length of `at`.
    at : ndarray
        Cuts, ascending: each is the smallest number above the cut.
    first : ndarray of shape (cells,)
        The first part of every cell.
    record : ndarray of shape (parts,)
        The record of every part: for a first part it has the number of its cell; those of other parts follow.
    """

    digits: int
    numbers: Events
    ends: NDArray[np.int32]
    at: Floats
    first: Integers
    record: Integers

    @classmethod
    def of(cls, digits: int, counts: Integers, at: Floats) -> "Cuts":
        """Return the cells of a grid, given how many cuts each has."""
        is_cut = counts > 0
        numbers = np.where(is_cut, np.cumsum(is_cut), 0).astype(np.uint8)
        ends = np.append(0, np.cumsum(counts[is_cut])).astype(np.int32)
        first = np.arange(len(counts)) + np.cumsum(counts) - counts
        is_first = np.zeros(len(counts) + len(at), dtype=bool)
        is_first[first] = True
        record = np.where(is_first, np.cumsum(is_first) - 1, len(counts) + np.cumsum(~is_first) - 1)
        return cls(digits, numbers, ends, at, first, record)

    @property
    def n_parts(self) -> int:
        """Number of all parts."""
        return len(self.record)


def empty_records(n_parts: int) -> Integers:
    """Return empty records of parts, aligned so that no record crosses a cache line.

    A record has four numbers: rows without the event plus 2^32 times those with it, the sum of their offsets, and the
    largest -p and the largest p as the bits of floating point numbers; minus infinity if there is no row.
    """
    memory = np.empty(4 * n_parts + _LINE // 8, dtype=np.int64)
    start = -memory.ctypes.data % _LINE // 8
    records = memory[start : start + 4 * n_parts].reshape(n_parts, 4)
    records[:] = _blank(n_parts)
    return records


@cache
def _blank(n_parts: int) -> Integers:
    """Return empty records to copy, in a tenth of the time of writing them."""
    return np.tile(np.array([0, 0, *_NOTHING.view(np.int64)], dtype=np.int64), (n_parts, 1))


def columns_of(records: Integers) -> Integers:
    """Return rows without the event, rows with it, sums of offsets, and the bits of the smallest and the largest p.

    For a record without rows, the smallest p is infinite, and the bits of the largest are below those of any number.

    Examples
    --------
    >>> extremes = np.array([-0.25, 0.5]).view(np.int64)
    >>> *sums, least, most = columns_of(np.array([[3 * 2**32 + 2, 7, *extremes]]))[0]
    >>> np.array(sums).tolist(), np.array([least, most]).view(float).tolist()
    ([2, 3, 7], [0.25, 0.5])
    """
    counts, least = records[:, 0], records[:, 2] & _MAGNITUDE
    return np.column_stack([counts & (2**_HALF - 1), counts >> _HALF, records[:, 1], least, records[:, 3]])


def records_of(columns: Integers) -> Integers:
    """Return the records with these columns: the inverse of `columns_of`."""
    counts = columns[:, 0] + (columns[:, 1] << _HALF)
    return np.column_stack([counts, columns[:, 2], columns[:, 3] | ~_MAGNITUDE, columns[:, 4]])


def add_records(records: Integers, others: Integers) -> None:
    """Add the rows of other records to these."""
    for column in (0, 1):
        records[:, column] += others[:, column]
    mine, yours = (every.view(np.float64)[:, 2:] for every in (records, others))
    np.maximum(mine, yours, out=mine)


def are_plain(probs: Floats | Singles, labels: NDArray[np.integer | np.bool_]) -> bool:
    """Whether all predictions are from 0 to 1 and not -0, and all labels 0 or 1.

    Examples
    --------
    >>> are_plain(np.array([0.0, 1.0]), np.array([1, 0])), are_plain(np.array([0.5, np.nan]), np.array([1, 0]))
    (True, False)
    """
    core = library()
    if core is not None and labels.itemsize == 1 and probs.flags.c_contiguous and labels.flags.c_contiguous:
        found = np.empty(1, dtype=np.int64)
        core.sketch_plain(probs, probs.dtype == np.float32, labels, len(probs), found)
        return bool(found[0])
    # Read as unsigned integers, negative numbers and NaN are larger than 1.
    bits, kind = probs.view(_UNSIGNED[probs.itemsize]), _UNSIGNED[labels.itemsize]
    one = np.ones(1, probs.dtype).view(bits.dtype)[0]
    return bool(np.all(bits <= one) and np.all(labels.view(kind) <= 1))


def count_rows(
    probs: Floats | Singles, events: Events, cuts: Cuts, records: Integers, *, with_logs: bool = False
) -> tuple[int, int, int]:
    """Count rows into records, and return the sums of their scores: see `sum_scores`.

    The records, (parts, 4), are updated in place, in the order of `Cuts.record`; they have at most `MOST_COUNTED` rows
    in all. See `empty_records`.
    """
    core = library()
    if core is not None:
        last, sums = len(cuts.numbers) - 1, np.empty(3, dtype=np.int64)
        core.sketch_records(
            probs, probs.dtype == np.float32, events, len(probs), cuts.digits, last, cuts.numbers, cuts.ends, cuts.at,
            records, with_logs, sums,
        )  # fmt: skip
        return tuple(sums.tolist())  # type: ignore[return-value]  # three of them
    numbers = probs.astype(np.float64) + 0.0  # This turns -0, whose bits are in no cell, into 0.
    part, offset = place(numbers, cuts)
    at, extremes = cuts.record[part], records.view(np.float64)
    np.add.at(records[:, 0], at, np.where(events, 2**_HALF, 1))
    np.add.at(records[:, 1], at, offset)
    np.maximum.at(extremes[:, 2], at, -numbers)
    np.maximum.at(extremes[:, 3], at, numbers)
    return sum_scores(numbers, events, with_logs=with_logs)


def sum_scores(probs: Floats, events: Events, *, with_logs: bool) -> tuple[int, int, int]:
    """Return squared errors and log losses, summed in units of 2^-32, and how many log losses are infinite.

    There are at most `MOST_ROWS` probabilities of the event, (n,), and 1 where it happened, otherwise 0, (n,). Without
    logs, 0 is returned for what concerns log losses.
    """
    core, sums = library(), np.zeros(3, dtype=np.int64)
    if core is not None:
        core.sketch_scores(probs, events, len(probs), int(with_logs), sums)
    else:
        squares, logs, never = scores(probs, events)
        sums[:] = squares.sum(), with_logs and logs.sum(), with_logs and never.sum()
    return tuple(sums.tolist())  # type: ignore[return-value]  # three of them


def place(probs: Floats, cuts: Cuts) -> tuple[Integers, Integers]:
    """Return the part of a cell that every prediction is in, and its offset there."""
    upper = probs > 0.5
    bits = np.where(upper, 1.0 - probs, probs).view(np.int64)
    rest = 52 - cuts.digits
    kinds = [bits >= MAIN, bits >= TAIL, bits > 0]
    cell = np.select(
        kinds, [FIRST_MAIN + ((bits - MAIN) >> rest), FIRST_TAIL + ((bits - TAIL) >> 50), 1 + (bits >> 56)]
    )
    shifts = np.select(kinds[:2], [rest, 50], 56)
    offset = (bits & ((1 << shifts) - 1)) >> (shifts - OFFSET_BITS)
    cell = np.where(upper, len(cuts.numbers) - 1 - cell, cell)
    before = np.searchsorted(cuts.at, probs, side="right")
    # Cuts at or below a prediction are before its cell or inside it.
    return cell + before, offset


def scores(probs: Floats, events: Events) -> tuple[Integers, Integers, NDArray[np.bool_]]:
    """Return the squared error and the log loss of every row in units of 2^-32, and whether the latter is infinite.

    Examples
    --------
    >>> squares, logs, never = scores(np.array([0.5, 0.0]), np.array([1, 1], dtype=np.uint8))
    >>> (squares / 2**32).tolist(), (logs / 2**32).round(6).tolist(), never.tolist()
    ([0.25, 1.0], [0.693147, 0.0], [False, True])
    """
    rest = 1.0 - probs
    error, observed = np.where(events, rest, probs), np.where(events, probs, rest)
    never = observed == 0.0
    is_small = ~never & (observed < np.finfo(float).tiny)
    normal = np.select([never, is_small], [1.0, observed * 2.0**54], observed)
    logs = _log(normal) - np.where(is_small, _LOG2_54, 0.0)
    squares, losses = (np.rint(found * 2.0**32).astype(np.int64) for found in (error * error, logs))
    return squares, -losses, never


def _log(x: Floats) -> Floats:
    """Return the logarithm of positive normal numbers by the same operations, in the same order, as compiled code."""
    bits = x.view(np.int64)
    exponent = (bits - _ROOT_HALF) >> 52
    f = (bits - (exponent << 52)).view(np.float64) - 1.0
    s = f / (f + 2.0)
    z = s * s
    q = z * (2.0 / 21) + 2.0 / 19
    for divisor in (17, 15, 13, 11, 9, 7, 5, 3):
        q = q * z + 2.0 / divisor
    small = exponent * _LOG2_LOW + s * z * q
    return np.asarray(exponent * _LOG2_HIGH + (small + (s + s)))
