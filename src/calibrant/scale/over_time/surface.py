"""Smooth functions of two coordinates between -1 and 1, as Chebyshev series."""

import numpy as np
from numpy.polynomial import chebyshev

from calibrant._border.types import FloatArray

DEGREE = 12
"""Log-likelihoods of lines are analytic: if fitted log-odds change by 1 at most, this is exact to 1e-10 of a row."""

_POINTS = chebyshev.chebpts1(DEGREE + 1)
_INVERSE = np.linalg.inv(chebyshev.chebvander(_POINTS, DEGREE))
_FIRST, _SECOND = (chebyshev.chebder(np.eye(DEGREE + 1), order, axis=0) for order in (1, 2))

NODES = np.stack(np.meshgrid(_POINTS, _POINTS, indexing="ij"), axis=-1).reshape(-1, 2)
"""Where a function must be known."""


def coefficients(values: FloatArray) -> FloatArray:
    """Return the coefficients of functions, one per row, whose values at the nodes are given."""
    grid = values.reshape(-1, DEGREE + 1, DEGREE + 1)
    return (_INVERSE @ grid @ _INVERSE.T).reshape(len(values), -1)


def bases(v: FloatArray) -> FloatArray:
    """Return the columns that turn coefficients into value, both first and the second derivatives (11, 12, 22) at v.

    Examples
    --------
    >>> saddle = coefficients((NODES[:, 0] * NODES[:, 1])[None])
    >>> abs(saddle @ bases(np.array([0.5, -0.25]))).round(9).tolist()  # xy, y, x, 0, 1, 0, without signs
    [[0.125, 0.25, 0.5, 0.0, 1.0, 0.0]]
    """
    (x0, x1, x2), (y0, y1, y2) = _powers(v[0]), _powers(v[1])
    pairs = ((x0, y0), (x1, y0), (x0, y1), (x2, y0), (x1, y1), (x0, y2))
    return np.stack([np.outer(x, y).ravel() for x, y in pairs], axis=1)


def _powers(x: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the Chebyshev polynomials at x, and their first and second derivatives."""
    values = chebyshev.chebvander(x, DEGREE)[0]
    first = values[:-1] @ _FIRST
    return values, first, values[:-2] @ _SECOND
