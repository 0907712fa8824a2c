r"""One-dimensional kernels, and what their sums by boxes need: translations between boxes, and polynomials at ends.

All are 1 at distance 0, so that a sum of weights times kernel counts neighbours. u is the distance in bandwidths.

The contribution of a source box to a target box is expressed in Chebyshev polynomials of the position within each box.

For positions s, t in [-1, 1] of a target and a source in boxes whose centres are :math:`\Delta` bandwidths apart and
whose half width is :math:`\beta \le 1/4` bandwidths, the kernel :math:`k(\Delta + \beta (s - t))` is interpolated at p
Chebyshev points in each variable, :math:`\sum_{kl} A^\Delta_{kl} T_k(s) T_l(t)`. So a box needs the p moments
:math:`\sum_j q_j T_l(t_j)` of its charges, p x p matrices turn them into the coefficients of a polynomial in s on every
box within reach, and each row takes 2p operations for any number of boxes in reach. The moments of a mirror image are
those of the box itself with the odd ones negated.

Notes
-----
For the Gaussian the interpolation error is at most :math:`(1 + \Lambda_p) \, 4 M \rho^{1-p} / (\rho - 1)` of the mass
:math:`\sum |q|`, where M bounds the kernel on the ellipse with foci -1 and 1 whose semi-axes add up to :math:`\rho`.
There the imaginary part of the argument is at most :math:`\beta (\rho - 1/\rho) / 2`, and
:math:`|e^{-z^2/2}| \le e^{(\mathrm{Im} z)^2 / 2}`; the Lebesgue constant is :math:`\Lambda_p \le 1 + \frac{2}{\pi}
\log p`. At p = 14 and :math:`\rho = 30` this is 3.6e-17. Boxes more than 9 bandwidths apart are left out, at most
:math:`e^{-40.5}` = 2.6e-18 of the mass. With mirror images both are three times as large, and still below the rounding
of the sums. The small contributions of distant boxes are interpolated to nine digits, so that rows far from all others
are accurate too. Polynomial kernels are interpolated exactly.

The window of a compact kernel
------------------------------
The window of a target ends where the kernel does, within the second or third box to either side. As targets are passed
from left to right, the right end of the window passes more and more sources of these boxes. Their moments are only
added to, and start again from zero with the next target box, so that nothing cancels and errors do not accumulate. The
left end is treated in the same way, mirrored.

With z the position of a source, in bandwidths, beyond the point one bandwidth from the centre of the target's box, and
x that of the target from this centre, the kernel is the polynomial P at distance d = x - z from the window's end:
:math:`(1 - u^2)^3 = d^3 (2 - d)^3`, so :math:`\sum_j q_j P(x - z_j) = \sum_r g_r(x) \sum_j q_j z_j^r` with
:math:`g_r = (-1)^r P^{(r)} / r!`. All of x and z are below 1, hence the rounding is that of a few additions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from numpy.polynomial import Polynomial

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


def chebyshev_points(terms: int) -> FloatArray:
    """Return the points in [-1, 1] at which functions are interpolated."""
    return np.cos((np.arange(terms) + 0.5) * (np.pi / terms))


def to_coefficients(terms: int) -> FloatArray:
    """Return the matrix that turns values at the Chebyshev points into coefficients of Chebyshev polynomials."""
    angles = (np.arange(terms) + 0.5) * (np.pi / terms)
    matrix = np.cos(np.arange(terms)[:, None] * angles) * (2 / terms)
    matrix[0] /= 2
    return matrix


@lru_cache(maxsize=64)
def translations(kernel: Kernel, width: float, reach: int) -> FloatArray:
    """Return the matrices A for all offsets -reach..reach between boxes `width` bandwidths wide, and for images.

    The shape is (2, 2 reach + 1, terms, terms): by source box as it is or mirrored, offset of the target, source
    polynomial and target polynomial. They are cached because searches for the bandwidths of several classes share them.
    """
    places = 0.5 * width * chebyshev_points(kernel.terms)
    offsets = np.arange(-reach, reach + 1) * width
    values = kernel.profile(offsets[:, None, None] + places - places[:, None])
    transform = to_coefficients(kernel.terms)
    plain = transform @ values @ transform.T
    mirrored = plain * ((-1.0) ** np.arange(kernel.terms))[:, None]
    found = np.stack([plain, mirrored])
    found.flags.writeable = False
    return found


@lru_cache(maxsize=64)
def padded_translations(kernel: Kernel, width: float, reach: int, terms: int) -> FloatArray:
    """Return the same with zeros for target polynomials up to `terms`."""
    found = translations(kernel, width, reach)
    return np.pad(found, [(0, 0)] * 3 + [(0, terms - kernel.terms)])


@cache
def edge_polynomials(kernel: Kernel) -> FloatArray:
    """Return the coefficients of g_r, row by row, lowest power first."""
    powers = kernel.degree // 2
    P = (Polynomial([0, 1]) * Polynomial([2, -1])) ** powers
    rows = np.zeros((kernel.degree + 1, kernel.degree + 1))
    for r in range(kernel.degree + 1):
        rows[r, : kernel.degree + 1 - r] = P.coef
        P = P.deriv() / -(r + 1)
    return rows
