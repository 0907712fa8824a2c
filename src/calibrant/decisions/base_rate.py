"""The base rate of rows without labels, and labelled predictions as they would be at another base rate."""

import numpy as np

from calibrant._border.checks import as_probabilities, as_weights, check_level
from calibrant._border.convert import convert
from calibrant._border.types import FloatArray
from calibrant._core.laws import normal_quantile
from calibrant._core.roots import root
from calibrant.calibrators.prior_shift import as_rates, log_ratios
from calibrant.counts import class_shares
from calibrant.exceptions import InputError
from calibrant.hypotest.finding.weights import mark
from calibrant.predictions import Predictions, check_predictions
from calibrant.results import BaseRate

ASSUMPTION = (
    "The probabilities are calibrated for the old base rate, and only the shares of the classes have changed: each "
    "class looks as it did. Neither can be seen in rows without labels."
)

KNOWN = "The limits take the old base rate for known: one that was counted in few rows adds an error of its own."

EDGE = 1e-12
"""How near to 0 and 1 a base rate is looked for, before the end itself is taken."""


def estimate_base_rate(
    probs: object, trained_rate: float, sample_weight: object = None, *, level: float = 0.95
) -> BaseRate:
    r"""Return the most likely base rate of rows without labels, with its interval.

    Parameters
    ----------
    probs : array-like of shape (n,) or (n, 2), or Predictions
        Probabilities of class 1 for new rows, calibrated for the old base rate. Labels are not looked at.
    trained_rate : float
        The old base rate, which the probabilities are calibrated for.
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

    a concave function, whose maximum is found by its derivative. The steps of expectation and maximisation that are
    usual for it have the same limit. The limits are where twice the loss of likelihood reaches the quantile of
    chi-squared with one degree of freedom; with unequal weights it is scaled by the ratio of the variance of the
    derivative to its curvature. They hold what the rows leave open, not the error of the old base rate, which
    `estimate_base_rates` adds if it is given rows of it, nor that of the calibrator.

    With probabilities that are not calibrated the limits mean nothing: logits that are twice too large make limits of
    95 % cover 5 %.

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
    """Return probabilities and weights of rows that have any; the sum of the weights is their effective number.

    Examples
    --------
    >>> read_rows([0.2, 0.9, 0.5], [1.0, 1.0, 0.0])[1].tolist()
    [1.0, 1.0]
    """
    if isinstance(probs, Predictions):
        if sample_weight is not None:
            raise TypeError("Predictions hold their weights: pass them alone.")
        matrix, weights = probs.probs, probs.weights
    else:
        matrix, _ = as_probabilities(probs)
        raw = None if sample_weight is None else convert(sample_weight, "sample_weight")
        weights = as_weights(raw, len(matrix))
    used = weights > 0
    kept = weights[used] / weights.max()
    return matrix[used], kept * (kept.sum() / (kept @ kept))


class _Likelihood:
    """The likelihood of a base rate, by the densities of every row in both classes, relative to each other."""

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
        """Return where the likelihood is largest, which may be 0 or 1."""
        if self.slope(EDGE) <= 0:
            return 0.0
        if self.slope(1 - EDGE) >= 0:
            return 1.0
        return root(self.slope, EDGE, 1 - EDGE, xtol=1e-15)

    def limits(self, best: float, loss: float) -> tuple[float, float]:
        """Return where the likelihood has fallen by `loss`, times the scale that unequal weights make."""
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
    """Return predictions, and weights of their rows, for another base rate.

    The probabilities are corrected, as `PriorShift` does, and the rows of each class are weighted so that the labels
    have the new base rate. What is then measured is what is to be expected there, if each class looks as it does here.

    Parameters
    ----------
    predictions : Predictions
        Calibrated, or to be judged, for the base rate of their own labels.
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
            f"another base rate needs rows of every class, but class {missing!r} has none. Add rows of it."
        )
    new = as_rates(base_rate, predictions.n_classes, "base_rate")
    ratios = log_ratios(found, new)
    weights = predictions.weights * np.exp(ratios)[predictions.labels]
    return mark(
        Predictions.from_logits(
            predictions.log_probs + ratios, predictions.labels, weights, classes=predictions.classes
        )
    )
