r"""Pair sums for one predicted probability and the exponential kernel, exactly, in O(n log n).

:math:`H_{ij} = r_i r_j \exp(-|p_i - p_j| / \ell)` for numbers p. In sorted order the kernel is a product over the gaps
between i and j, hence :math:`s_i = \sum_{j<i} a_j e^{-(p_i - p_j) / \ell}` obeys
:math:`s_i = (s_{i-1} + a_{i-1}) e^{-(p_i - p_{i-1}) / \ell}`. Every factor is at most 1: nothing overflows or cancels.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from calibrant._core.library import required
from calibrant._core.threads import run_all

Floats = NDArray[np.float64]

_ROWS_PER_SUM = 4096
_COLUMNS_PER_JOB = 64


@dataclass(frozen=True)
class SortedLine:
    """Numbers in increasing order, with the kernel between neighbours: sorted once, used for many residuals.

    Parameters
    ----------
    order : array of shape (n,)
        The indices that sort the numbers.
    decay : array of shape (n,)
        The kernel between each number, in order, and the one before it; 0 for the first.
    """

    order: NDArray[np.int64]
    decay: Floats

    @classmethod
    def of(cls, p: Floats, lengthscale: float) -> Self:
        """Sort the numbers p (n,), for the kernel exp(-|p_i - p_j| / lengthscale)."""
        order = np.argsort(p).astype(np.int64, copy=False)
        decay = np.zeros(len(p))
        exponents = p[order]
        np.subtract(exponents[:-1], exponents[1:], out=decay[1:])
        decay /= lengthscale
        np.exp(decay, out=decay)
        decay[:1] = 0.0
        return cls(order, decay)

    def pair_sum(self, r: Floats) -> float:
        """Return the sum of H over pairs i < j; weights belong into the residuals r (n,)."""
        sums = np.zeros(-(-len(r) // _ROWS_PER_SUM))
        required().sorted_sum(self.order, self.decay, np.ascontiguousarray(r), len(r), sums)
        return math.fsum(sums)

    def row_sums(self, r: Floats, weights: Floats | None = None) -> Floats:
        """Return the sum over j != i of H_ij w_j for every row i."""
        r, sums = np.ascontiguousarray(r), np.empty(len(r))
        charges = r if weights is None else np.ascontiguousarray(r * weights)
        required().sorted_rows(self.order, self.decay, r, charges, len(r), sums)
        return sums

    def matmul(self, r: Floats, block: Floats, *, n_threads: int | None = None) -> tuple[Floats, Floats]:
        """Return the product of H, its diagonal set to zero, with a block of columns (n, width); and the diagonal."""
        core, (n, columns) = required(), block.shape
        r, block = np.ascontiguousarray(r), np.ascontiguousarray(block, dtype=np.float64)
        product = np.empty(block.shape)

        def task(first: int) -> None:
            width = min(_COLUMNS_PER_JOB, columns - first)
            core.sorted_product(self.order, self.decay, r, n, block, product, columns, first, width)

        run_all(task, range(0, columns, _COLUMNS_PER_JOB), n_threads)
        return product, r * r
