"""Operations on the rows of a large matrix, in blocks that fit into the cache with their intermediate results."""

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from calibrant._border.types import FloatArray
from calibrant._core.threads import in_order

Result = TypeVar("Result")

BLOCK = 16384
"""Entries of a block: 128 kB, which is also the limit up to which memory is allocated without a system call."""

_ROUNDING = 1e-13

_MANY_ENTRIES = 1 << 22
"""Below this many entries, a few operations on each take less time than starting other threads."""

FEW_CLASSES = 32
"""Below this many classes, NumPy is faster column by column than along the rows."""


def slices(start: int, end: int, step: int) -> list[slice]:
    """Cut a range into slices of `step`, the last of which may be shorter.

    Examples
    --------
    >>> slices(0, 5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return [slice(first, min(first + step, end)) for first in range(start, end, step)]


def by_blocks(
    task: Callable[[slice], Result], shape: tuple[int, ...], *, entries: int = BLOCK, n_threads: int | None = None
) -> Iterator[Result]:
    """Yield task(rows) for every block of rows, in order; the blocks do not depend on the number of threads."""
    return in_order(task, slices(0, shape[0], max(1, entries // shape[1])), n_threads)


def each_block(
    task: Callable[[slice], None], shape: tuple[int, ...], *, entries: int = BLOCK, n_threads: int | None = None
) -> None:
    """Run task(rows) for every block of rows."""
    for _ in by_blocks(task, shape, entries=entries, n_threads=n_threads):
        pass


def add_blocks(
    task: Callable[[slice], FloatArray], shape: tuple[int, ...], *, entries: int = BLOCK, n_threads: int | None = None
) -> FloatArray:
    """Return the sum of task(rows) over all blocks of rows."""
    if shape[0] * shape[1] <= entries:
        return task(slice(shape[0]))
    results = by_blocks(task, shape, entries=entries, n_threads=n_threads)
    total = next(results)
    for result in results:
        total += result
    return total


_MOST_KEPT = 1 << 23
"""At most this many numbers (64 MB) are kept from one pass over the rows to the next."""


class KeptBlocks:
    """A function of a block of rows, whose results are kept for later passes if they fit into memory.

    Parameters
    ----------
    make : callable
        Returns an array for a slice of rows.
    n_numbers : int
        Number of entries of the arrays of all blocks.
    """

    def __init__(self, make: Callable[[slice], FloatArray], n_numbers: int) -> None:
        self._make = make
        self._kept: dict[int, FloatArray] | None = {} if n_numbers <= _MOST_KEPT else None

    def __call__(self, rows: slice) -> FloatArray:
        """Return the array of some rows."""
        if self._kept is None:
            return self._make(rows)
        if rows.start not in self._kept:
            self._kept[rows.start] = self._make(rows)
        return self._kept[rows.start]


def threads_for(shape: tuple[int, ...]) -> int | None:
    """Return the number of threads for a few operations on every entry: 1, or None for all available."""
    return None if shape[0] * shape[1] >= _MANY_ENTRIES else 1


def over_classes(operation: np.ufunc, values: FloatArray) -> FloatArray:
    """Reduce every row by a ufunc such as np.add, and keep the axis: (n, K) to (n, 1)."""
    if values.shape[1] >= FEW_CLASSES:
        return operation.reduce(values, axis=1, keepdims=True)
    result = values[:, :1].copy()
    for k in range(1, values.shape[1]):
        operation(result, values[:, k : k + 1], out=result)
    return result


def logarithms(values: FloatArray) -> FloatArray:
    """Return the logarithm of every entry; -inf for 0."""
    found = np.empty(values.shape)

    def task(rows: slice) -> None:
        with np.errstate(divide="ignore"):  # Here, because it applies to the current thread only.
            np.log(values[rows], out=found[rows])

    each_block(task, values.shape, entries=_MANY_ENTRIES // 4, n_threads=threads_for(values.shape))
    return found


def softmax(scores: FloatArray, out: FloatArray | None = None) -> FloatArray:
    """Return the softmax of every row, in `out` if it is given; -inf marks an impossible class."""
    probs = np.empty(scores.shape) if out is None else out

    def task(rows: slice) -> None:
        p = probs[rows]
        np.subtract(scores[rows], over_classes(np.maximum, scores[rows]), out=p)
        np.exp(p, out=p)
        p *= 1.0 / over_classes(np.add, p)

    each_block(task, scores.shape, n_threads=threads_for(scores.shape))
    return probs


def log_softmax(scores: FloatArray, out: FloatArray | None = None) -> FloatArray:
    """Return the logarithm of the softmax of every row, in `out` if it is given; -inf marks an impossible class."""
    log_probs = np.empty(scores.shape) if out is None else out

    def task(rows: slice) -> None:
        log_p = log_probs[rows]
        np.subtract(scores[rows], over_classes(np.maximum, scores[rows]), out=log_p)
        log_p -= np.log(over_classes(np.add, np.exp(log_p)))

    each_block(task, scores.shape, n_threads=threads_for(scores.shape))
    return log_probs


def keep_argmax(before: FloatArray, after: FloatArray) -> FloatArray:
    """Restore the position of the largest entry of every row, in place, where only rounding has changed it."""
    top, found = np.empty((2, len(before)), dtype=np.int64)
    for some in slices(0, len(before), max(1, BLOCK // before.shape[1])):  # Since NumPy copies read-only arrays.
        before[some].argmax(axis=1, out=top[some])
        after[some].argmax(axis=1, out=found[some])
    rows = np.flatnonzero(top != found)
    if len(rows):
        largest = after[rows, found[rows]]
        close = np.abs(largest - after[rows, top[rows]]) <= _ROUNDING * np.abs(largest)
        after[rows[close], top[rows[close]]] = np.nextafter(largest[close], np.inf)
    return after
