r"""Pair sums for one predicted probability and the exponential kernel, exactly, in O(n log n): compiled, or in NumPy.

:math:`H_{ij} = r_i r_j \exp(-|p_i - p_j| / \ell)` for numbers p. In sorted order the kernel is a product over the gaps
between i and j, hence :math:`s_i = \sum_{j<i} a_j e^{-(p_i - p_j) / \ell}` obeys
:math:`s_i = (s_{i-1} + a_{i-1}) e^{-(p_i - p_{i-1}) / \ell}`. Every factor is at most 1: nothing overflows or cancels.

Notes
-----
Compiled code goes from row to row. In NumPy this would need a Python loop, so the line is halved instead. With
:math:`t_i = s_i + a_i`, two steps of :math:`t_i = a_i + d_i t_{i-1}` are one step of the same form from every second
row to the next, with :math:`a_i + d_i a_{i-1}` in place of :math:`a_i` and the kernel between these two rows in place
of :math:`d_i`. So the odd rows form a line of half the length, and the even ones follow from them. All halvings
together take as long as two passes over the rows.

In each halving a term :math:`a_j e^{-u_{ij}}` takes part in at most a kernel, a product and an addition, on the way
down and on the way up. Each kernel is that of two rows, not a product of others: with the rounding unit
:math:`\varepsilon`, and an exponential accurate to all but the last bit, its relative error is
:math:`2 \varepsilon (1 + u)`. To first order, the error of the sum at row i is therefore at most
:math:`\varepsilon \sum_j |a_j| e^{-u_{ij}} (8 \lceil \log_2 n \rceil + 5 + 2 u_{ij})` and, as :math:`u e^{-u} < 0.4`,
a few hundred :math:`\varepsilon` times :math:`\sum_j |a_j|` for any lengthscale.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from calibrant._border.types import FloatArray
from calibrant._core.library import library
from calibrant._core.threads import run_all

_ROWS_PER_SUM = 4096
_COLUMNS_PER_JOB = 64
# Few enough for all intermediate results to stay in the cache.
_COLUMNS_IN_NUMPY = 16


@dataclass(frozen=True)
class SortedLine:
    """Numbers in increasing order, with the kernel between neighbours: sorted once, used for many residuals.

    Parameters
    ----------
    order : array of shape (n,)
        The indices that sort the numbers.
    x : array of shape (n,)
        The numbers in increasing order.
    lengthscale : float
    """

    order: NDArray[np.int64]
    x: FloatArray
    lengthscale: float

    @classmethod
    def of(cls, p: FloatArray, lengthscale: float) -> Self:
        """Sort the numbers p (n,), for the kernel exp(-|p_i - p_j| / lengthscale)."""
        order = np.argsort(p).astype(np.int64, copy=False)
        return cls(order, p[order], lengthscale)

    def pair_sum(self, r: FloatArray) -> float:
        """Return the sum of H over pairs i < j; weights must be multiplied into the residuals r (n,)."""
        core = library()
        if core is None:
            r = r[self.order]
            return float(np.sum(r * _before(self._halves, r)))
        sums = np.zeros(-(-len(r) // _ROWS_PER_SUM))
        core.sorted_sum(self.order, self.decay, np.ascontiguousarray(r), len(r), sums)
        return math.fsum(sums)

    def row_sums(self, r: FloatArray, weights: FloatArray | None = None) -> FloatArray:
        """Return the sum over j != i of H_ij w_j for every row i."""
        core, charges = library(), r if weights is None else r * weights
        if core is None:
            return r * self._other_rows(charges)
        r, charges, sums = np.ascontiguousarray(r), np.ascontiguousarray(charges), np.empty(len(r))
        core.sorted_rows(self.order, self.decay, r, charges, len(r), sums)
        return sums

    def matmul(self, r: FloatArray, block: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the product of H, its diagonal set to zero, with a block of columns (n, width); and the diagonal."""
        core, (n, columns) = library(), block.shape
        r, block = np.ascontiguousarray(r), np.ascontiguousarray(block, dtype=np.float64)
        product, together = np.empty(block.shape), _COLUMNS_IN_NUMPY if core is None else _COLUMNS_PER_JOB

        def task(first: int) -> None:
            width = min(together, columns - first)
            if core is None:
                some = np.ascontiguousarray(block[:, first : first + width].T)
                product[:, first : first + width] = (r * self._other_rows(r * some)).T
            else:
                core.sorted_product(self.order, self.decay, r, n, block, product, columns, first, width)

        run_all(task, range(0, columns, together))
        return product, r * r

    @cached_property
    def decay(self) -> FloatArray:
        """The kernel between each number, in order, and the one before it; 0 for the first."""
        return _decay(self.x, self.lengthscale)

    @cached_property
    def _halves(self) -> list[FloatArray]:
        return _halves(self.x, self.lengthscale)

    @cached_property
    def _mirrored_halves(self) -> list[FloatArray]:
        return _halves(-self.x[::-1], self.lengthscale)

    @cached_property
    def _ranks(self) -> NDArray[np.int64]:
        """The rank of every row."""
        ranks = np.empty_like(self.order)
        ranks[self.order] = np.arange(len(ranks))
        return ranks

    def _other_rows(self, charges: FloatArray) -> FloatArray:
        """Return the sums of charges (..., n) times the kernel over all other rows, (..., n)."""
        charges = charges.take(self.order, axis=-1)
        sums = _before(self._halves, charges)
        sums += _before(self._mirrored_halves, charges[..., ::-1])[..., ::-1]
        return sums.take(self._ranks, axis=-1)


def _decay(x: FloatArray, lengthscale: float) -> FloatArray:
    decay = np.zeros(len(x))
    np.subtract(x[:-1], x[1:], out=decay[1:])
    decay /= lengthscale
    np.exp(decay, out=decay)
    decay[:1] = 0.0
    return decay


def _halves(x: FloatArray, lengthscale: float) -> list[FloatArray]:
    """Return the decay of sorted numbers, of every second of them, of every second of these, and so on."""
    found = [_decay(x, lengthscale)]
    while len(x := x[1::2]):
        found.append(_decay(x, lengthscale))
    return found


def _before(halves: Sequence[FloatArray], charges: FloatArray) -> FloatArray:
    """Return the sums of charges (..., n) times the kernel over all rows before each row, (..., n)."""
    sums = np.zeros(charges.shape)
    np.multiply(halves[0][1:], _up_to(halves, charges)[..., :-1], out=sums[..., 1:])
    return sums


def _up_to(halves: Sequence[FloatArray], charges: FloatArray) -> FloatArray:
    """Return the same sums including each row itself."""
    if charges.shape[-1] <= 1:
        return charges
    decay, sums = halves[0], charges.copy()
    sums[..., 1::2] = _up_to(halves[1:], charges[..., 1::2] + decay[1::2] * charges[..., :-1:2])
    sums[..., 2::2] += decay[2::2] * sums[..., 1:-1:2]
    return sums
