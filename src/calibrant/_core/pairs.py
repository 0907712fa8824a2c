r"""Reductions of :math:`H_{ij} = \kappa(d(P_i, P_j) / \ell) \langle A_i, B_j \rangle`, which is never stored; compiled.

Every function takes predictions P (n, K), residuals A (n, C) and, where they differ, B (n, C); a `Kernel`; and the
number of threads, by default one for each processor. Time is O(n^2 (K + C)), memory O(n (K + C)). The result is the
same to the last bit for any number of threads. The caller has checked that arrays are finite float64 of fitting shapes.
"""

import math
from collections.abc import Callable
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core import twin
from calibrant._core.kernel import Kernel, PairSum
from calibrant._core.library import Job, Problem, required
from calibrant._core.packing import Layout, zeros
from calibrant._core.problem import problem_of
from calibrant._core.threads import in_order

Floats = NDArray[np.float64]

_PAIRS_PER_JOB = 2**20
_PAIRS_PER_FORM = 2**18
_COLUMNS_PER_JOB = 4096
_COLUMNS_PER_PRODUCT = 1024
_ROWS_OF_BLOCKS_PER_JOB = 4096
# Up to this size a tile would be mostly padding, and NumPy across the blocks is faster.
_SMALL_BLOCK = 5


class Part(IntEnum):
    """The part of H that counts; the compiled code knows the numbers.

    UPPER also means that H is symmetric, so that the lower triangle follows; UPPER_ONLY leaves it out.
    """

    UPPER = 0
    OFF_DIAGONAL = 1
    ALL = 2
    UPPER_ONLY = 3


def pair_sum(
    P: Floats,
    A: Floats,
    B: Floats | None = None,
    *,
    kernel: Kernel,
    weights: Floats | None = None,
    n_threads: int | None = None,
) -> PairSum:
    r"""Return :math:`\sum_{i<j} w_i w_j H_{ij}` and the mean of :math:`|w_i w_j H_{ij}|` over these pairs."""
    core, layout = _core()
    left, right = _weighted(A, weights), _weighted(B, weights)
    problem = problem_of(kernel, layout.points(P), layout.points(left, right))

    def task(job: Job) -> list[float]:
        sums = np.empty(2)
        core.pair_sum(problem, job, sums)
        return sums.tolist()

    jobs = _jobs(layout, (len(P), len(P)), Part.UPPER, _COLUMNS_PER_JOB)
    signed, unsigned = zip((0.0, 0.0), *in_order(task, jobs, n_threads), strict=True)
    n_pairs = max(len(P) * (len(P) - 1) // 2, 1)
    return PairSum(math.fsum(signed), math.fsum(unsigned) / n_pairs)


def row_sums(
    P: Floats,
    A: Floats,
    B: Floats | None = None,
    *,
    kernel: Kernel,
    weights: Floats | None = None,
    symmetric: bool | None = None,
    n_threads: int | None = None,
) -> Floats:
    r"""Return :math:`\sum_{j \ne i} H_{ij} w_j` for every row i.

    `symmetric` says that <A_i, B_j> = <A_j, B_i>, as for B = A @ G with a symmetric G; it halves the time. By default
    it is true if B is not given.
    """
    layout = _core()[1]
    problem = problem_of(kernel, layout.points(P), layout.points(A, B))
    part = Part.UPPER if _is_symmetric(B, symmetric) else Part.OFF_DIAGONAL
    return _row_sums(problem, (len(P), len(P)), part, weights, n_threads)


def cross_sums(
    P: Floats,
    A: Floats,
    Q: Floats,
    B: Floats,
    *,
    kernel: Kernel,
    weights: Floats | None = None,
    n_threads: int | None = None,
) -> Floats:
    r"""Return :math:`\sum_j \kappa(d(P_i, Q_j) / \ell) \langle A_i, B_j \rangle w_j` for every row i of P (n, K).

    Q (m, K) and B (m, C) are other rows than P and A, and all pairs count.
    """
    layout = _core()[1]
    problem = problem_of(kernel, layout.points(P, Q), layout.points(A, B))
    return _row_sums(problem, (len(P), len(Q)), Part.ALL, weights, n_threads)


def matmul(
    P: Floats,
    A: Floats,
    block: Floats,
    B: Floats | None = None,
    *,
    kernel: Kernel,
    symmetric: bool | None = None,
    n_threads: int | None = None,
) -> tuple[Floats, Floats]:
    """Return the product of H, its diagonal set to zero, with a block of columns (n, width); and the diagonal of H.

    `symmetric` is that of `row_sums`. Memory is five times that of the block, so a long one is better cut into parts of
    100 to 250 columns: narrower ones waste the kernel, of which every call computes all values once.
    """
    layout = _core()[1]
    part = Part.UPPER if _is_symmetric(B, symmetric) else Part.OFF_DIAGONAL
    problem = problem_of(kernel, layout.points(P), layout.points(A, B))
    if block.shape[1] == 1:
        product = _row_sums(problem, (len(P), len(P)), part, block[:, 0], n_threads)[:, None]
    else:
        product = _product(problem, block, part, n_threads)
    return product, np.einsum("ik,ik->i", A, A if B is None else B)


def _product(problem: Problem, block: Floats, part: Part, n_threads: int | None) -> Floats:
    """Return a part of H times a block of columns."""
    core, layout = _core()
    n, width = len(block), layout.padded(block.shape[1])
    panels, transposed = layout.block(block, mirrored=part == Part.UPPER)

    def task(job: Job) -> tuple[Floats, Floats]:
        by_row, by_column = _outputs(job, width)
        core.products(problem, job, width, panels, transposed, by_row, by_column)
        return by_row, by_column

    direct, mirrored = zeros(layout.padded(n) * width), zeros(layout.padded(n) * width * (part == Part.UPPER))
    _gather(task, _jobs(layout, (n, n), part, _COLUMNS_PER_PRODUCT), n_threads, (direct, mirrored))
    return layout.unpacked(direct, mirrored if part == Part.UPPER else None, block.shape)


def quadratic_forms(
    P: Floats,
    A: Floats,
    block: Floats,
    B: Floats | None = None,
    *,
    kernel: Kernel,
    n_threads: int | None = None,
) -> Floats:
    r"""Return :math:`\sum_{i \ne j} c_i c_j H_{ij}` for each column c of a block (n, width), for a symmetric H.

    Only the upper triangle is multiplied, half the arithmetic of a whole product, of which nothing is stored: memory is
    that of the block. Every call computes the kernel, which takes a tenth of the time for 500 columns.
    """
    core, layout = _core()
    problem = problem_of(kernel, layout.points(P), layout.points(A, B))
    strips = layout.strips(block)
    width = strips.shape[0] * layout.strip

    def task(job: Job) -> Floats:
        out = zeros(width)
        core.forms(problem, job, strips.shape[1], width, strips, out)
        return out

    jobs = _jobs(layout, (len(P), len(P)), Part.UPPER_ONLY, _COLUMNS_PER_PRODUCT, _PAIRS_PER_FORM)
    total = np.zeros(width)
    for part in in_order(task, jobs, n_threads):
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
        return np.array([pair_sum(P[b], A[b], right[b], kernel=kernel, n_threads=n_threads).total for b in blocks])
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


def _weighted(residuals: Any, weights: Floats | None) -> Any:
    return residuals if residuals is None or weights is None else residuals * weights[:, None]


def _is_symmetric(B: Floats | None, symmetric: bool | None) -> bool:
    return B is None if symmetric is None else symmetric


def _jobs(layout: Layout, shape: tuple[int, int], part: Part, longest: int, n_pairs: int = _PAIRS_PER_JOB) -> list[Job]:
    """Cut H into rectangles, the same for any number of threads."""
    row_end, column_end = map(layout.padded, shape)
    long = _whole(layout.tile, min(longest, column_end))
    high = _whole(layout.tile, n_pairs // long)
    return [
        Job(row, min(row + high, row_end), column, min(column + long, column_end), part)
        for row in range(0, row_end, high)
        for column in range(row if part in (Part.UPPER, Part.UPPER_ONLY) else 0, column_end, long)
    ]


def _whole(tile: int, n: int) -> int:
    return max(n // tile, 1) * tile


def _row_sums(
    problem: Problem, shape: tuple[int, int], part: Part, weights: Floats | None, n_threads: int | None
) -> Floats:
    core, layout = _core()
    n, m = shape
    padded_weights = zeros(layout.padded(m))
    padded_weights[:m] = 1.0 if weights is None else weights

    def task(job: Job) -> tuple[Floats, Floats]:
        by_row, by_column = _outputs(job, 1)
        core.row_sums(problem, job, padded_weights, by_row, by_column)
        return by_row, by_column

    result = zeros(layout.padded(n))
    _gather(task, _jobs(layout, shape, part, _COLUMNS_PER_JOB), n_threads, (result, result))
    return result[:n]


def _outputs(job: Job, width: int) -> tuple[Floats, Floats]:
    return (
        zeros((job.row_end - job.row) * width),
        zeros((job.column_end - job.column) * width * (job.part == Part.UPPER)),
    )


def _gather(
    task: Callable[[Job], tuple[Floats, Floats]],
    jobs: list[Job],
    n_threads: int | None,
    results: tuple[Floats, Floats],
) -> None:
    """Add what every job finds for its rows and, of a symmetric H, for its columns."""
    for job, (by_row, by_column) in zip(jobs, in_order(task, jobs, n_threads), strict=True):
        width = len(by_row) // (job.row_end - job.row)
        results[0][job.row * width : job.row_end * width] += by_row
        if job.part == Part.UPPER:
            results[1][job.column * width : job.column_end * width] += by_column
