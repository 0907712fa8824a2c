"""The base rate of rows without labels, and labelled predictions moved to another base rate."""

import numpy as np

from calibrant._border.checks import as_probabilities, as_weights
from calibrant._border.convert import convert
from calibrant._border.settings import check_level
from calibrant._border.types import FloatArray
from calibrant._core.laws import normal_quantile
from calibrant._core.roots import root
from calibrant.calibrators.multiclass.prior_shift import as_rates, log_ratios
from calibrant.counts import class_shares
from calibrant.exceptions import InputError
from calibrant.hypotest.calibration_test import mark_weights
from calibrant.predictions import Predictions, check_predictions
from calibrant.results import BaseRate

ASSUMPTION = (
    "The probabilities are calibrated for the old base rate, and only the shares of the classes have changed: each "
    "class looks as it did. Neither can be checked on rows without labels."
)

KNOWN = "The limits treat the old base rate as known: one that was counted in few rows adds an error of its own."

EDGE = 1e-12
"""A base rate is searched for between this and 1 minus this; beyond, 0 or 1 is returned."""


def estimate_base_rate(
    probs: object, trained_rate: float, sample_weight: object = None, *, level: float = 0.95
) -> BaseRate:
    r"""Return the most likely base rate of rows without labels, with its interval.

    Parameters
    ----------
    probs : array-like of shape (n,) or (n, 2), or Predictions
        Probabilities of class 1 for new rows, calibrated for the old base rate. Labels are ignored.
    trained_rate : float
        The old base rate, for which the probabilities are calibrated.
    sample_weight : array-like of shape (n,), optional
        Relative weights.
    level : float, default=0.95

    Returns
    -------
    BaseRate

    Notes
    -----
    With the old base rate :math:`\pi`, the log-likelihood of a new one is

    .. math:: \ell(\pi') = \sum_i w_i \ln\Big(\pi' \frac{p_i}{\pi} + (1 - \pi') \frac{1 - p_i}{1 - \pi}\Big),

    a concave function, whose maximum is the root of its derivative; the usual EM algorithm converges to the same value.
    The limits are where twice the loss of log-likelihood reaches the quantile of chi-squared with one degree of
    freedom; with unequal weights that quantile is multiplied by the ratio of the variance of the derivative to the
    curvature. The limits reflect the randomness of the new rows only. They ignore the error of the calibrator and that
    of the old base rate; `estimate_base_rates` includes the latter, if it is given the rows.

    With probabilities that are not calibrated the limits mean nothing: if logits are twice too large, limits of 95%
    cover in 5% of the cases.

    References
    ----------
    M. Saerens, P. Latinne, C. Decaestecker, "Adjusting the outputs of a classifier to new a priori probabilities",
    Neural Computation 14 (2002). A. Alexandari, A. Kundaje, A. Shrikumar, "Maximum likelihood with bias-corrected
    calibration is hard-to-beat at label shift adaptation", ICML 2020.

    Examples
    --------
    >>> found = estimate_base_rate([0.9, 0.8, 0.6, 0.3, 0.2, 0.1, 0.05, 0.4], 0.5)
    >>> round(found.value, 6), found.low < 0.2 < found.high
    (0.285064, True)
    """
    check_level(level)
    matrix, weights = read_rows(probs, sample_weight)
    if matrix.shape[1] != 2:
        raise InputError(
            f"one base rate is estimated for two classes, but there are {matrix.shape[1]}. Use estimate_base_rates, "
            "which returns the share of each."
        )
    positive = matrix[:, 1]
    old = float(as_rates(trained_rate, 2, "trained_rate")[1])
    likelihood = _Likelihood(positive / old, (1 - positive) / (1 - old), weights)
    value = likelihood.maximum()
    low, high = likelihood.limits(value, normal_quantile((1 + level) / 2) ** 2 / 2)
    return BaseRate(
        value=value,
        low=low,
        high=high,
        level=level,
        trained_rate=old,
        n_samples=len(positive),
        assumption=f"{ASSUMPTION} {KNOWN}",
    )


def read_rows(probs: object, sample_weight: object) -> tuple[FloatArray, FloatArray]:
    """Return probabilities and weights of the rows of positive weight; the weights sum to their effective number.

    Examples
    --------
    >>> read_rows([0.2, 0.9, 0.5], [1.0, 1.0, 0.0])[1].tolist()
    [1.0, 1.0]
    """
    if isinstance(probs, Predictions):
        if sample_weight is not None:
            raise TypeError("sample_weight must be left out if probs is Predictions, which hold their own weights.")
        matrix, weights = probs.probs, probs.weights
    else:
        matrix, _ = as_probabilities(probs)
        raw = None if sample_weight is None else convert(sample_weight, "sample_weight")
        weights = as_weights(raw, len(matrix))
    used = weights > 0
    kept = weights[used] / weights.max()
    return matrix[used], kept * (kept.sum() / (kept @ kept))


class _Likelihood:
    """The likelihood of a base rate, given the relative densities of each row in the two classes."""

    def __init__(self, event: FloatArray, other: FloatArray, weights: FloatArray) -> None:
        self.event, self.other, self.weights = event, other, weights

    def mixture(self, rate: float) -> FloatArray:
        return rate * self.event + (1 - rate) * self.other

    def value(self, rate: float) -> float:
        with np.errstate(divide="ignore"):
            return float(self.weights @ np.log(self.mixture(rate)))

    def scores(self, rate: float) -> FloatArray:
        return (self.event - self.other) / self.mixture(rate)

    def slope(self, rate: float) -> float:
        return float(self.weights @ self.scores(rate))

    def maximum(self) -> float:
        """Return the base rate of largest likelihood, which may be 0 or 1."""
        if self.slope(EDGE) <= 0:
            return 0.0
        if self.slope(1 - EDGE) >= 0:
            return 1.0
        return root(self.slope, EDGE, 1 - EDGE, xtol=1e-15)

    def limits(self, best: float, loss: float) -> tuple[float, float]:
        """Return where the log-likelihood has fallen by `loss`, scaled for unequal weights."""
        inside = min(max(best, EDGE), 1 - EDGE)
        squares = self.scores(inside) ** 2
        curvature = float(self.weights @ squares)
        scale = float(self.weights**2 @ squares) / curvature if curvature > 0 else 1.0
        bar = self.value(best) - loss * scale

        def above(rate: float) -> float:
            return max(self.value(rate), -1e300) - bar

        low = 0.0 if best <= EDGE or above(EDGE) >= 0 else root(above, EDGE, best, xtol=1e-13)
        high = 1.0 if best >= 1 - EDGE or above(1 - EDGE) >= 0 else root(above, best, 1 - EDGE, xtol=1e-13)
        return low, high


def move_base_rate(predictions: Predictions, base_rate: object) -> Predictions:
    """Return predictions, with probabilities and weights, moved to another base rate.

    The probabilities are corrected, as `PriorShift` does, and the rows of each class are weighted so that the labels
    have the new base rate. Measures of the result estimate those at the new base rate, if each class looks the same
    there.

    Parameters
    ----------
    predictions : Predictions
        Predictions for the base rate of their own labels.
    base_rate : float, or sequence of length K
        The new share of class 1 of two classes, or of every class.

    Returns
    -------
    Predictions

    Examples
    --------
    >>> p = Predictions([0.8, 0.3, 0.2, 0.7], labels=[1, 0, 0, 1])
    >>> moved = move_base_rate(p, 0.1)
    >>> float(np.average(moved.labels, weights=moved.weights)).__round__(6), moved.positive.round(4).tolist()
    (0.1, [0.3077, 0.0455, 0.027, 0.2059])
    """
    check_predictions(predictions)
    found = class_shares(predictions)
    if not np.all(found > 0):
        missing = predictions.classes[int(np.flatnonzero(found <= 0)[0])]
        raise InputError(
            f"moving to another base rate needs rows of every class, but class {missing!r} has none. Add rows of it."
        )
    new = as_rates(base_rate, predictions.n_classes, "base_rate")
    ratios = log_ratios(found, new)
    weights = predictions.weights * np.exp(ratios)[predictions.labels]
    return mark_weights(
        Predictions.from_logits(
            predictions.log_probs + ratios, predictions.labels, weights, classes=predictions.classes
        )
    )
