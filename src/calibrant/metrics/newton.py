"""Newton's method for many small logistic regressions at once."""

import numpy as np

from calibrant._typing import BoolArray, FloatArray

MAX_ITERATIONS = 8

PENALTY = 1e-12
"""Factor of the squared coefficients that keeps the maximum finite and unique."""

CLOSE = 1e-7
"""A step as small as this leaves an error of about its square: convergence is quadratic."""


def maximise_all(
    offset: FloatArray, design: FloatArray, hits: BoolArray, shares: FloatArray, start: FloatArray
) -> FloatArray:
    """Return the coefficients of the design's rows, added to the offset, that make the outcomes most likely.

    Parameters
    ----------
    offset : ndarray of shape (n,)
    design : ndarray of shape (m, n)
        One or two rows.
    hits, shares : ndarray of shape (n, B), or (n, 1) if all regressions have the same
        Outcomes, and weights that sum to 1 in each column.
    start : ndarray of shape (m,)

    Returns
    -------
    ndarray of shape (m, B)
        NaN in columns where full steps do not converge soon, as where no finite coefficient is best.

    Notes
    -----
    The likelihood is concave, so what Newton's method converges to is its only maximum, however it got there.
    """
    n_columns = max(hits.shape[1], shares.shape[1])
    found = np.full((len(design), n_columns), np.nan)
    points, left = np.repeat(start[:, None], n_columns, axis=1), np.arange(n_columns)
    with np.errstate(all="ignore"):
        for _ in range(MAX_ITERATIONS):
            steps = _steps(points, offset + points.T @ design, design, hits.T, shares.T)
            points = points - steps
            size = np.abs(steps).max(axis=0)
            close = np.isfinite(size) & (size <= CLOSE * (1 + np.abs(points).max(axis=0)))
            found[:, left[close]] = points[:, close]
            keep = np.isfinite(size) & ~close
            if not keep.any():
                break
            left, points = left[keep], points[:, keep]
            hits = hits if hits.shape[1] == 1 else hits[:, keep]
            shares = shares if shares.shape[1] == 1 else shares[:, keep]
    return found


def _steps(points: FloatArray, odds: FloatArray, design: FloatArray, hits: BoolArray, shares: FloatArray) -> FloatArray:
    """Return Newton's steps (m, B) from points (m, B), where the log-odds are (B, n)."""
    fitted = 1 / (1 + np.exp(-odds))
    gradient = (shares * (fitted - hits)) @ design.T + PENALTY * points.T
    spread = shares * fitted * (1 - fitted)
    first = spread @ design[0] ** 2 + PENALTY
    if len(design) == 1:
        return (gradient[:, 0] / first)[None]
    mixed, second = spread @ (design[0] * design[1]), spread @ design[1] ** 2 + PENALTY
    determinant = first * second - mixed**2
    left = second * gradient[:, 0] - mixed * gradient[:, 1]
    right = first * gradient[:, 1] - mixed * gradient[:, 0]
    # Where the determinant is lost to rounding, nothing converges.
    return np.stack([left, right]) / np.where(determinant > 1e-9 * first * second, determinant, np.nan)
