r"""The same reductions as in `pairs`, in plain NumPy: the oracle of the compiled code, and the faster one for few rows.

Tile by tile, so that memory is O(n); one thread.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from calibrant._core.distances import distances
from calibrant._core.kernel import Kernel

Floats = NDArray[np.float64]

_TILE = 128


def pair_sum(
    P: Floats,
    A: Floats,
    B: Floats | None = None,
    *,
    kernel: Kernel,
    n_threads: int | None = None,  # noqa: ARG001  # the signature of the compiled twin
) -> float:
    r"""Return :math:`\sum_{i<j} H_{ij}`."""
    return float(np.sum([0.0, *(H.sum() for _, _, H in _upper_tiles(kernel, P, A, B))]))


def row_sums(
    P: Floats,
    A: Floats,
    B: Floats | None = None,
    *,
    kernel: Kernel,
    weights: Floats | None = None,
    n_threads: int | None = None,  # noqa: ARG001  # the signature of the compiled twin
) -> Floats:
    r"""Return :math:`\sum_{j \ne i} H_{ij} w_j` for every row i; by default all weights are 1."""
    w = np.ones(len(P)) if weights is None else weights
    return matmul(P, A, w[:, None], B, kernel=kernel)[:, 0]


def matmul(P: Floats, A: Floats, block: Floats, B: Floats | None = None, *, kernel: Kernel) -> Floats:
    """Return the product of H, its diagonal set to zero, with a block of columns (n, width)."""
    result = np.zeros(block.shape)
    for rows, columns, H in _upper_tiles(kernel, P, A, B):
        result[rows] += H @ block[columns]
        result[columns] += H.T @ block[rows]
    return result


def quadratic_forms(
    P: Floats,
    A: Floats,
    block: Floats,
    B: Floats | None = None,
    *,
    kernel: Kernel,
    n_threads: int | None = None,  # noqa: ARG001  # the signature of the compiled twin
) -> Floats:
    r"""Return :math:`\sum_{i \ne j} c_i c_j H_{ij}` for each column c of a block (n, width)."""
    forms = np.zeros(block.shape[1])
    for rows, columns, H in _upper_tiles(kernel, P, A, B):
        forms += np.einsum("ib,ib->b", block[rows], H @ block[columns])
    return 2 * forms


def block_sums(
    P: Floats,
    A: Floats,
    B: Floats | None = None,
    *,
    kernel: Kernel,
    blocksize: int,
    n_threads: int | None = None,  # noqa: ARG001  # the signature of the compiled twin
) -> Floats:
    r"""Return :math:`\sum_{i<j} H_{ij}` in each of the n // blocksize consecutive blocks; remaining rows are unused."""
    n_blocks = len(P) // blocksize
    points, left, right = (
        X[: n_blocks * blocksize].reshape(n_blocks, blocksize, X.shape[1]) for X in (P, A, A if B is None else B)
    )
    if blocksize > n_blocks:
        return np.array([pair_sum(*block, kernel=kernel) for block in zip(points, left, right, strict=True)])
    result = np.zeros(n_blocks)
    for i in range(blocksize):
        for j in range(i + 1, blocksize):
            d = _summed_differences(kernel, points[:, i].T, points[:, j].T)
            result += _radial(kernel, d) * np.einsum("bk,bk->b", left[:, i], right[:, j])
    return result


def rectangle(P: Floats, A: Floats, Q: Floats, B: Floats, *, kernel: Kernel) -> Floats:
    r"""Return :math:`\kappa(d(P_i, Q_j) / \ell) \langle A_i, B_j \rangle` for all rows i and j, as an array."""
    squared = kernel.distance == "euclidean"
    found = distances(P, Q, squared=squared)
    return _radial(kernel, (np.sqrt(found) if squared else 0.5 * found) / kernel.lengthscale) * (A @ B.T)


def _tiles(start: int, end: int) -> Iterator[slice]:
    return (slice(first, min(first + _TILE, end)) for first in range(start, end, _TILE))


def _upper_tiles(kernel: Kernel, P: Floats, A: Floats, B: Floats | None) -> Iterator[tuple[slice, slice, Floats]]:
    """Yield the tiles of H above the diagonal; in those that it cuts, the rest is zero."""
    other = A if B is None else B
    for rows in _tiles(0, len(P)):
        for columns in _tiles(rows.start, len(P)):
            H = _tile(kernel, P[rows], P[columns], A[rows] @ other[columns].T)
            yield rows, columns, np.triu(H, 1) if rows == columns else H


def _tile(kernel: Kernel, P: Floats, Q: Floats, products: Floats) -> Floats:
    return _radial(kernel, _summed_differences(kernel, P.T[:, :, None], Q.T[:, None, :])) * products


def _summed_differences(kernel: Kernel, P: Floats, Q: Floats) -> Floats:
    """Return the distances d / lengthscale; classes come first, the other axes are broadcast."""
    total = np.zeros(np.broadcast_shapes(P.shape[1:], Q.shape[1:]))
    difference = np.empty_like(total)
    for p, q in zip(P, Q, strict=True):
        np.subtract(p, q, out=difference)
        np.abs(difference, out=difference) if kernel.distance == "total-variation" else np.square(
            difference, out=difference
        )
        total += difference
    total = 0.5 * total if kernel.distance == "total-variation" else np.sqrt(total)
    return total / kernel.lengthscale


def _radial(kernel: Kernel, u: Floats) -> Floats:
    a = kernel.shape
    match kernel.radial:
        case "exponential":
            return np.exp(-u)
        case "gaussian":
            return np.exp(-(u**2) / 2)
        case "gamma-exponential":
            return np.exp(-(u**a))
        case "matern32":
            return (1 + np.sqrt(3) * u) * np.exp(-np.sqrt(3) * u)
        case "matern52":
            return (1 + np.sqrt(5) * u + 5 * u**2 / 3) * np.exp(-np.sqrt(5) * u)
        case "rational-quadratic":
            return (1 + u**2 / (2 * a)) ** -a
