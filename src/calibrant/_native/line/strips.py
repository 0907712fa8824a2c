"""Columns in groups of a register's width, and rows in ranges, spread over threads."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from calibrant._native.compile import entry
from calibrant._native.lanes import LANES, load, store
from calibrant._native.threads import in_order

Floats = NDArray[np.float64]
Order = NDArray[np.intp]

Fill: TypeAlias = Callable[[Floats, Floats, int, int | None], None]
"""fill(charges, sums, width, n_threads) adds the sums of `width` columns of charges to sums that are zero.

Both are flat, the columns side by side, in the order of the sorted rows and targets. The charges are followed by as
many zeros as a register may read beyond the last row.
"""


class Matrix(NamedTuple):
    """A matrix as a flat array, with the steps from row to row and from column to column."""

    flat: Any
    row: int
    column: int

    @classmethod
    def of(cls, array: NDArray[Any], dtype: type | None = None) -> "Matrix":
        """Take a matrix whose rows or columns are contiguous without a copy.

        Compiled code would be compiled again for other layouts, and for arrays that are read-only.
        """
        if array.flags.f_contiguous:
            return cls(np.require(array.T, dtype, ["C", "W"]).ravel(), 1, len(array))
        return cls(np.require(array, dtype, ["C", "W"]).ravel(), array.shape[1], 1)


class Room(NamedTuple):
    """Flat arrays for the charges and the sums of some columns, which may be longer than needed."""

    charges: Floats
    sums: Floats


Strip: TypeAlias = Callable[[int, int, Room, int | None], None]
"""strip(first, width, room, n_threads) does what is to be done with some columns; the room's sums are zero."""

Job = TypeVar("Job")
Memory = TypeVar("Memory")

# Large, because a sweep that starts within a box repeats what went before.
_ROWS_A_JOB = 131072


@entry
def _pack(charges: Any, columns: int, order: Any, first: int, width: int, packed: Any) -> None:
    for i in range(len(order)):
        at, start = i * width, order[i] * columns + first
        if width == LANES:
            store(packed, at, load(charges, start))
        else:
            for column in range(width):
                packed[at + column] = charges[start + column]
    packed[len(order) * width :] = 0.0


@entry
def _unpack(sums: Any, columns: int, order: Any, first: int, width: int, result: Any) -> None:
    for i in range(len(order)):
        at, start = order[i] * columns + first, i * width
        if width == LANES:
            store(result, at, load(sums, start))
        else:
            for column in range(width):
                result[at + column] = sums[start + column]


def for_tiles(fill: Fill, charges: Floats, sources: Order, targets: Order, n_threads: int | None) -> Floats:
    """Return the sums (targets, m) of charges (n, m), made by `fill`, in the order in which both were given.

    `sources` and `targets` are the indices that sort them.
    """
    # Compiled code would be compiled again for columns that are not neighbours, and for arrays that are read-only.
    columns = charges.shape[1]
    charges = np.require(charges, np.float64, ["C", "W"]).ravel()
    result = np.empty(len(targets) * columns)

    def task(first: int, width: int, room: Room, n_threads: int | None) -> None:
        _pack(charges, columns, sources, first, width, room.charges)
        fill(room.charges, room.sums, width, n_threads)
        _unpack(room.sums, columns, targets, first, width, result)

    for_strips(task, columns, (len(sources), len(targets)), 1, n_threads)
    return result.reshape(len(targets), columns)


def for_strips(task: Strip, columns: int, sizes: tuple[int, int], lanes: int, n_threads: int | None) -> None:
    """Call task on groups of columns, each of which takes so many lanes, with room for their charges and sums.

    `sizes` are the numbers of sources and targets. A single group is spread over the threads; of several, each is one
    thread's.
    """
    step = LANES // lanes
    spare: list[Room] = []

    def one(first: int, n_threads: int | None = 1) -> None:
        width = min(step, columns - first)
        # Of full width also for the last columns: another group may take it over.
        room = _taken(spare, lambda: _room(sizes, min(step, columns) * lanes))
        room.sums[:] = 0.0
        task(first, width, room, n_threads)
        spare.append(room)

    if columns <= step:
        one(0, n_threads)
    else:
        _run(one, range(0, columns, step), n_threads)


def in_groups(
    task: Callable[[int, Memory], None], columns: int, room: Callable[[], Memory], n_threads: int | None
) -> None:
    """Call task on the first of every `LANES` columns, with memory that no other thread uses at the time."""
    spare: list[Memory] = []

    def one(first: int) -> None:
        memory = _taken(spare, room)
        task(first, memory)
        spare.append(memory)

    _run(one, range(0, columns, LANES), n_threads)


def _taken(spare: list[Memory], room: Callable[[], Memory]) -> Memory:
    """Take the memory that another group has left, because fresh memory costs as much time as the sums."""
    try:
        return spare.pop()
    except IndexError:
        return room()


def _room(sizes: tuple[int, int], width: int) -> Room:
    return Room(np.empty((sizes[0] + LANES) * width + LANES), np.empty(sizes[1] * width))


def for_ranges(task: Callable[[tuple[int, int]], None], n: int, n_threads: int | None, size: int = _ROWS_A_JOB) -> None:
    """Call task on ranges of `size` that cover 0..n - 1."""
    _run(task, [(first, min(first + size, n)) for first in range(0, n, size)], n_threads)


def _run(task: Callable[[Job], None], jobs: Sequence[Job], n_threads: int | None) -> None:
    for _ in in_order(task, jobs, n_threads):
        pass
