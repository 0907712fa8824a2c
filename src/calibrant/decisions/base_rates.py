"""The shares of several classes among rows without labels, also if the old shares are estimated from rows."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from calibrant._border.settings import check_level
from calibrant._border.types import FloatArray
from calibrant._core.laws import normal_quantile
from calibrant._core.roots import root
from calibrant.calibrators.fitting.mixtures import least_nll, mixture_loss
from calibrant.calibrators.fitting.newton import minimise_nonnegative
from calibrant.calibrators.multiclass.prior_shift import as_rates
from calibrant.decisions.base_rate import ASSUMPTION, KNOWN, read_rows
from calibrant.exceptions import InputError
from calibrant.predictions import Predictions
from calibrant.results import BaseRates

LEAST_LEFT = 0.1
"""Old shares are not moved below this fraction of their value."""


LEAST = 1e-100
"""A smaller probability counts as this one, so that its logarithm is finite."""

MOST_CLASSES = 30
"""With more classes there are no limits: their time grows with the cube of the number of classes."""


def estimate_base_rates(
    probs: object,
    trained_rate: object,
    sample_weight: object = None,
    *,
    classes: Iterable[object] | None = None,
    level: float = 0.95,
) -> BaseRates:
    r"""Return the most likely share of every class among rows without labels, with limits.

    Parameters
    ----------
    probs : array-like of shape (n, K), or Predictions
        Probabilities for new rows, calibrated for the old shares. Labels are ignored.
    trained_rate : sequence of length K, float, or Predictions
        The old share of every class, for which the probabilities are calibrated; with two classes, that of class 1. Or
        predictions by the same model for rows that have the old shares, which are then the means of the probabilities;
        the limits include their error.
    sample_weight : array-like of shape (n,), optional
        Relative weights.
    classes : sequence of length K, optional
        Names of the classes; by default those of Predictions, or 0 to K - 1.
    level : float, default=0.95
        Level of the limits of each single class, which are given for up to 30 classes.

    Returns
    -------
    BaseRates

    Notes
    -----
    With the old shares :math:`\pi_k`, the log-likelihood of new ones is the concave function

    .. math:: \ell(\pi') = \sum_i w_i \ln \sum_k \pi'_k \frac{p_{ik}}{\pi_k}.

    Its maximum is found by Newton's method over shares that are not negative; the usual EM algorithm converges to the
    same value. A share may be 0. The limits of class k are those of the profile likelihood: where twice the loss of
    log-likelihood, maximised over the other shares, reaches the quantile of chi-squared with one degree of freedom.
    This is a problem of the same kind, in which the columns of the other classes j are
    :math:`\pi'_k p_{ik} / \pi_k + (1 - \pi'_k) p_{ij} / \pi_j`, as their fractions of the rest sum to 1. Unequal
    weights are taken into account as in `estimate_base_rate`, which is the case of two classes.

    If the old shares are estimated from rows, means of probabilities are more precise than frequencies of labels, and
    most of an offset common to all log-odds cancels. The error of the old shares can dominate: with 300 such rows and
    3000 new ones, limits of 95% that ignore it cover 55% to 68%, and 28% to 54% if frequencies of labels are used
    (docs/validity/decisions.md).

    References
    ----------
    M. Saerens, P. Latinne, C. Decaestecker, "Adjusting the outputs of a classifier to new a priori probabilities",
    Neural Computation 14 (2002).

    Examples
    --------
    >>> probs = [[0.8, 0.1, 0.1], [0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]] * 25
    >>> found = estimate_base_rates(probs, [1 / 3, 1 / 3, 1 / 3])
    >>> found.value.round(2).tolist(), bool((found.low < found.value).all())
    ([0.54, 0.25, 0.21], True)
    """
    check_level(level)
    matrix, weights = read_rows(probs, sample_weight)
    names = _names(probs, classes, matrix.shape[1])
    old, chance = _old(trained_rate, names)
    likelihood = _Shares.of(matrix, old, weights)
    low = high = None
    if len(old) <= MOST_CLASSES:
        reach = normal_quantile((1 + level) / 2)
        if chance is None:
            limits = np.array([likelihood.limits(k, reach) for k in range(len(old))])
        else:
            limits = _widened_limits(lambda shares: _Shares.of(matrix, shares, weights), old, chance, reach)
        low, high = np.minimum(limits[:, 0], likelihood.best), np.maximum(limits[:, 1], likelihood.best)
    return BaseRates(
        classes=names,
        value=likelihood.best,
        low=low,
        high=high,
        level=level,
        trained_rate=old,
        n_samples=len(matrix),
        n_trained=trained_rate.n_samples if isinstance(trained_rate, Predictions) else None,
        assumption=ASSUMPTION if chance is not None else f"{ASSUMPTION} {KNOWN}",
        reason="" if low is not None else f"limits of more than {MOST_CLASSES} classes take too long",
    )


def _names(probs: object, classes: Iterable[object] | None, n_classes: int) -> tuple[object, ...]:
    if isinstance(probs, Predictions):
        if classes is not None:
            raise TypeError("classes must be left out if probs is Predictions, which hold their own classes.")
        return probs.classes
    names = tuple(range(n_classes) if classes is None else classes)
    if len(names) != n_classes:
        raise InputError(f"classes must hold {n_classes} names, one per column, but there are {len(names)}.")
    return names


def _old(trained_rate: object, names: tuple[object, ...]) -> tuple[FloatArray, FloatArray | None]:
    """Return the old shares, and a root of their covariance if they are estimated from rows."""
    if not isinstance(trained_rate, Predictions):
        return as_rates(trained_rate, len(names), "trained_rate"), None
    if trained_rate.n_classes != len(names):
        raise InputError(
            f"trained_rate must have the classes of probs, {len(names)}, but its rows have {trained_rate.n_classes}."
        )
    means, root_of_covariance = _old_shares(trained_rate)
    return as_rates(means, len(names), "trained_rate"), root_of_covariance


def _old_shares(reference: Predictions) -> tuple[FloatArray, FloatArray]:
    """Return the mean of each class's probabilities, and a root of the covariance of these means, (K, K).

    Examples
    --------
    >>> means, root = _old_shares(Predictions([0.2, 0.4, 0.6, 0.8], labels=[0, 0, 1, 1]))
    >>> means.tolist(), round(float((root @ root.T)[1, 1]), 6)
    ([0.5, 0.5], 0.0125)
    """
    parts = reference.weights / reference.weights.sum()
    means = parts @ reference.probs
    rows = parts[:, None] * (reference.probs - means)
    sizes, directions = np.linalg.eigh(rows.T @ rows)
    return means, directions * np.sqrt(np.maximum(sizes, 0.0))


def _widened_limits(
    fit: Callable[[FloatArray], "_Shares"], old: FloatArray, root: FloatArray, reach: float
) -> FloatArray:
    r"""Return the limits of every share, (K, 2), if the old shares are estimates.

    Parameters
    ----------
    fit : callable
        From old shares to the likelihood of the new ones.
    old : ndarray of shape (K,)
    root : ndarray of shape (K, K)
        A root of the covariance of the old shares.
    reach : float
        Normal quantile of the limits.

    Notes
    -----
    For each class the old shares are moved by `reach` standard errors in the direction that changes its share most.
    With the distance d between a limit and the value for known old shares, and the distance e that the value moves, or
    the limit if it moves further, the widened limit lies at :math:`\sqrt{d^2 + e^2}` from the value, since errors of
    different rows are independent (G. Y. Zou and A. Donner, "Construction of confidence limits about effect measures",
    Statistics in Medicine 27, 2008).
    """
    centre = fit(old)
    slopes = np.column_stack([(fit(_moved(old, a)).best - fit(_moved(old, -a)).best) / 2 for a in root.T])
    found = np.empty((len(old), 2))
    for k in range(len(old) == 2, len(old)):  # With two classes, the first share follows from the second.
        best = float(centre.best[k])
        size = float(np.linalg.norm(slopes[k]))
        # A share at 0 does not move, but its limit may, mostly with the old share of its own class.
        step = root @ (slopes[k] / size) if size > 0 else root @ root[k] / max(float(np.linalg.norm(root[k])), 1e-300)
        ends = [fit(_moved(old, sign * reach * step)) for sign in (-1, 1)]
        low, high = centre.limits(k, reach)
        lows, highs = zip(*(end.limits(k, reach) for end in ends), strict=True)
        values = [float(end.best[k]) for end in ends]
        below = max(best - min(values), low - min(lows), 0.0)
        above = max(max(values) - best, max(highs) - high, 0.0)
        found[k] = best - np.hypot(best - low, below), best + np.hypot(high - best, above)
    if len(old) == 2:
        found[0] = 1 - found[1, ::-1]
    return np.clip(found, 0.0, 1.0)


def _moved(old: FloatArray, step: FloatArray) -> FloatArray:
    moved = np.maximum(old + step, LEAST_LEFT * old)
    return np.asarray(moved / moved.sum())


class _Shares(NamedTuple):
    """The likelihood of shares, given the densities of each row in all classes, relative to the largest."""

    ratios: FloatArray
    weights: FloatArray
    best: FloatArray

    @classmethod
    def of(cls, probs: FloatArray, old: FloatArray, weights: FloatArray) -> "_Shares":
        logs = np.log(np.maximum(probs, LEAST)) - np.log(old)
        logs -= logs.max(axis=1, keepdims=True)
        best = least_nll(logs, weights / weights.sum()).weights
        some = best > 0
        if not some.all():  # Again without classes of share 0: their tiny columns cost digits.
            best[some] = least_nll(logs[:, some], weights / weights.sum()).weights
        return cls(np.exp(logs), weights, best)

    def loss(self, shares: FloatArray) -> float:
        """Return the log-likelihood of the best shares minus that of these."""
        with np.errstate(divide="ignore"):
            return float(self.weights @ (np.log(self.ratios @ self.best) - np.log(self.ratios @ shares)))

    def limits(self, k: int, reach: float) -> tuple[float, float]:
        """Return the shares of class k where twice the loss of profile log-likelihood is the square of `reach`."""
        root_of_bar = float(np.sqrt(reach**2 / 2 * self._scale(k)))
        others = np.delete(self.best, k)
        others = others / others.sum() if others.sum() > 0 else np.full(len(others), 1 / len(others))

        def beyond(share: float) -> float:
            """Return the root of the loss minus its bar, which is nearly linear in the share."""
            nonlocal others
            others = self._others(k, share, others)
            fallen = self.loss(np.insert((1 - share) * others, k, share))
            return float(np.sqrt(min(max(fallen, 0.0), 1e300))) - root_of_bar

        best = float(self.best[k])
        low = 0.0 if best == 0 or beyond(0.0) <= 0 else root(beyond, 0.0, best, xtol=1e-9)
        high = 1.0 if best == 1 or beyond(1.0) <= 0 else root(beyond, best, 1.0, xtol=1e-9)
        return low, high

    def _others(self, k: int, share: float, start: FloatArray) -> FloatArray:
        """Return the most likely fractions of the other classes in the rest that class k leaves."""
        # Fractions sum to 1, so the share of class k may be added to the column of every other class.
        mixed = share * self.ratios[:, [k]] + (1 - share) * np.delete(self.ratios, k, axis=1)
        objective = mixture_loss(mixed, self.weights / self.weights.sum(), np.ones(len(start)))
        found = minimise_nonnegative(objective, np.maximum(start, 1e-6), last=1e-13).x
        return np.asarray(found / found.sum())

    def _scale(self, k: int) -> float:
        """Return the factor by which unequal weights increase the variance of the loss."""
        if np.ptp(self.weights) <= 1e-12 * self.weights.max():
            return 1.0
        free = np.flatnonzero((self.best > 0) | (np.arange(len(self.best)) == k))
        slopes = self.ratios[:, free] / (self.ratios @ self.best)[:, None]
        # Shares sum to 1: directions are differences to the share that is largest.
        base = int(self.best[free].argmax())
        moves = np.delete(slopes - slopes[:, [base]], base, axis=1)
        target = np.delete((free == k).astype(float) - float(free[base] == k), base)
        curvature = (moves.T * self.weights) @ moves
        step = np.linalg.pinv(curvature) @ target
        along = moves @ step
        spread = float(self.weights @ along**2)
        return float(self.weights**2 @ along**2) / spread if spread > 0 else 1.0
