r"""Sums of a compact kernel over the boxes that only a part of a target box reaches.

The window of a target ends where the kernel does, within the second or third box to either side. As targets are passed
from left to right, the window's right end moves over more and more sources of these boxes: their moments are only ever
added to, and start anew with the next target box, so nothing cancels and nothing drifts. The left end is the same thing
in a mirror.

With z the place of a source, in bandwidths, beyond the point one bandwidth from the centre of the target's box, and x
the target's place from that centre, the kernel is the polynomial P at distance d = x - z from the window's end:
:math:`(1 - u^2)^3 = d^3 (2 - d)^3`, so :math:`\sum_j q_j P(x - z_j) = \sum_r g_r(x) \sum_j q_j z_j^r` with
:math:`g_r = (-1)^r P^{(r)} / r!`. All of x and z are below 1, hence the rounding is that of a few additions.
"""

from typing import Any

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

from calibrant._native.compile import glue, piece
from calibrant._native.lanes import LANES, load, multiply_add, repeat, store
from calibrant._native.line.kernels import Kernel

Floats = NDArray[np.float64]


def edge_polynomials(kernel: Kernel) -> Floats:
    """Return the coefficients of g_r, row by row, lowest power first."""
    powers = kernel.degree // 2
    P = (Polynomial([0, 1]) * Polynomial([2, -1])) ** powers
    rows = np.zeros((kernel.degree + 1, kernel.degree + 1))
    for r in range(kernel.degree + 1):
        rows[r, : kernel.degree + 1 - r] = P.coef
        P = P.deriv() / -(r + 1)
    return rows


@piece
def extended_position(x: Any, n: int, extended: int) -> float:
    """Return the position of a row or of its image; see `boxes`."""
    if extended < 0:
        return -x[-1 - extended]
    if extended >= n:
        return 2.0 - x[2 * n - 1 - extended]
    return x[extended]


@piece
def extended_row(n: int, extended: int) -> int:
    """Return the row of which an extended number is the image."""
    if extended < 0:
        return -1 - extended
    return 2 * n - 1 - extended if extended >= n else extended


@glue
def clear_moments(moments: Any, degree: int) -> None:
    """Forget all sources."""
    for r in range(degree + 1):
        store(moments, r * LANES, repeat(0.0))


@glue
def add_source(moments: Any, degree: int, z: float, charge: Any) -> None:
    """Add a source to the moments about the window's end."""
    power = charge
    for r in range(degree + 1):
        store(moments, r * LANES, load(moments, r * LANES) + power)
        power = power * z


@glue
def sum_window(moments: Any, edge: Any, degree: int, x: float) -> Any:
    """Return the sum over all sources added so far, at the place x of a target."""
    value = repeat(0.0)
    for r in range(degree + 1):
        g = edge[r, degree - r]
        for power in range(degree - r - 1, -1, -1):
            g = g * x + edge[r, power]
        value = multiply_add(repeat(g), load(moments, r * LANES), value)
    return value
