"""Reductions of a `RadialMatrix` H, which is never stored; compiled.

For K classes and C residuals, time is O(n^2 (K + C)), memory O(n (K + C)). The result is the same to the last bit for
any number of threads. The caller has checked that arrays are finite float64 of fitting shapes.
"""

import math
from operator import itemgetter

import numpy as np

from calibrant._border.types import FloatArray
from calibrant._core import twin
from calibrant._core.blocks import slices
from calibrant._core.distances import Kernel, RadialMatrix
from calibrant._core.library import Job, Points, Problem, required
from calibrant._core.packing import padded, points_of, spaced, strips_of, zeros
from calibrant._core.threads import in_order

# The numbers that identify in compiled code how distances are summed, the power of a sum, and the function of it.
OVERLAP, DIFFERENCE, SQUARED, MINIMA = range(4)
AS_IT_IS, ROOT, SQUARE = range(3)
_PROFILES = {
    "exponential": 0,
    "gaussian": 0,
    "matern32": 1,
    "matern52": 2,
    "gamma-exponential": 3,
    "rational-quadratic": 4,
}
# Radial functions of the squared distance. One takes either, with its own exponent; all others take the distance.
_OF_SQUARE, _OF_EITHER = {"gaussian", "rational-quadratic"}, "gamma-exponential"


def problem_of(H: RadialMatrix) -> Problem:
    """Return all parameters of H for the compiled code."""
    distance = _distance(H.kernel, H.points)
    power, scale, shape = _scaling(H.kernel, squared=distance == SQUARED)
    return Problem.of(
        points=_points(H.kernel, distance, H.points),
        residuals=points_of(H.left, H.right),
        distance=distance,
        power=power,
        profile=_PROFILES[H.kernel.radial],
        scale=scale,
        shape=shape,
    )


def _distance(kernel: Kernel, P: FloatArray) -> int:
    if kernel.distance == "euclidean":
        return SQUARED
    largest = np.einsum("ij->i", np.abs(P)).max(initial=0.0)  # Three times as quick as `sum`.
    # Products of minima need no exponential per pair, but must not overflow.
    if kernel.radial == "exponential" and largest <= 100 * kernel.lengthscale:
        return MINIMA
    # The sum of minima takes two instructions per class instead of three, but its rounding error is absolute.
    # If the lengthscale is small, or the slope at 0 infinite, differences are summed.
    steep = kernel.radial == _OF_EITHER and kernel.shape < 1
    return DIFFERENCE if steep or largest > 1000 * kernel.lengthscale else OVERLAP


def _points(kernel: Kernel, distance: int, P: FloatArray) -> Points:
    """Return the predictions or, for products of minima, their exponentials, and their totals over the classes."""
    core = required()
    if distance == MINIMA:
        powers = zeros(padded(len(P)) * P.shape[1])
        np.divide(P, kernel.lengthscale, out=powers[: P.size].reshape(P.shape))
        core.exp(powers, len(powers))
        P = powers.reshape(-1, P.shape[1])
    points = points_of(P)
    core.totals(distance, points, padded(len(P)))
    return points


def _scaling(kernel: Kernel, *, squared: bool) -> tuple[int, float, float]:
    """Return the power of the summed distance, the factor that follows it, and the shape, for the profile."""
    # Sums are twice the total variation, or the squared Euclidean distance.
    unit = kernel.lengthscale if squared else 2 * kernel.lengthscale
    if kernel.radial == _OF_EITHER:
        scale, shape = (unit**-2, kernel.shape / 2) if squared else (1 / unit, kernel.shape)
        return AS_IT_IS, scale, shape
    if kernel.radial in _OF_SQUARE:
        factor = -0.5 if kernel.radial == "gaussian" else 0.5 / kernel.shape
        return AS_IT_IS if squared else SQUARE, factor * unit**-2, kernel.shape
    factor = {"exponential": -1.0, "matern32": -math.sqrt(3), "matern52": -math.sqrt(5)}[kernel.radial]
    return ROOT if squared else AS_IT_IS, factor / unit, kernel.shape


_PAIRS_PER_JOB = 2**20
_PAIRS_PER_FORM = 2**18
_COLUMNS_PER_JOB = 4096
_COLUMNS_PER_FORM = 1024
_ROWS_OF_BLOCKS_PER_JOB = 4096
# Fewer blocks than this, one per job, would leave threads without work; blocks of this size are worth splitting.
_FEW_BLOCKS, _LARGE_BLOCK = 8, 2048
# Largest number of entries per job of blocks, of which a few padded copies are made.
_CELLS_OF_BLOCKS_PER_JOB = 2**18
# Up to this size a tile would be mostly padding, and NumPy across the blocks is faster.
_SMALL_BLOCK = 5


def pair_sum(H: RadialMatrix) -> float:
    r"""Return :math:`\sum_{i<j} H_{ij}`."""
    problem = problem_of(H)

    def task(job: Job) -> float:
        found = np.empty(1)
        required().pair_sum(problem, job, found)
        return float(found[0])

    return math.fsum(in_order(task, _jobs(H.n, _COLUMNS_PER_JOB)))


def row_sums(H: RadialMatrix, *, weights: FloatArray | None = None) -> FloatArray:
    r"""Return :math:`\sum_{j \ne i} H_{ij} w_j` for every row i; by default all weights are 1."""
    problem = problem_of(H)
    padded_weights, result = zeros(padded(H.n)), zeros(padded(H.n))
    padded_weights[: H.n] = 1.0 if weights is None else weights

    def task(job: Job) -> tuple[FloatArray, FloatArray]:
        by_row, by_column = zeros(job.row_end - job.row), zeros(job.column_end - job.column)
        required().row_sums(problem, job, padded_weights, by_row, by_column)
        return by_row, by_column

    jobs = _jobs(H.n, _COLUMNS_PER_JOB)
    for job, (by_row, by_column) in zip(jobs, in_order(task, jobs), strict=True):
        result[job.row : job.row_end] += by_row
        result[job.column : job.column_end] += by_column
    return result[: H.n]


def quadratic_forms(H: RadialMatrix, block: FloatArray) -> FloatArray:
    r"""Return :math:`\sum_{i \ne j} c_i c_j H_{ij}` for each column c of a block (n, width).

    The product is not stored: memory is that of the block. Every call computes the kernel, which for 500 columns takes
    a tenth of the time.
    """
    problem, strips = problem_of(H), strips_of(block)
    width = strips.shape[0] * strips.shape[2]

    def task(job: Job) -> FloatArray:
        out = zeros(width)
        required().forms(problem, job, strips.shape[1], width, strips, out)
        return out

    total = np.zeros(width)
    for part in in_order(task, _jobs(H.n, _COLUMNS_PER_FORM, _PAIRS_PER_FORM)):
        total += part
    return 2 * total[: block.shape[1]]


def block_sums(H: RadialMatrix, blocksize: int) -> FloatArray:
    r"""Return :math:`\sum_{i<j} H_{ij}` in each of the n // blocksize consecutive blocks; remaining rows are unused.

    Blocks of at least 4096 rows, or of at least 2048 if there are fewer than 8, are each split among the threads;
    smaller ones are computed by one thread each.
    """
    if blocksize <= _SMALL_BLOCK:
        return twin.block_sums(H, blocksize)
    n_blocks, height = H.n // blocksize, padded(blocksize)
    if blocksize >= (_LARGE_BLOCK if n_blocks < _FEW_BLOCKS else _ROWS_OF_BLOCKS_PER_JOB):
        blocks = slices(0, n_blocks * blocksize, blocksize)
        return np.array([pair_sum(H.map(itemgetter(rows))) for rows in blocks])
    step = max(min(_ROWS_OF_BLOCKS_PER_JOB, _CELLS_OF_BLOCKS_PER_JOB // H.points.shape[1]) // height, 1)

    def task(first: int) -> FloatArray:
        rows = slice(first * blocksize, min(first + step, n_blocks) * blocksize)
        some = H.map(lambda part: spaced(part[rows], blocksize))
        out = np.empty(some.n // height)
        required().block_sums(problem_of(some), height, len(out), out)
        return out

    return np.concatenate([np.zeros(0), *in_order(task, range(0, n_blocks, step))])


def _jobs(n: int, longest: int, n_pairs: int = _PAIRS_PER_JOB) -> list[Job]:
    """Cut the upper triangle of H into rectangles, the same for any number of threads."""
    end = padded(n)
    long = _whole_tiles(min(longest, end))
    high = _whole_tiles(n_pairs // long)
    return [
        Job(row, min(row + high, end), column, min(column + long, end))
        for row in range(0, end, high)
        for column in range(row, end, long)
    ]


def _whole_tiles(n: int) -> int:
    tile = required().tile
    return max(n // tile, 1) * tile
