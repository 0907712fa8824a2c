"""Newton's method for likelihoods with many parameters, and for non-negative parameters."""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from calibrant._border.numerals import counted, significant
from calibrant._border.settings import check_count
from calibrant._border.types import FloatArray
from calibrant._border.warn import warn
from calibrant._core.newton import Curve, Minimum, descend
from calibrant._core.nnls import least_of_few, nnls
from calibrant._core.threads import one_blas_thread

_FEW_PARAMETERS = 150
"""Up to this many parameters the Hessian is computed and factorised; above, only products with it are computed."""

_SMALL_DECREMENT, _SMALL_DECREMENT_EXACT = 1e-13, 1e-10
"""A step with a smaller predicted decrease is the last one. An exact step leaves an error of about its square."""

_SMALL_GRADIENT = 1e-12

_RIDGE = 1e-11
"""Added to the diagonal of a scaled Hessian, which may be singular: softmax ignores a number added to every class."""

_TINY = float(np.finfo(float).tiny)


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


@one_blas_thread()
def minimise(objective: Objective, start: FloatArray, *, max_iter: int = 100) -> Minimum:
    """Return the minimum; the value decreases in every step, so it is at most the value at the start.

    The search has converged if a quadratic model predicts that the last step lowers the value by less than 1e-13
    (1e-10 if the Hessian is factorised), or if no derivative exceeds 1e-12.
    """
    check_count(max_iter, "max_iter")
    return descend(
        lambda x: (*objective(x), np.empty((0, 0))),
        lambda _, found: _direction(objective, found[1]),
        start,
        last=_SMALL_DECREMENT_EXACT if len(start) <= _FEW_PARAMETERS else _SMALL_DECREMENT,
        max_iter=max_iter,
        close=lambda _, found: bool(np.abs(found[1]).max() <= _SMALL_GRADIENT),
    )


def minimise_nonnegative(
    objective: Callable[[FloatArray], Curve], start: FloatArray, *, max_iter: int = 100, last: float = 1e-11
) -> Minimum:
    """Return the minimum over x >= 0 of a function of few variables; it is at most the value at the start.

    Each step goes towards the minimum of the quadratic model over x >= 0, which is found exactly. The search has
    converged if the model predicts that a step lowers the value by less than `last`.
    """
    check_count(max_iter, "max_iter")
    found = descend(
        lambda x: objective(np.maximum(x, 0.0)),  # Rounding may have made an entry negative.
        lambda x, found: _nonnegative_minimum(x, found) - x,
        start,
        last=last,
        max_iter=max_iter,
    )
    x = np.maximum(found.x, 0.0)
    # Derivatives at an active bound do not count.
    return found._replace(x=x, gradient=np.where(x > 0, found.gradient, np.minimum(found.gradient, 0.0)))


def diagnostics(found: Minimum, name: str) -> tuple[bool, float, int]:
    """Return `converged_`, `gradient_norm_` and `n_iter_`, with a warning if the search stopped before the minimum."""
    if not found.converged:
        warn_of_no_convergence(
            f"{name} stopped after {counted(found.n_iter, 'step')} with a gradient of "
            f"{significant(found.gradient_norm, 2)}: the calibrated probabilities are not optimal. Raise max_iter, or "
            "use a method with fewer parameters."
        )
    return found.converged, found.gradient_norm, found.n_iter


def warn_of_no_convergence(message: str) -> None:
    """Issue scikit-learn's warning about a search that stopped before the optimum."""
    from sklearn.exceptions import ConvergenceWarning

    warn(message, ConvergenceWarning)


def _direction(objective: Objective, gradient: FloatArray) -> FloatArray:
    if len(gradient) <= _FEW_PARAMETERS:
        step = _by_factor(objective.hessian(), gradient)
        if step is not None:
            return step
    diagonal = _raised(objective.diagonal())
    accuracy = min(0.1, float(gradient @ (gradient / diagonal)) ** 0.25)
    return _by_conjugate_gradients(objective.product, diagonal, gradient, accuracy)


def _raised(diagonal: FloatArray) -> FloatArray:
    """Return a diagonal that is positive everywhere, also for parameters without curvature (which do not move)."""
    return diagonal + (1e-12 * diagonal.max() + _TINY)


def _by_factor(hessian: FloatArray, gradient: FloatArray) -> FloatArray | None:
    """Return the Newton step, or None if the Hessian is not positive definite because of rounding."""
    scale = 1.0 / np.sqrt(_raised(hessian.diagonal()))
    hessian *= scale[:, None] * scale
    hessian[np.diag_indices_from(hessian)] += _RIDGE
    try:
        np.linalg.cholesky(hessian)
    except np.linalg.LinAlgError:
        return None
    return -scale * np.linalg.solve(hessian, scale * gradient)


def _by_conjugate_gradients(
    product: Callable[[FloatArray], FloatArray], diagonal: FloatArray, gradient: FloatArray, accuracy: float
) -> FloatArray:
    """Return an approximate Newton step: the residual falls by the factor `accuracy`, or there were 250 rounds."""
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


def _nonnegative_minimum(x: FloatArray, found: Curve) -> FloatArray:
    """Return the minimum, over all non-negative points, of the quadratic model at x."""
    _, gradient, hessian = found
    scale = 1.0 / np.sqrt(_raised(hessian.diagonal()))
    scaled, start = hessian * scale[:, None] * scale, x / scale
    least = least_of_few(scaled, scaled @ start - scale * gradient, near=x)
    if least is not None:
        return scale * least
    # Use eigenvalues, because rounding may have made the smallest ones negative.
    values, vectors = np.linalg.eigh(scaled)
    roots = np.sqrt(np.maximum(values, 0.0) + _RIDGE)
    pull = vectors.T @ (scale * gradient) / roots
    free = start - vectors @ (pull / roots)
    if free.min() >= 0:
        return scale * free
    factor = roots[:, None] * vectors.T
    # Entries that are 0 mostly stay 0.
    return scale * nnls(factor, factor @ start - pull, near=free if x.all() else x)
