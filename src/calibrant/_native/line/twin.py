r"""The same sums as in `sums` and `beta`, in plain NumPy: the oracle of the compiled code, and quicker than compiling.

Every pair is evaluated, some rows at a time, so that memory is O(n).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from calibrant._native.line.boxes import Line
from calibrant._native.line.kernels import KERNELS

Floats = NDArray[np.float64]

_PAIRS_AT_A_TIME = 2**15


@dataclass(frozen=True, eq=False)
class PlainSums:
    """Sums over the rows of a line with any kernel, "beta" among them; see `KernelSums` for the rest."""

    line: Line
    bandwidth: Any  # A number; several, of shape (B, 1, 1), for all pairs at once.
    kernel: str = "gaussian"
    reflect: bool = True

    def leave_one_out(self, charges: Floats) -> Floats:
        """Return, for every row, the sums over all other rows."""
        return self._sums(self._positions, charges, leave_out=True)

    def at(self, points: Floats, charges: Floats) -> Floats:
        """Return the sums over all rows, at points (g,) in [0, 1]."""
        return self._sums(points, charges, leave_out=False)

    def peak(self, points: Floats) -> Floats:
        """Return the kernel at distance 0 from the points."""
        if self.kernel == "beta":
            return _beta(points, points, self.bandwidth)
        return np.ones(len(points))

    def all_pairs(self) -> Floats:
        """Return the kernel between all rows."""
        return self._kernel(self._positions[:, None])

    @cached_property
    def _positions(self) -> Floats:
        positions = np.empty(len(self.line))
        positions[self.line.order] = self.line.x
        return positions

    def _sums(self, points: Floats, charges: Floats, *, leave_out: bool) -> Floats:
        out = np.empty((len(points), charges.shape[1]))
        step = max(_PAIRS_AT_A_TIME // max(len(self.line), 1), 1)
        for first in range(0, len(points), step):
            K = self._kernel(points[first : first + step, None])
            if leave_out:
                rows = np.arange(len(K))
                K[rows, rows + first] = 0.0
            out[first : first + step] = K @ charges
        return out

    def _kernel(self, a: Floats) -> Floats:
        b, h = self._positions, self.bandwidth
        if self.kernel == "beta":
            return _beta(a, b, h)
        kernel = KERNELS[self.kernel]
        K = kernel.at((a - b) / h)
        if self.reflect:
            K += kernel.at((a + b) / h)
            K += kernel.at((a - (2 - b)) / h)
        return K


def can_be_joined(several: Sequence[object]) -> TypeGuard[Sequence[PlainSums]]:
    """Tell whether sums over one line, but for their bandwidths, are few enough to be made together."""
    first = several[0]
    return isinstance(first, PlainSums) and len(first.line) ** 2 <= _PAIRS_AT_A_TIME


def leave_one_out_of_each(several: Sequence[PlainSums], charges: Floats) -> Floats:
    """Return the sums over all other rows, (B, n, m), of B sums over one line that differ in their bandwidths."""
    bandwidths = np.array([sums.bandwidth for sums in several])[:, None, None]
    K = replace(several[0], bandwidth=bandwidths).all_pairs()
    rows = np.arange(K.shape[1])
    K[:, rows, rows] = 0.0
    return K @ charges


def _beta(z: Floats, a: Floats, bandwidth: float) -> Floats:
    """Return the density at z of the Beta distribution with parameters a / b + 1 and (1 - a) / b + 1."""
    from scipy.special import betaln, xlog1py, xlogy

    left, right = a / bandwidth, (1 - a) / bandwidth
    return np.exp(xlogy(left, z) + xlog1py(right, -z) - betaln(left + 1, right + 1))
