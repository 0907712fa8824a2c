"""Minimise a smooth convex function of a few numbers, none of which may be negative, by Newton's method."""

from collections.abc import Callable

import numpy as np

from calibrant._border.checks import check_count
from calibrant._core.nnls import nnls
from calibrant._typing import FloatArray
from calibrant.calibrators.newton import Minimum

Curve = tuple[float, FloatArray, FloatArray]
"""Value, gradient and Hessian."""

_LOST_DIGITS = 1e-12
"""A predicted decrease below this share of the value is lost in rounding, and the step is not judged by it."""

_SUFFICIENT = 1e-4
_RIDGE = 1e-11


def minimise_nonnegative(
    objective: Callable[[FloatArray], Curve], start: FloatArray, *, max_iter: int = 100, last: float = 1e-11
) -> Minimum:
    """Return the minimum over x >= 0; the value never rises above the value at the start.

    Each step goes towards the minimum of the quadratic model over x >= 0, which is found exactly. The search has
    converged if a step would lower the value by less than `last`, as the model predicts; what is left after it is about
    the square.
    """
    check_count(max_iter, "max_iter")
    x = start
    found = objective(x)
    for n_iter in range(1, max_iter + 1):
        step = _model_minimum(x, found[1], found[2]) - x
        decrement = -float(found[1] @ step)
        if not decrement > 0:
            return Minimum(x, found[0], _slope(x, found[1]), True, n_iter)
        lower = _line_search(objective, x, step, found[0], decrement)
        if lower is None:
            converged = decrement <= _LOST_DIGITS * max(1.0, abs(found[0]))
            return Minimum(x, found[0], _slope(x, found[1]), converged, n_iter)
        x, found = lower
        if decrement <= last:
            return Minimum(x, found[0], _slope(x, found[1]), True, n_iter)
    return Minimum(x, found[0], _slope(x, found[1]), False, max_iter)


def _slope(x: FloatArray, gradient: FloatArray) -> float:
    """Return the largest derivative, of those that a bound does not stop."""
    return float(np.abs(np.where(x > 0, gradient, np.minimum(gradient, 0.0))).max())


def _model_minimum(x: FloatArray, gradient: FloatArray, hessian: FloatArray) -> FloatArray:
    """Return the minimum of the quadratic model at x over all points without a negative entry."""
    diagonal = np.diag(hessian)
    # A parameter without influence has no curvature; it has no gradient either, and stays where it is.
    scale = 1.0 / np.sqrt(diagonal + 1e-12 * diagonal.max() + np.finfo(float).tiny)
    scaled = hessian * scale[:, None] * scale
    # By eigenvalues, because rounding may have made the smallest of them negative.
    values, vectors = np.linalg.eigh(scaled)
    roots = np.sqrt(np.maximum(values, 0.0) + _RIDGE)
    factor = roots[:, None] * vectors.T
    target = factor @ (x / scale) - vectors.T @ (scale * gradient) / roots
    return scale * nnls(factor, target)


def _line_search(
    objective: Callable[[FloatArray], Curve], x: FloatArray, step: FloatArray, value: float, decrement: float
) -> tuple[FloatArray, Curve] | None:
    """Return the first of x + step, x + step / 2, ... where the value falls enough, and what is found there."""
    size = 1.0
    lost = decrement <= _LOST_DIGITS * max(1.0, abs(value))
    allowance = 4.0 * np.finfo(float).eps * max(1.0, abs(value)) if lost else 0.0
    for _ in range(50):
        candidate = np.maximum(x + size * step, 0.0)
        found = objective(candidate)
        if found[0] <= value - _SUFFICIENT * size * decrement + allowance:
            return candidate, found
        size /= 2.0
    return None
