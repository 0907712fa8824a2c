"""Columns in groups that fill a register, and rows in ranges, distributed over threads."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant._core.library import Matrix, required
from calibrant._core.threads import run_all

Fill: TypeAlias = Callable[[FloatArray, FloatArray, int], None]
"""fill(charges, sums, width) adds the sums of `width` columns of charges to `sums`, which are zero before.

Both are flat, row by row, in the order of the sorted rows and targets. The charges are followed by as many zeros as a
register may read beyond the last row.
"""


class Buffers(NamedTuple):
    """Flat arrays for the charges and the sums of some columns, which may be longer than needed."""

    charges: FloatArray
    sums: FloatArray


Task: TypeAlias = Callable[[int, int, Buffers], None]
"""task(first, width, buffers) processes some columns; the sums in the buffers are zero."""

Job = TypeVar("Job")
Memory = TypeVar("Memory")

# Large, because a sweep that starts within a box repeats the rows before it.
_ROWS_PER_JOB = 131072


def for_columns(fill: Fill, charges: FloatArray, sources: IntArray, targets: IntArray) -> FloatArray:
    """Return the sums (targets, m) of charges (n, m), computed by `fill`, with both in their original order.

    `sources` and `targets` are the indices that sort them.
    """
    core, columns = required(), charges.shape[1]
    matrix = Matrix.view(np.asarray(charges, dtype=np.float64))
    result = np.empty((len(targets), columns))

    def task(first: int, width: int, buffers: Buffers) -> None:
        core.pack(matrix, sources, len(sources), first, width, width, buffers.charges)
        fill(buffers.charges, buffers.sums, width)
        core.unpack(buffers.sums, targets, len(targets), first, width, columns, result)

    for_strips(task, columns, (len(sources), len(targets)), 1)
    return result


def for_strips(task: Task, columns: int, sizes: tuple[int, int], lanes: int) -> None:
    """Call task on groups of columns, of which each takes `lanes` lanes, with buffers for their charges and sums.

    `sizes` are the numbers of sources and targets. A single group is distributed over the threads; of several groups,
    each is processed by one thread.
    """
    register = required().lanes
    step = register // lanes
    # Of full width also for the last columns, because another group may reuse the buffers.
    full = min(step, columns) * lanes

    def allocate() -> Buffers:
        return Buffers(np.empty((sizes[0] + register) * full + register), np.empty(sizes[1] * full))

    def one(first: int, memory: Buffers) -> None:
        memory.sums[:] = 0.0
        task(first, min(step, columns - first), memory)

    if columns <= step:
        one(0, allocate())
    else:
        in_groups(one, range(0, columns, step), allocate)


def in_groups(task: Callable[[Job, Memory], None], jobs: Sequence[Job], allocate: Callable[[], Memory]) -> None:
    """Call task on every job, with memory that no other thread uses at the same time.

    Memory of finished jobs is reused: allocating it takes as much time as the sums.
    """
    spare: list[Memory] = []

    def one(job: Job) -> None:
        try:
            memory = spare.pop()
        except IndexError:
            memory = allocate()
        task(job, memory)
        spare.append(memory)

    run_all(one, jobs)


def for_ranges(task: Callable[[tuple[int, int]], None], n: int, size: int = _ROWS_PER_JOB) -> None:
    """Call task on ranges of `size` that cover 0..n - 1."""
    run_all(task, [(first, min(first + size, n)) for first in range(0, n, size)])
