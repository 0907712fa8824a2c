"""Logistic regression on a few features, by Newton's method: the optimiser of the parametric maps of two classes."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np

from calibrant._typing import FloatArray, IntArray
from calibrant.calibrators.binary import softplus
from calibrant.calibrators.blocks import add_blocks

RIDGE = 1e-12
"""Weight of the prior: it decides only what the data leaves open, as a slope where all scores are equal."""

LAST_DECREMENT = 1e-13
"""A step that promises to lower the mean loss by less than this is the last one."""

DECREMENT = 1e-9
"""The solution has converged if another step would promise less than this."""

MAX_STEPS = 200

HALVINGS = 0.5 ** np.arange(60)
"""Lengths that are tried for a step."""


@dataclass(frozen=True, eq=False)
class LogisticFit:
    """The solution of one problem.

    Attributes
    ----------
    intercept : float
    coef : ndarray of shape (d,)
    gradient_norm : float
        Largest derivative of the mean loss at the solution, in units of the standardised features. A derivative that
        only a bound stops does not count.
    converged : bool
    loss : float
        Mean negative log-likelihood, without penalty.
    log_det : float
        Logarithm of the determinant of the Hessian of mean loss and penalty.
    """

    intercept: float
    coef: FloatArray
    gradient_norm: float
    converged: bool
    loss: float
    log_det: float


@dataclass(frozen=True, eq=False)
class _Problem:
    """Mean loss over rows of features plus a quadratic penalty around a point."""

    rows: FloatArray
    targets: FloatArray
    shares: FloatArray
    centre: FloatArray
    penalty: FloatArray

    def face(self, free: IntArray) -> "_Problem":
        """Fix all other coefficients at 0."""
        return _Problem(self.rows[:, free], self.targets, self.shares, self.centre[free], self.penalty[free])

    def at(self, theta: FloatArray) -> "_Point":
        """Return loss, gradient and Hessian at some coefficients."""
        d = len(theta)
        sums = add_blocks(lambda rows: self._sums(theta, rows), self.rows.shape)
        away = theta - self.centre
        return _Point(
            loss=float(sums[0]),
            value=float(sums[0] + self.penalty @ away**2 / 2),
            gradient=sums[1 : d + 1] + self.penalty * away,
            hessian=sums[d + 1 :].reshape(d, d) + np.diag(self.penalty),
        )

    def _sums(self, theta: FloatArray, rows: slice) -> FloatArray:
        """Return what some rows add to the loss and its derivatives, one after another."""
        from scipy.special import expit

        features, shares, targets = self.rows[rows], self.shares[rows], self.targets[rows]
        scores = features @ theta
        probs = expit(scores)
        loss = shares @ (softplus(scores) - targets * scores)
        gradient = (shares * (probs - targets)) @ features
        hessian = (features.T * (shares * probs * (1 - probs))) @ features
        return np.concatenate([[loss], gradient, hessian.ravel()])


@dataclass(frozen=True, eq=False)
class _Point:
    """Value (loss plus penalty) and derivatives at one point of the coefficients."""

    loss: float
    value: float
    gradient: FloatArray
    hessian: FloatArray

    def step(self) -> FloatArray:
        """Return how far the minimum of the tangent parabola lies behind."""
        return np.linalg.solve(self.hessian, self.gradient).astype(np.float64)


def fit_logistic(
    features: FloatArray,
    targets: FloatArray,
    weights: FloatArray,
    prior: FloatArray,
    *,
    intercept: bool = True,
    bounded: bool = False,
    penalty: FloatArray | None = None,
) -> LogisticFit:
    r"""Minimise the weighted log-loss of :math:`\sigma(c + \sum_j \theta_j f_{ij})`.

    Parameters
    ----------
    features : ndarray of shape (n, d)
    targets : ndarray of shape (n,)
        In [0, 1].
    weights : ndarray of shape (n,)
    prior : ndarray of shape (d + 1,)
        Intercept and coefficients where the data says nothing. Perfectly separable data has finite coefficients too.
    intercept : bool
    bounded : bool
        Whether no coefficient may be negative.
    penalty : ndarray of shape (d,), optional
        Multiples of half the squared distance of each coefficient from its prior, beside the mean loss.
    """
    shares = weights / weights.sum()
    means = shares @ features if intercept else np.zeros(features.shape[1])
    rows = features - means
    scales = np.sqrt(shares @ rows**2)
    scales[scales <= 1e-9 * np.abs(features).max(axis=0, initial=0.0)] = 1.0  # Constant up to rounding, or 0.
    ridge = RIDGE if penalty is None else penalty / scales**2 + RIDGE
    problem = _Problem(
        rows=np.column_stack([np.full(len(rows), float(intercept)), rows / scales]),
        targets=targets,
        shares=shares,
        centre=np.append(prior[0] + means @ prior[1:] if intercept else 0.0, scales * prior[1:]),
        penalty=np.append(RIDGE, np.broadcast_to(ridge, means.shape)),
    )
    theta, free = _on_best_face(problem) if bounded else _newton(problem)
    final, kept = problem.at(theta), np.ix_(free, free)
    gradient, hessian = final.gradient[free], final.hessian[kept]
    decrement = gradient @ np.linalg.solve(hessian, gradient)
    coef = theta[1:] / scales
    return LogisticFit(
        intercept=float(theta[0] - means @ coef),
        coef=coef,
        gradient_norm=float(np.abs(gradient).max()),
        converged=bool(decrement <= DECREMENT),
        loss=final.loss,
        log_det=float(np.linalg.slogdet(hessian).logabsdet),
    )


def _newton(problem: _Problem) -> tuple[FloatArray, IntArray]:
    """Return the minimum and the indices of all coefficients."""
    theta = _flat(problem)
    point = problem.at(theta)
    for _ in range(MAX_STEPS):
        step = point.step()
        decrement = float(point.gradient @ step)
        if decrement <= LAST_DECREMENT:
            theta = theta - step
            break
        for length in HALVINGS:
            moved = problem.at(theta - length * step)
            if moved.value <= point.value - 1e-4 * length * decrement:
                break
        else:
            break
        theta, point = theta - length * step, moved
    return theta, np.arange(len(theta))


def _flat(problem: _Problem) -> FloatArray:
    """Return the base rate as a start: there, unlike at the prior, no row is so extreme that its curvature is 0."""
    theta = np.zeros(problem.rows.shape[1])
    if problem.rows[0, 0]:
        rate = float(problem.shares @ problem.targets)
        theta[0] = np.clip(np.log(max(rate, 1e-9)) - np.log(max(1 - rate, 1e-9)), -10.0, 10.0)
    return theta


def _on_best_face(problem: _Problem) -> tuple[FloatArray, IntArray]:
    """Return the minimum over non-negative coefficients, and the indices of those that are not at 0.

    The minimum of a convex function lies inside exactly one face of the orthant and is the free minimum on it. There
    are few coefficients, so all faces are tried.
    """
    best, found = np.inf, (np.zeros(0), np.zeros(0, dtype=np.int64))
    for zeros in _subsets(range(1, problem.rows.shape[1])):
        free = np.setdiff1d(np.arange(problem.rows.shape[1]), zeros)
        face = problem.face(free)
        theta, _ = _newton(face)
        full = np.zeros(problem.rows.shape[1])
        full[free] = theta
        value = problem.at(full).value
        if value < best and np.all(full[1:] >= 0):
            best, found = value, (full, free)
        if not zeros and np.all(full[1:] >= 0):
            break
    return found


def _subsets(items: range) -> Iterator[tuple[int, ...]]:
    return chain.from_iterable(combinations(items, size) for size in range(len(items) + 1))


def warn_unless_converged(calibrator: object, fitted: LogisticFit) -> None:
    """Warn if the optimiser stopped before the minimum."""
    if fitted.converged:
        return
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    warnings.warn(
        f"{type(calibrator).__name__} did not converge: the norm of the gradient is still {fitted.gradient_norm:.2g}. "
        "Look for scores of extreme size.",
        ConvergenceWarning,
        stacklevel=4,
    )
