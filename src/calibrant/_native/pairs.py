r"""Reductions of :math:`H_{ij} = \kappa(d(P_i, P_j) / \ell) \langle A_i, B_j \rangle`, which is never stored; compiled.

Every function takes predictions P (n, K), residuals A (n, C) and, where they differ, B (n, C); a `Kernel`; and the
number of threads, by default one for each processor. Time is O(n^2 (K + C)), memory O(n (K + C)). The result is the
same to the last bit for any number of threads. The caller has checked that arrays are finite float64 of fitting shapes.

Importing this module imports numba: import it inside the function that needs it.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._native import twin
from calibrant._native.jobs import (
    ALL,
    OFF_DIAGONAL,
    UPPER,
    UPPER_ONLY,
    Job,
    block_job,
    form_job,
    product_job,
    row_job,
    sum_job,
)
from calibrant._native.kernel import Kernel, PairSum
from calibrant._native.packing import (
    Room,
    pack,
    pack_block,
    pack_strips,
    padded,
    problem_of,
    spaced,
    unpack_block,
    zeros,
)
from calibrant._native.threads import in_order
from calibrant._native.tiles import TILE, Problem

Floats = NDArray[np.float64]

_PAIRS_A_JOB = 2**20
_PAIRS_A_FORM = 2**18
_COLUMNS_A_JOB = 4096
_COLUMNS_A_PRODUCT = 1024
_ROWS_OF_BLOCKS_A_JOB = 4096
# Up to this size a tile would be mostly padding, and NumPy across the blocks is faster.
_SMALL_BLOCK = 5


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
    left, right = _weighted(A, weights), _weighted(B, weights)
    problem = problem_of(kernel, pack(P), pack(left, right))
    room = Room()
    jobs = _jobs(len(P), len(P), UPPER, _COLUMNS_A_JOB)
    parts = list(in_order(lambda job: sum_job(problem, job, room.scratch), jobs, n_threads))
    n_pairs = max(len(P) * (len(P) - 1) // 2, 1)
    return PairSum(math.fsum(part[0] for part in parts), math.fsum(part[1] for part in parts) / n_pairs)


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
    problem = problem_of(kernel, pack(P), pack(A, B))
    part = UPPER if _is_symmetric(B, symmetric) else OFF_DIAGONAL
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
    problem = problem_of(kernel, pack(P, Q), pack(A, B))
    return _row_sums(problem, (len(P), len(Q)), ALL, weights, n_threads)


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
    part = UPPER if _is_symmetric(B, symmetric) else OFF_DIAGONAL
    problem = problem_of(kernel, pack(P), pack(A, B))
    if block.shape[1] == 1:
        product = _row_sums(problem, (len(P), len(P)), part, block[:, 0], n_threads)[:, None]
    else:
        product = _product(problem, block, part, n_threads)
    return product, np.einsum("ik,ik->i", A, A if B is None else B)


def _product(problem: Problem, block: Floats, part: int, n_threads: int | None) -> Floats:
    """Return a part of H times a block of columns."""
    n = len(block)
    blocks, width = pack_block(block, mirrored=part == UPPER)
    room = Room()

    def task(job: Job) -> tuple[Floats, Floats]:
        outs = _outputs(job, width)
        product_job(problem, job, room.scratch, blocks, outs)
        return outs

    results = zeros(padded(n) * width), zeros(padded(n) * width if part == UPPER else 0)
    _gather(task, _jobs(n, n, part, _COLUMNS_A_PRODUCT), n_threads, results)
    return unpack_block((results[0], results[1] if part == UPPER else None), block.shape)


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
    problem = problem_of(kernel, pack(P), pack(A, B))
    strips, width = pack_strips(block)
    room = Room()

    def task(job: Job) -> Floats:
        out = zeros(width)
        form_job(problem, job, room.scratch, strips, out)
        return out

    jobs = _jobs(len(P), len(P), UPPER_ONLY, _COLUMNS_A_PRODUCT, _PAIRS_A_FORM)
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
    n_blocks, height, right = len(P) // blocksize, padded(blocksize), A if B is None else B
    if blocksize >= _ROWS_OF_BLOCKS_A_JOB:
        blocks = [slice(i * blocksize, (i + 1) * blocksize) for i in range(n_blocks)]
        return np.array([pair_sum(P[b], A[b], right[b], kernel=kernel, n_threads=n_threads).total for b in blocks])
    step = max(_ROWS_OF_BLOCKS_A_JOB // height, 1)
    room = Room()

    def task(first: int) -> Floats:
        rows = slice(first * blocksize, min(first + step, n_blocks) * blocksize)
        points, left, other = (spaced(X[rows], blocksize) for X in (P, A, right))
        out = np.zeros(len(points) // height)
        block_job(problem_of(kernel, pack(points), pack(left, other)), height, room.scratch, out)
        return out

    return np.concatenate([np.zeros(0), *in_order(task, range(0, n_blocks, step), n_threads)])


def _weighted(residuals: Any, weights: Floats | None) -> Any:
    return residuals if residuals is None or weights is None else residuals * weights[:, None]


def _is_symmetric(B: Floats | None, symmetric: bool | None) -> bool:
    return B is None if symmetric is None else symmetric


def _jobs(n_rows: int, n_columns: int, part: int, longest: int, n_pairs: int = _PAIRS_A_JOB) -> list[Job]:
    """Cut H into rectangles, the same for any number of threads."""
    row_end, column_end = padded(n_rows), padded(n_columns)
    long = _whole_tiles(min(longest, column_end))
    high = _whole_tiles(n_pairs // long)
    return [
        Job(row, min(row + high, row_end), column, min(column + long, column_end), part)
        for row in range(0, row_end, high)
        for column in range(row if part in (UPPER, UPPER_ONLY) else 0, column_end, long)
    ]


def _whole_tiles(n: int) -> int:
    return max(n // TILE, 1) * TILE


def _row_sums(
    problem: Problem, shape: tuple[int, int], part: int, weights: Floats | None, n_threads: int | None
) -> Floats:
    n, m = shape
    padded_weights = zeros(padded(m))
    padded_weights[:m] = 1.0 if weights is None else weights
    room = Room()

    def task(job: Job) -> tuple[Floats, Floats]:
        by_row, by_column = _outputs(job, 1)
        row_job(problem, job, room.scratch, padded_weights, by_row, by_column)
        return by_row, by_column

    result = zeros(padded(n))
    _gather(task, _jobs(n, m, part, _COLUMNS_A_JOB), n_threads, (result, result))
    return result[:n]


def _outputs(job: Job, width: int) -> tuple[Floats, Floats]:
    return zeros((job.row_end - job.row) * width), zeros((job.column_end - job.column) * width * (job.part == UPPER))


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
        if job.part == UPPER:
            results[1][job.column * width : job.column_end * width] += by_column
