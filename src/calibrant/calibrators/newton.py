"""Minimise a smooth convex function by Newton's method."""

import warnings
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from calibrant._border.checks import check_count
from calibrant._core.blas import one_blas_thread
from calibrant._typing import FloatArray

_FEW_PARAMETERS = 150
"""Up to this many parameters the Hessian is written down and factorised; above, only products with it are formed."""

_SMALL_DECREMENT, _SMALL_DECREMENT_EXACT = 1e-13, 1e-10
"""A step of a smaller predicted decrease is the last one. What an exact Newton step leaves is about its square."""

_SMALL_GRADIENT = 1e-12
_SUFFICIENT = 1e-4
_LOST_DIGITS = 1e-12
"""A predicted decrease below this share of the value is lost in rounding, and the step is not judged by it."""


class Objective(Protocol):
    """A convex function whose curvature is evaluated at the point of the last call."""

    def __call__(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return value and gradient."""

    def product(self, v: FloatArray) -> FloatArray:
        """Return the product of the Hessian with a vector."""

    def diagonal(self) -> FloatArray:
        """Return the diagonal of the Hessian."""

    def hessian(self) -> FloatArray:
        """Return the Hessian."""


class Minimum(NamedTuple):
    """Where the search ended."""

    x: FloatArray
    value: float
    gradient_norm: float
    converged: bool
    n_iter: int


@one_blas_thread()
def minimise(objective: Objective, start: FloatArray, *, max_iter: int = 100) -> Minimum:
    """Return the minimum; the value never rises, so that it is at most the value at the start.

    It has converged if the last step would lower the value by less than 1e-13, or 1e-10 where the Hessian is
    factorised, as a quadratic model predicts, or if the gradient is nowhere above 1e-12.
    """
    check_count(max_iter, "max_iter")
    x = start
    value, gradient = objective(x)
    last = _SMALL_DECREMENT_EXACT if len(x) <= _FEW_PARAMETERS else _SMALL_DECREMENT
    for n_iter in range(max_iter):
        norm = float(np.abs(gradient).max())
        if norm <= _SMALL_GRADIENT:
            return Minimum(x, value, norm, True, n_iter)
        step = _direction(objective, gradient)
        decrement = -float(gradient @ step)
        found = _line_search(objective, x, step, value, decrement) if decrement > 0 else None
        if found is None:
            return Minimum(x, value, norm, decrement <= _LOST_DIGITS * max(1.0, abs(value)), n_iter)
        x, value, gradient = found
        if decrement <= last:
            return Minimum(x, value, float(np.abs(gradient).max()), True, n_iter + 1)
    return Minimum(x, value, float(np.abs(gradient).max()), False, max_iter)


def warn_unless_converged(found: Minimum, name: str) -> None:
    """Say that the search ended too early."""
    if not found.converged:
        from sklearn.exceptions import ConvergenceWarning

        message = (
            f"{name} stopped after {found.n_iter} steps with a gradient of {found.gradient_norm:.2g}: the calibrated "
            "probabilities are not the best ones. Raise max_iter, or use a method with fewer parameters."
        )
        warnings.warn(message, ConvergenceWarning, stacklevel=5)


def _line_search(
    objective: Objective, x: FloatArray, step: FloatArray, value: float, decrement: float
) -> tuple[FloatArray, float, FloatArray] | None:
    """Return the first of x + step, x + step / 2, ... where the value falls enough, and value and gradient there."""
    size = 1.0
    lost = decrement <= _LOST_DIGITS * max(1.0, abs(value))
    allowance = 4.0 * np.finfo(float).eps * max(1.0, abs(value)) if lost else 0.0
    for _ in range(40):
        candidate = x + size * step
        lower, gradient = objective(candidate)
        if lower <= value - _SUFFICIENT * size * decrement + allowance:
            return candidate, lower, gradient
        size /= 2.0
    return None


def _direction(objective: Objective, gradient: FloatArray) -> FloatArray:
    if len(gradient) <= _FEW_PARAMETERS:
        step = _by_factor(objective.hessian(), gradient)
        if step is not None:
            return step
    diagonal = _raised(objective.diagonal())
    accuracy = min(0.1, float(gradient @ (gradient / diagonal)) ** 0.25)
    return _by_conjugate_gradients(objective.product, diagonal, gradient, accuracy)


def _raised(diagonal: FloatArray) -> FloatArray:
    """Return it above 0: a parameter without influence has no curvature and no gradient, and stays where it is."""
    return diagonal + (1e-12 * diagonal.max() + np.finfo(float).tiny)


def _by_factor(hessian: FloatArray, gradient: FloatArray) -> FloatArray | None:
    """Return the Newton step, or None if rounding has left a Hessian that is not positive."""
    scale = 1.0 / np.sqrt(_raised(np.diag(hessian)))
    hessian *= scale[:, None] * scale
    # Softmax does not see a number that is added to every class: there the Hessian is singular, and rounding decides.
    hessian[np.diag_indices_from(hessian)] += 1e-11
    try:
        np.linalg.cholesky(hessian)
    except np.linalg.LinAlgError:
        return None
    return -scale * np.linalg.solve(hessian, scale * gradient)


def _by_conjugate_gradients(
    product: Callable[[FloatArray], FloatArray], diagonal: FloatArray, gradient: FloatArray, accuracy: float
) -> FloatArray:
    """Return an approximate Newton step: the residual is down to `accuracy` of what it was, or 250 rounds are over."""
    residual = -gradient
    scaled = residual / diagonal
    direction, solution = scaled, np.zeros(len(gradient))
    size = float(residual @ scaled)
    enough = accuracy**2 * size
    for _ in range(250):
        curved = product(direction)
        curvature = float(direction @ curved)
        if not curvature > 0:
            break
        solution += (size / curvature) * direction
        residual -= (size / curvature) * curved
        scaled = residual / diagonal
        last, size = size, float(residual @ scaled)
        if size <= enough:
            break
        direction = scaled + (size / last) * direction
    return solution if solution.any() else -gradient / diagonal
