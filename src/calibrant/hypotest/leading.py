"""The directions along which deviations vary most."""

from typing import Any

import numpy as np

from calibrant._typing import FloatArray
from calibrant.hypotest.deviation_law import DeviationLaw

SMALLEST_SHARE = 1e-8
"""Directions of the deviations with less than this share of the largest variance are rounding and left out."""

MOST_DIRECTIONS = 100
"""Largest number of directions, those of largest variance, that are considered."""

MANY_LOCATIONS = 5 * MOST_DIRECTIONS
"""With more test locations than this, only the directions that are considered are computed."""


def leading_directions(law: DeviationLaw) -> tuple[FloatArray, FloatArray]:
    """Return the largest variances, in ascending order, and their directions, (J, R) with R of at most 100.

    All eigenvectors of J locations take O(J^3): 50 classes have 2550 locations in the corners of the simplex and in
    its centre, of which 100 directions are used. These are found by Lanczos' method, from a fixed first vector.
    """
    if law.n_locations <= MANY_LOCATIONS:
        variances, vectors = varying(*np.linalg.eigh(law.covariance()), law.rounding)
        return variances[-MOST_DIRECTIONS:], vectors[:, -MOST_DIRECTIONS:]
    variances, vectors = varying(*_largest(law), law.rounding)
    return variances[-MOST_DIRECTIONS:], vectors[:, -MOST_DIRECTIONS:]


def varying(variances: FloatArray, vectors: FloatArray, rounding: float = 0.0) -> tuple[FloatArray, FloatArray]:
    """Leave out directions that do not vary, up to rounding."""
    used = variances > max(SMALLEST_SHARE * variances.max(), rounding, np.finfo(float).tiny)
    return variances[used], vectors[:, used]


def _largest(law: DeviationLaw) -> tuple[Any, Any]:
    from scipy.sparse.linalg import ArpackError, eigsh

    # Equal entries would be orthogonal to every direction: residuals of a row sum to 0.
    start = np.random.default_rng(0).standard_normal(law.n_locations)
    try:
        values, vectors = eigsh(law.operator(), k=MOST_DIRECTIONS, which="LA", v0=start)
    except ArpackError:  # It does not converge if eigenvalues hardly differ.
        return np.linalg.eigh(law.covariance())
    order = np.argsort(values)
    return values[order], vectors[:, order]
