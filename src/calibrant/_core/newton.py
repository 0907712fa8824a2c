"""Newton's method for convex functions, with steps halved until the value falls."""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np

from calibrant._border.types import BoolArray, FloatArray
from calibrant._core.progress import tell

Number = TypeVar("Number", float, FloatArray)

Curve = tuple[float, FloatArray, FloatArray]
"""Value, gradient and Hessian; the Hessian is empty if the direction is found without it."""

_SUFFICIENT = 1e-4
"""Share of the predicted decrease that a step must achieve."""

_LOST_DIGITS = 1e-12
"""A predicted decrease below this share of the value is lost in rounding, so that the step is not judged by it."""

_ROUNDING = 4.0 * float(np.finfo(float).eps)
"""Share of the value by which rounding alone may increase it."""

_MAX_HALVINGS = 50

_FEW = 2
"""Up to this many coefficients, the step is found by Cramer's rule."""

_CANCELLED = 1e-9
"""A determinant below this share of its first product has lost too many digits to be a divisor."""


class Minimum(NamedTuple):
    """The end of a search for a minimum."""

    x: FloatArray
    value: float
    gradient: FloatArray
    converged: bool
    n_iter: int

    @property
    def gradient_norm(self) -> float:
        """The largest absolute derivative."""
        return float(np.abs(self.gradient).max())


def descend(
    evaluate: Callable[[FloatArray], Curve],
    direction: Callable[[FloatArray, Curve], FloatArray],
    start: FloatArray,
    *,
    last: float,
    max_iter: int,
    close: Callable[[FloatArray, Curve], bool] | None = None,
    look: bool = True,
) -> Minimum:
    """Return the minimum; the value never rises above that at the start.

    Parameters
    ----------
    evaluate : callable
        Maps a point to the value, gradient and Hessian there.
    direction : callable
        Maps a point, and the result of `evaluate` there, to the step of the quadratic model.
    start : ndarray of shape (m,)
    last : float
        The search has converged after a step whose predicted decrease is at most this. The error that remains is about
        its square.
    max_iter : int
    close : callable, optional
        The search has also converged if this holds for a point and the result of `evaluate` there.
    look : bool
        Whether to evaluate the function after the last step. If not, value and gradient are those before it.

    Examples
    --------
    >>> def parabola(x):
    ...     return float((x[0] - 3) ** 2), 2 * (x - 3), np.full((1, 1), 2.0)
    >>> float(descend(parabola, newton_step, np.zeros(1), last=1e-12, max_iter=9).x[0])
    3.0
    """
    x, found = start, evaluate(start)
    for n_iter in range(max_iter):
        tell(n_iter + 1)
        if not found[1].any() or (close is not None and close(x, found)):
            return Minimum(x, *found[:2], True, n_iter)
        step = direction(x, found)
        decrement = -float(found[1] @ step)
        if not look and 0 < decrement <= last:
            return Minimum(x + step, *found[:2], True, n_iter + 1)
        lower = _line_search(evaluate, x, step, found[0], decrement) if decrement > 0 else None
        if lower is None:
            return Minimum(x, *found[:2], decrement <= _LOST_DIGITS * max(1.0, abs(found[0])), n_iter)
        x, found = lower
        if decrement <= last:
            return Minimum(x, *found[:2], True, n_iter + 1)
    return Minimum(x, *found[:2], False, max_iter)


def newton_step(x: FloatArray, found: Curve) -> FloatArray:  # noqa: ARG001 (a direction may need the point)
    """Return the step to the minimum of the quadratic model, NaN if it has none."""
    _, gradient, hessian = found
    step = _short_step(gradient, hessian) if len(gradient) <= _FEW else None
    if step is not None:
        return step
    try:
        return np.negative(np.linalg.solve(hessian, gradient), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.full(len(gradient), np.nan)


def _short_step(gradient: FloatArray, hessian: FloatArray) -> FloatArray | None:
    """Return the step of one or two coefficients by Cramer's rule, None if rounding would decide it.

    With few rows, a general solver would take a quarter of the time of a fit.
    """
    if len(gradient) == 1:
        curvature = hessian.item()
        return gradient / -curvature if curvature > 0 else None
    (first, mixed), (_, second) = hessian.tolist()
    left, right = gradient.tolist()
    one, other, determinant, is_safe = cramer(left, right, first, mixed, second)
    return np.array([one, other]) / determinant if is_safe else None


def cramer(
    left: Number, right: Number, first: Number, mixed: Number, second: Number
) -> tuple[Number, Number, Number, bool | BoolArray]:
    """Return the step of two coefficients by Cramer's rule: numerators, denominator, and whether that is accurate.

    The arguments are the gradient and the Hessian: numbers, or arrays with an entry for each of many functions.

    Examples
    --------
    >>> cramer(2.0, 4.0, 1.0, 0.0, 2.0)  # The steps -2 and -2.
    (-4.0, -4.0, 2.0, True)
    """
    determinant = first * second - mixed * mixed
    is_safe = determinant > _CANCELLED * first * second
    return mixed * right - second * left, mixed * left - first * right, determinant, is_safe


def _line_search(
    evaluate: Callable[[FloatArray], Curve], x: FloatArray, step: FloatArray, value: float, decrement: float
) -> tuple[FloatArray, Curve] | None:
    """Return the first of x + step, x + step / 2, ... where the value falls far enough, with its `Curve`."""
    size = 1.0
    lost = decrement <= _LOST_DIGITS * max(1.0, abs(value))
    allowance = _ROUNDING * max(1.0, abs(value)) if lost else 0.0
    for _ in range(_MAX_HALVINGS):
        candidate = x + size * step
        found = evaluate(candidate)
        if found[0] <= value - _SUFFICIENT * size * decrement + allowance:
            return candidate, found
        size /= 2.0
    return None
