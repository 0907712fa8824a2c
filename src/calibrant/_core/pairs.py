r"""Reductions of :math:`H_{ij} = \kappa(d(P_i, P_j) / \ell) \langle A_i, B_j \rangle`, which is never stored; compiled.

Every function takes predictions P (n, K), residuals A (n, C) and, where they differ, B (n, C); a `Kernel`; and the
number of threads, by default one for each processor. H is symmetric: B = A G with a symmetric G. Time is
O(n^2 (K + C)), memory O(n (K + C)). The result is the same to the last bit for any number of threads. The caller has
checked that arrays are finite float64 of fitting shapes.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core import twin
from calibrant._core.kernel import Kernel
from calibrant._core.library import Job, required
from calibrant._core.packing import Layout, zeros
from calibrant._core.problem import problem_of
from calibrant._core.threads import in_order

Floats = NDArray[np.float64]

_PAIRS_PER_JOB = 2**20
_PAIRS_PER_FORM = 2**18
_COLUMNS_PER_JOB = 4096
_COLUMNS_PER_FORM = 1024
_ROWS_OF_BLOCKS_PER_JOB = 4096
# Up to this size a tile would be mostly padding, and NumPy across the blocks is faster.
_SMALL_BLOCK = 5


def pair_sum(P: Floats, A: Floats, B: Floats | None = None, *, kernel: Kernel, n_threads: int | None = None) -> float:
    r"""Return :math:`\sum_{i<j} H_{ij}`."""
    core, layout = _core()
    problem = problem_of(kernel, layout.points(P), layout.points(A, B))

    def task(job: Job) -> float:
        found = np.empty(1)
        core.pair_sum(problem, job, found)
        return float(found[0])

    return math.fsum(in_order(task, _jobs(layout, len(P), _COLUMNS_PER_JOB), n_threads))


def row_sums(
    P: Floats,
    A: Floats,
    B: Floats | None = None,
    *,
    kernel: Kernel,
    weights: Floats | None = None,
    n_threads: int | None = None,
) -> Floats:
    r"""Return :math:`\sum_{j \ne i} H_{ij} w_j` for every row i; by default all weights are 1."""
    core, layout = _core()
    problem = problem_of(kernel, layout.points(P), layout.points(A, B))
    padded_weights, result = zeros(layout.padded(len(P))), zeros(layout.padded(len(P)))
    padded_weights[: len(P)] = 1.0 if weights is None else weights

    def task(job: Job) -> tuple[Floats, Floats]:
        by_row, by_column = zeros(job.row_end - job.row), zeros(job.column_end - job.column)
        core.row_sums(problem, job, padded_weights, by_row, by_column)
        return by_row, by_column

    jobs = _jobs(layout, len(P), _COLUMNS_PER_JOB)
    for job, (by_row, by_column) in zip(jobs, in_order(task, jobs, n_threads), strict=True):
        result[job.row : job.row_end] += by_row
        result[job.column : job.column_end] += by_column
    return result[: len(P)]


def quadratic_forms(
    P: Floats,
    A: Floats,
    block: Floats,
    B: Floats | None = None,
    *,
    kernel: Kernel,
    n_threads: int | None = None,
) -> Floats:
    r"""Return :math:`\sum_{i \ne j} c_i c_j H_{ij}` for each column c of a block (n, width).

    Nothing of the product is stored: memory is that of the block. Every call computes the kernel, which takes a tenth
    of the time for 500 columns.
    """
    core, layout = _core()
    problem = problem_of(kernel, layout.points(P), layout.points(A, B))
    strips = layout.strips(block)
    width = strips.shape[0] * layout.strip

    def task(job: Job) -> Floats:
        out = zeros(width)
        core.forms(problem, job, strips.shape[1], width, strips, out)
        return out

    total = np.zeros(width)
    for part in in_order(task, _jobs(layout, len(P), _COLUMNS_PER_FORM, _PAIRS_PER_FORM), n_threads):
        total += part
    return 2 * total[: block.shape[1]]


def block_sums(
    P: Floats, A: Floats, B: Floats | None = None, *, kernel: Kernel, blocksize: int, n_threads: int | None = None
) -> Floats:
    r"""Return :math:`\sum_{i<j} H_{ij}` in each of the n // blocksize consecutive blocks; remaining rows are unused.

    A block of at least 4096 rows is shared by the threads, smaller ones are taken by one thread each.
    """
    if blocksize <= _SMALL_BLOCK:
        return twin.block_sums(P, A, B, kernel=kernel, blocksize=blocksize)
    core, layout = _core()
    n_blocks, height, right = len(P) // blocksize, layout.padded(blocksize), A if B is None else B
    if blocksize >= _ROWS_OF_BLOCKS_PER_JOB:
        blocks = [slice(i * blocksize, (i + 1) * blocksize) for i in range(n_blocks)]
        return np.array([pair_sum(P[b], A[b], right[b], kernel=kernel, n_threads=n_threads) for b in blocks])
    step = max(_ROWS_OF_BLOCKS_PER_JOB // height, 1)

    def task(first: int) -> Floats:
        rows = slice(first * blocksize, min(first + step, n_blocks) * blocksize)
        points, left, other = (layout.spaced(X[rows], blocksize) for X in (P, A, right))
        out = np.empty(len(points) // height)
        problem = problem_of(kernel, layout.points(points), layout.points(left, other))
        core.block_sums(problem, height, len(out), out)
        return out

    return np.concatenate([np.zeros(0), *in_order(task, range(0, n_blocks, step), n_threads)])


def _core() -> tuple[Any, Layout]:
    core = required()
    return core, Layout.of(core)


def _jobs(layout: Layout, n: int, longest: int, n_pairs: int = _PAIRS_PER_JOB) -> list[Job]:
    """Cut the upper triangle of H into rectangles, the same for any number of threads."""
    end = layout.padded(n)
    long = _whole(layout.tile, min(longest, end))
    high = _whole(layout.tile, n_pairs // long)
    return [
        Job(row, min(row + high, end), column, min(column + long, end))
        for row in range(0, end, high)
        for column in range(row, end, long)
    ]


def _whole(tile: int, n: int) -> int:
    return max(n // tile, 1) * tile
