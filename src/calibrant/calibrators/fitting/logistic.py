"""Logistic regression with a prior, on standardised features, by which parametric binary maps are fitted."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, combinations

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant._core.logistic import LogisticLoss
from calibrant._core.newton import newton_step

RIDGE = 1e-12
"""Weight of the prior. It matters only where the data does not determine the map, as with scores that are all equal."""

DECREMENT = 1e-9
"""The solution has converged if the predicted decrease of a further step is at most this."""


@dataclass(frozen=True, eq=False)
class LogisticFit:
    """The solution of a logistic regression."""

    intercept: float
    coef: FloatArray
    gradient_norm: float
    """Largest derivative of the mean loss, for standardised features, other than those at an active bound."""
    converged: bool
    loss: float
    """Mean negative log-likelihood, without penalty."""
    log_det: float
    """Logarithm of the determinant of the Hessian of mean loss and penalty."""


def fit_logistic(  # noqa: PLR0913 (the parts of one problem)
    features: FloatArray,
    targets: FloatArray,
    weights: FloatArray,
    prior: FloatArray,
    *,
    intercept: bool = True,
    bounded: bool = False,
    penalty: FloatArray | None = None,
    start: LogisticFit | None = None,
) -> LogisticFit:
    r"""Minimise the weighted log-loss of :math:`\sigma(c + \sum_j \theta_j f_{ij})`, with targets in [0, 1].

    Parameters
    ----------
    prior : ndarray of shape (d + 1,)
        Intercept and coefficients where the data does not determine them. It keeps coefficients finite if the data is
        separable.
    bounded : bool
        Whether coefficients must not be negative.
    penalty : ndarray of shape (d,), optional
        For each coefficient, the factor of half its squared distance from the prior, added to the mean loss.
    start : LogisticFit, optional
        The solution of a similar problem with the same features; the minimum is then found in fewer steps.
    """
    shares = weights / weights.sum()
    means = shares @ features if intercept else np.zeros(features.shape[1])
    rows = features - means
    scales = np.sqrt(shares @ rows**2)
    scales[scales <= 1e-9 * np.abs(features).max(axis=0, initial=0.0)] = 1.0  # Constant up to rounding, or 0.
    ridge = RIDGE if penalty is None else penalty / scales**2 + RIDGE
    design = np.vstack([np.full(len(rows), float(intercept)), (rows / scales).T])
    target = np.append(prior[0] + means @ prior[1:] if intercept else 0.0, scales * prior[1:])
    ridges = np.append(RIDGE, np.broadcast_to(ridge, means.shape))
    problem = LogisticLoss(design, shares * targets, shares, penalty=ridges, target=target)
    if start is None:
        begin = _flat(targets, shares, intercept, len(design))
    else:
        begin = np.append(start.intercept + means @ start.coef, scales * start.coef)
    theta, free = _on_best_face(problem, begin) if bounded else (problem.minimum(begin).x, np.arange(len(design)))
    value, gradient, hessian = problem(theta)
    gradient, hessian = gradient[free], hessian[np.ix_(free, free)]
    decrement = -(gradient @ newton_step(theta[free], (value, gradient, hessian)))
    coef = theta[1:] / scales
    return LogisticFit(
        intercept=float(theta[0] - means @ coef),
        coef=coef,
        gradient_norm=float(np.abs(gradient).max()),
        converged=bool(decrement <= DECREMENT),
        loss=value - float(ridges @ (theta - target) ** 2) / 2,
        log_det=float(np.linalg.slogdet(hessian).logabsdet),
    )


def _flat(targets: FloatArray, shares: FloatArray, intercept: bool, n_coefficients: int) -> FloatArray:
    """Return the base rate as the start: there, unlike at the prior, no row has a curvature of 0."""
    theta = np.zeros(n_coefficients)
    if intercept:
        rate = float(shares @ targets)
        theta[0] = np.clip(np.log(max(rate, 1e-9)) - np.log(max(1 - rate, 1e-9)), -10.0, 10.0)
    return theta


def _on_best_face(problem: LogisticLoss, start: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the minimum over non-negative coefficients, and the indices of the coefficients that are not at the bound.

    The minimum of a convex function over the orthant lies inside one of its faces and is the unconstrained minimum on
    that face. There are few coefficients, so all faces are tried.
    """
    best, found = np.inf, (np.zeros(0), np.zeros(0, dtype=np.int64))
    for zeros in _subsets(range(1, len(start))):
        free = np.setdiff1d(np.arange(len(start)), zeros)
        full = np.zeros(len(start))
        full[free] = _face(problem, free).minimum(start[free]).x
        value = problem(full)[0]
        if value < best and np.all(full[1:] >= 0):
            best, found = value, (full, free)
        if not zeros and np.all(full[1:] >= 0):
            break
    return found


def _face(problem: LogisticLoss, free: IntArray) -> LogisticLoss:
    """Return the problem in the free coefficients, with all others fixed at 0."""
    penalty, target = (np.broadcast_to(values, len(problem.design)) for values in (problem.penalty, problem.target))
    return replace(problem, design=problem.design[free], penalty=penalty[free], target=target[free])


def _subsets(items: range) -> Iterator[tuple[int, ...]]:
    return chain.from_iterable(combinations(items, size) for size in range(len(items) + 1))
