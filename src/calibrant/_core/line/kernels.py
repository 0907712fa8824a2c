r"""One-dimensional kernels, with the constants for their fast summation.

All are 1 at distance 0, so that a sum of weights times kernel counts neighbours. u is the distance in bandwidths.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibrant._border.types import FloatArray

# The numbers that identify the kernels in compiled code.
GAUSSIAN, TRIWEIGHT, EPANECHNIKOV = range(3)


@dataclass(frozen=True)
class Kernel:
    """A symmetric function of the distance in bandwidths.

    Parameters
    ----------
    code : int
        The number of the kernel in compiled code.
    profile : callable
        The function itself; for a compact kernel the polynomial only, valid for |u| <= 1.
    terms : int
        Number of Chebyshev polynomials that describe it between two boxes half a bandwidth wide; even.
    reach : float
        The kernel is zero, or negligible, beyond this many bandwidths.
    degree : int
        Degree of the polynomial of a compact kernel; 0 if the kernel is not compact.
    """

    code: int
    profile: Callable[[FloatArray], FloatArray]
    terms: int
    reach: float
    degree: int = 0

    def at(self, u: FloatArray) -> FloatArray:
        """Return the kernel at any distance."""
        return self.profile(np.minimum(np.abs(u), 1.0) if self.is_compact else u)

    def of_itself(self, x: FloatArray, bandwidth: float, *, reflect: bool) -> FloatArray:
        """Return the kernel between each row and itself plus, with reflection, its images."""
        if not reflect:
            return np.ones(len(x))
        return 1 + self.at(2 * x / bandwidth) + self.at(2 * (1 - x) / bandwidth)

    @property
    def is_compact(self) -> bool:
        """Whether the kernel is exactly zero beyond its reach."""
        return self.degree > 0


def _gaussian(u: FloatArray) -> FloatArray:
    exponents = np.asarray(-0.5 * u)
    exponents *= u
    return np.exp(exponents, out=exponents)


def _triweight(u: FloatArray) -> FloatArray:
    return (1 - u * u) ** 3


def _epanechnikov(u: FloatArray) -> FloatArray:
    return 1 - u * u


KERNELS: dict[str, Kernel] = {
    "gaussian": Kernel(GAUSSIAN, _gaussian, terms=14, reach=9.0),
    "triweight": Kernel(TRIWEIGHT, _triweight, terms=8, reach=1.0, degree=6),
    "epanechnikov": Kernel(EPANECHNIKOV, _epanechnikov, terms=4, reach=1.0, degree=2),
}
