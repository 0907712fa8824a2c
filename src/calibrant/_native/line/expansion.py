r"""What a box of sources does to a box of targets, in Chebyshev polynomials of the place within each box.

With places s, t in [-1, 1] of a target and a source in boxes whose centres are :math:`\Delta` bandwidths apart and
whose half width is :math:`\beta \le 1/4` bandwidths, the kernel :math:`k(\Delta + \beta (s - t))` is interpolated at p
Chebyshev points in each variable, :math:`\sum_{kl} A^\Delta_{kl} T_k(s) T_l(t)`. Hence a box needs the p moments
:math:`\sum_j q_j T_l(t_j)` of its charges, p x p matrices turn them into the coefficients of a polynomial in s on every
box within reach, and each row costs 2p operations, however many boxes are in reach. The moments of a mirror image are
those of the box itself, with the odd ones negated.

Notes
-----
For the Gaussian the interpolation error is at most :math:`(1 + \Lambda_p) \, 4 M \rho^{1-p} / (\rho - 1)` of the mass
:math:`\sum |q|`, where M bounds the kernel on the ellipse with foci -1 and 1 whose semi-axes add up to :math:`\rho`.
There the imaginary part of the argument is at most :math:`\beta (\rho - 1/\rho) / 2`, and
:math:`|e^{-z^2/2}| \le e^{(\mathrm{Im} z)^2 / 2}`; the Lebesgue constant is :math:`\Lambda_p \le 1 + \frac{2}{\pi}
\log p`. At p = 14 and :math:`\rho = 30` this is 3.6e-17. Boxes more than 9 bandwidths apart are left out, at most
:math:`e^{-40.5}` = 2.6e-18 of the mass. Both are below the rounding of the sums, and with mirror images three times as
much. Of the little that a box so far away contributes, the interpolation keeps nine digits, so that rows far from all
others are right too. Polynomial kernels are interpolated exactly.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._native.compile import entry, glue, piece
from calibrant._native.lanes import LANES, broadcast, load, multiply_add, repeat, store
from calibrant._native.line.boxes import Boxes
from calibrant._native.line.kernels import Kernel

Floats = NDArray[np.float64]

_ROWS_A_SUM = 1024


def chebyshev_points(terms: int) -> Floats:
    """Return the points in [-1, 1] at which functions are interpolated."""
    return np.cos((np.arange(terms) + 0.5) * (np.pi / terms))


def to_coefficients(terms: int) -> Floats:
    """Return the matrix that turns values at the Chebyshev points into coefficients of Chebyshev polynomials."""
    angles = (np.arange(terms) + 0.5) * (np.pi / terms)
    matrix = np.cos(np.arange(terms)[:, None] * angles) * (2 / terms)
    matrix[0] /= 2
    return matrix


def translations(kernel: Kernel, width: float, reach: int) -> Floats:
    """Return the matrices A of all offsets -reach..reach between boxes `width` bandwidths wide, for images too.

    The shape is (2, 2 reach + 1, terms, terms): of a source box as it is and mirrored, by offset of the target, source
    polynomial and target polynomial.
    """
    places = 0.5 * width * chebyshev_points(kernel.terms)
    offsets = np.arange(-reach, reach + 1) * width
    values = kernel.profile(offsets[:, None, None] + places - places[:, None])
    transform = to_coefficients(kernel.terms)
    plain = transform @ values @ transform.T
    mirrored = plain * ((-1.0) ** np.arange(kernel.terms))[:, None]
    return np.stack([plain, mirrored])


@glue
def _clear(moments: Any, start: int, terms: int) -> None:
    for k in range(terms):
        store(moments, start + k * LANES, repeat(0.0))


@glue
def _add_row(moments: Any, terms: int, s: float, charge: Any) -> None:
    """Add a charge at place s, times T_0(s), T_1(s), ..."""
    before, now = s, 1.0
    for k in range(terms):
        store(moments, k * LANES, multiply_add(repeat(now), charge, load(moments, k * LANES)))
        before, now = now, 2.0 * s * now - before


@entry
def collect(x: Any, boxes: Boxes, charges: Any, width: int, moments: Any) -> None:
    """Write the moments of all boxes, flat by box, polynomial and lane.

    Sums of some rows are added up, because the rounding of one long sum would grow with the number of its terms.
    """
    terms = len(moments) // (len(boxes.centres) * LANES)
    partial = np.empty(terms * LANES)
    for box in range(len(boxes.centres)):
        start, end = box * terms * LANES, boxes.starts[box + 1]
        _clear(moments, start, terms)
        for first in range(boxes.starts[box], end, _ROWS_A_SUM):
            _clear(partial, 0, terms)
            for i in range(first, min(first + _ROWS_A_SUM, end)):
                _add_row(partial, terms, (x[i] - boxes.centres[box]) * boxes.scales[box], load(charges, i * width))
            for k in range(0, terms * LANES, LANES):
                store(moments, start + k, load(moments, start + k) + load(partial, k))


@piece
def add_box(local: Any, matrices: Any, matrix: int, moments: Any, box: int, terms: int) -> None:
    """Add to the local coefficients what one box contributes; two rows and two columns a step keep the adders busy."""
    matrix *= terms * terms
    start = box * terms * LANES
    for k in range(0, terms, 2):
        a, b = load(local, k * LANES), load(local, (k + 1) * LANES)
        c, d = repeat(0.0), repeat(0.0)
        for m in range(0, terms, 2):
            x, y = load(moments, start + m * LANES), load(moments, start + (m + 1) * LANES)
            at = matrix + m * terms + k
            a = multiply_add(broadcast(matrices, at), x, a)
            b = multiply_add(broadcast(matrices, at + 1), x, b)
            c = multiply_add(broadcast(matrices, at + terms), y, c)
            d = multiply_add(broadcast(matrices, at + terms + 1), y, d)
        store(local, k * LANES, a + c)
        store(local, (k + 1) * LANES, b + d)


@glue
def polynomial(local: Any, start: int, terms: int, s: float) -> Any:
    """Return the value at place s of the polynomial whose coefficients start there, by Clenshaw's recurrence."""
    after, now = repeat(0.0), repeat(0.0)
    double = repeat(2.0 * s)
    for k in range(terms - 1, 0, -1):
        now, after = multiply_add(double, now, load(local, start + k * LANES) - after), now
    return multiply_add(repeat(s), now, load(local, start) - after)
