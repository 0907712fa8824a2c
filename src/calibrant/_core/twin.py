r"""The reductions of `pairs` in plain NumPy: the oracle of the compiled code, and its replacement where it is missing.

H is computed tile by tile, so that memory is O(n). SciPy computes the distances of a tile four times as fast as NumPy,
which needs three passes per class. Tiles are added in the same order for any number of threads.
"""

import math
from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import TypeVar

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant._core.blocks import slices
from calibrant._core.distances import Kernel, RadialMatrix, by_scipy, distances, radial_value
from calibrant._core.threads import in_order, one_blas_thread

Result = TypeVar("Result")

_TILE = 192
_TILES_PER_JOB = 4


def pair_sum(H: RadialMatrix) -> float:
    r"""Return :math:`\sum_{i<j} H_{ij}`."""

    def reduce(rows: slice, columns: slice, K: FloatArray) -> float:
        return float(np.vdot(H.left[rows], K @ H.other[columns]))

    return math.fsum(found for _, _, found in _reduced(H, reduce))


def row_sums(H: RadialMatrix, *, weights: FloatArray | None = None) -> FloatArray:
    r"""Return :math:`\sum_{j \ne i} H_{ij} w_j` for every row i; by default all weights are 1."""
    charges = H.other if weights is None else H.other * weights[:, None]

    def reduce(rows: slice, columns: slice, K: FloatArray) -> tuple[FloatArray, FloatArray]:
        return K @ charges[columns], K.T @ charges[rows]

    return np.einsum("ic,ic->i", H.left, _product(charges.shape, _reduced(H, reduce)))


def matmul(H: RadialMatrix, block: FloatArray) -> FloatArray:
    """Return the product of H, its diagonal set to zero, with a block of columns (n, width)."""

    def reduce(rows: slice, columns: slice, K: FloatArray) -> tuple[FloatArray, FloatArray]:
        K *= H.left[rows] @ H.other[columns].T
        return K @ block[columns], K.T @ block[rows]

    return _product(block.shape, _reduced(H, reduce))


def quadratic_forms(H: RadialMatrix, block: FloatArray) -> FloatArray:
    r"""Return :math:`\sum_{i \ne j} c_i c_j H_{ij}` for each column c of a block (n, width)."""
    forms = np.zeros(block.shape[1])

    def reduce(rows: slice, columns: slice, K: FloatArray) -> FloatArray:
        K *= H.left[rows] @ H.other[columns].T
        return np.einsum("ib,ib->b", block[rows], K @ block[columns])

    for _, _, found in _reduced(H, reduce):
        forms += found
    return 2 * forms


def block_sums(H: RadialMatrix, blocksize: int) -> FloatArray:
    r"""Return :math:`\sum_{i<j} H_{ij}` in each of the n // blocksize consecutive blocks; remaining rows are unused."""
    n_blocks = H.n // blocksize
    if blocksize > n_blocks:
        blocks = slices(0, n_blocks * blocksize, blocksize)
        return np.array([pair_sum(H.map(itemgetter(rows))) for rows in blocks])
    points, left, right = (
        X[: n_blocks * blocksize].reshape(n_blocks, blocksize, X.shape[1]) for X in (H.points, H.left, H.other)
    )
    result = np.zeros(n_blocks)
    for i in range(blocksize):
        for j in range(i + 1, blocksize):
            summed = _summed(points[:, i], points[:, j], squared=_is_squared(H.kernel))
            result += _radial(H.kernel, summed) * np.einsum("bk,bk->b", left[:, i], right[:, j])
    return result


def columns(H: RadialMatrix, which: IntArray) -> FloatArray:
    """Return some columns of H, (n, m)."""
    K = _radial(H.kernel, distances(H.points, H.points[which], squared=_is_squared(H.kernel)))
    return K * (H.left @ H.other[which].T)


def _reduced(
    H: RadialMatrix, reduce: Callable[[slice, slice, FloatArray], Result]
) -> Iterator[tuple[slice, slice, Result]]:
    """Yield the rows, the columns and the reduced kernel of each tile on and above the diagonal.

    In tiles on the diagonal, the kernel on and below it is set to zero.
    """
    P, kernel = np.ascontiguousarray(H.points), H.kernel
    jobs = [
        (rows, columns)
        for rows in slices(0, len(P), _TILE)
        for columns in slices(rows.start, len(P), _TILE * _TILES_PER_JOB)
    ]

    def task(job: tuple[slice, slice]) -> list[tuple[slice, slice, Result]]:
        rows, found = job[0], []
        for columns in slices(job[1].start, job[1].stop, _TILE):
            K = _radial(kernel, by_scipy(P[rows], P[columns], squared=_is_squared(kernel)))
            found.append((rows, columns, reduce(rows, columns, np.triu(K, 1) if rows == columns else K)))
        return found

    with one_blas_thread():
        for found in in_order(task, jobs):
            yield from found


def _product(shape: tuple[int, ...], tiles: Iterator[tuple[slice, slice, tuple[FloatArray, FloatArray]]]) -> FloatArray:
    """Add up the contributions of every tile, and of its mirror image below the diagonal, to a product."""
    result = np.zeros(shape)
    for rows, columns, (above, below) in tiles:
        result[rows] += above
        result[columns] += below
    return result


def _summed(P: FloatArray, Q: FloatArray, *, squared: bool) -> FloatArray:
    """Return the distance between row i of P and row i of Q, class by class: there are many rows and few classes."""
    total, difference = np.zeros(len(P)), np.empty(len(P))
    for p, q in zip(P.T, Q.T, strict=True):
        np.subtract(p, q, out=difference)
        total += np.square(difference, out=difference) if squared else np.abs(difference, out=difference)
    return total


def _is_squared(kernel: Kernel) -> bool:
    return kernel.distance == "euclidean"


def _radial(kernel: Kernel, u: FloatArray) -> FloatArray:
    """Return the kernel at sums of absolute differences or, for the Euclidean distance, of squares; overwrites them."""
    if _is_squared(kernel):
        np.sqrt(u, out=u)
    scale = 1 / kernel.lengthscale if _is_squared(kernel) else 0.5 / kernel.lengthscale
    if kernel.radial == "exponential":  # The default, in place.
        return np.exp(np.multiply(u, -scale, out=u), out=u)
    return radial_value(kernel.radial, np.multiply(u, scale, out=u), kernel.shape)
