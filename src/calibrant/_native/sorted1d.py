r"""Pair sums for one predicted probability and the exponential kernel, exactly, in O(n log n).

:math:`H_{ij} = r_i r_j \exp(-|p_i - p_j| / \ell)` for numbers p. In sorted order the kernel is a product over the gaps
between i and j, hence :math:`s_i = \sum_{j<i} a_j e^{-(p_i - p_j) / \ell}` obeys
:math:`s_i = (s_{i-1} + a_{i-1}) e^{-(p_i - p_{i-1}) / \ell}`. Every factor is at most 1: nothing overflows or cancels.

Importing this module imports numba: import it inside the function that needs it.
"""

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from calibrant._native.compile import entry
from calibrant._native.threads import in_order

Floats = NDArray[np.float64]

_CHUNK = 4096
_COLUMNS_A_JOB = 64


@entry
def _sum_chunks(order: Any, decay: Any, r: Any, sums: Any) -> None:
    before, last = 0.0, 0.0
    for chunk in range(len(sums)):
        subtotal = 0.0
        for i in range(chunk * _CHUNK, min((chunk + 1) * _CHUNK, len(order))):
            before = (before + last) * decay[i]
            last = r[order[i]]
            subtotal += before * last
        sums[chunk] = subtotal


@entry
def _sum_sides(order: Any, decay: Any, a: Any, out: Any) -> None:
    before, last = 0.0, 0.0
    for i in range(len(order)):
        before = (before + last) * decay[i]
        last = a[order[i]]
        out[order[i]] = before
    after, factor, last = 0.0, 0.0, 0.0
    for i in range(len(order) - 1, -1, -1):
        after = (after + last) * factor
        factor, last = decay[i], a[order[i]]
        out[order[i]] += after


@entry
def _multiply_sides(line: Any, r: Any, block: Any, out: Any, first: int, width: int) -> None:
    """Write H @ block, without the diagonal, for `width` columns."""
    order, decay = line
    side, last, factor = np.zeros(width), np.zeros(width), 0.0
    for i in range(len(order)):
        row, factor = order[i], decay[i]
        for c in range(width):
            side[c] = (side[c] + last[c]) * factor
            out[row, first + c] = side[c]
            last[c] = r[row] * block[row, first + c]
    side[:], last[:], factor = 0.0, 0.0, 0.0
    for i in range(len(order) - 1, -1, -1):
        row = order[i]
        for c in range(width):
            side[c] = (side[c] + last[c]) * factor
            out[row, first + c] = (out[row, first + c] + side[c]) * r[row]
            last[c] = r[row] * block[row, first + c]
        factor = decay[i]


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

    order: NDArray[np.intp]
    decay: Floats

    @classmethod
    def of(cls, p: Floats, lengthscale: float) -> Self:
        """Sort the numbers p (n,), for the kernel exp(-|p_i - p_j| / lengthscale)."""
        order = np.argsort(p)
        decay = np.zeros(len(p))
        exponents = p[order]
        np.subtract(exponents[:-1], exponents[1:], out=decay[1:])
        decay /= lengthscale
        np.exp(decay, out=decay)
        decay[:1] = 0.0
        return cls(order, decay)

    def pair_sum(self, r: Floats) -> float:
        """Return the sum of H over pairs i < j; weights belong into the residuals r (n,)."""
        sums = np.zeros(-(-len(r) // _CHUNK))
        _sum_chunks(self.order, self.decay, r, sums)
        return math.fsum(sums)

    def row_sums(self, r: Floats, weights: Floats | None = None) -> Floats:
        """Return the sum over j != i of H_ij w_j for every row i."""
        sums = np.empty(len(r))
        _sum_sides(self.order, self.decay, r if weights is None else r * weights, sums)
        return sums * r

    def matmul(self, r: Floats, block: Floats, *, n_threads: int | None = None) -> tuple[Floats, Floats]:
        """Return the product of H, its diagonal set to zero, with a block of columns (n, width); and the diagonal."""
        # Compiled code that knows the columns to be neighbours is twice as fast.
        block = np.ascontiguousarray(block)
        product = np.empty(block.shape)

        def task(first: int) -> None:
            width = min(_COLUMNS_A_JOB, block.shape[1] - first)
            _multiply_sides((self.order, self.decay), r, block, product, first, width)

        for _ in in_order(task, range(0, block.shape[1], _COLUMNS_A_JOB), n_threads):
            pass
        return product, r * r
