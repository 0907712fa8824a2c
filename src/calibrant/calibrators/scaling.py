"""Calibrators that scale logits."""

from typing import ClassVar, Literal

import numpy as np

from calibrant._typing import FloatArray, IntArray
from calibrant.calibrators.base import Calibrator

SMALLEST_LOG_PROB = float(np.log(np.finfo(np.float64).tiny))
"""Log-probabilities below this are treated as this in fitting: an impossible label has no finite likelihood."""

LARGEST_LOG_TEMPERATURE = 8.0
"""Temperatures are searched from exp(-8) to exp(8)."""


class Identity(Calibrator):
    """Leave the probabilities as they are: the baseline of every comparison.

    Parameters
    ----------
    scores : {"probs", "logits"}, default="probs"
    """

    preserves_argmax: ClassVar[bool] = True

    def __init__(self, scores: Literal["probs", "logits"] = "probs") -> None:
        self.scores = scores

    def _fit(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        """Learn nothing."""

    def _apply(self, log_probs: FloatArray) -> FloatArray:
        return log_probs


class TemperatureScaling(Calibrator):
    r"""Divide the logits by one temperature, chosen by maximum likelihood.

    Parameters
    ----------
    scores : {"probs", "logits"}, default="probs"

    Attributes
    ----------
    temperature_ : float
        Above 1 if the predictions were over-confident. It is exp(8) or exp(-8), the ends of the search, if the
        likelihood still grows there: the first for predictions no better than chance, the second for predictions
        that are always right. It is 1 if it cannot be known because every row is uniform.
    gradient_ : float
        Derivative of the mean log-likelihood with respect to the logarithm of the temperature at the solution.

    Notes
    -----
    With canonical logits :math:`z_i = \ln p_i`, inverse temperature :math:`\beta = 1/T` and
    :math:`q_i = \mathrm{softmax}(\beta z_i)`, the negative log-likelihood is convex in :math:`\beta`, with derivative

    .. math:: g(\beta) = \sum_i w_i \Big(\sum_k q_{ik} z_{ik} - z_{i, y_i}\Big) / \sum_i w_i.

    Its root is bracketed and found in :math:`\ln \beta`.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, "On calibration of modern neural networks", ICML 2017.

    Examples
    --------
    >>> logits = np.array([[4.0, 0.0], [4.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    >>> ts = TemperatureScaling(scores="logits").fit(logits, [0, 0, 0, 0])
    >>> ts.predict_proba(logits)[0].round(3).tolist()  # right in three of four rows
    [0.75, 0.25]
    """

    preserves_argmax: ClassVar[bool] = True

    def __init__(self, scores: Literal["probs", "logits"] = "probs") -> None:
        self.scores = scores

    def _fit(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        from scipy.optimize import brentq

        logits = np.maximum(log_probs, SMALLEST_LOG_PROB)
        observed = logits[np.arange(len(labels)), labels]
        share = weights / weights.sum()

        def slope(log_beta: float) -> float:
            scaled = logits * np.exp(log_beta)
            scaled -= scaled.max(axis=1, keepdims=True)
            np.exp(scaled, out=scaled)
            expected = np.einsum("ik,ik->i", scaled, logits) / scaled.sum(axis=1)
            return float(share @ (expected - observed))

        low, high = -LARGEST_LOG_TEMPERATURE, LARGEST_LOG_TEMPERATURE
        if np.ptp(logits, axis=1).max() == 0:
            log_beta = 0.0
        elif slope(low) >= 0:
            log_beta = low
        elif slope(high) <= 0:
            log_beta = high
        else:
            log_beta = float(brentq(slope, low, high, xtol=1e-12))
        self.temperature_ = float(np.exp(-log_beta))
        self.gradient_ = slope(log_beta) * float(np.exp(log_beta))

    def _apply(self, log_probs: FloatArray) -> FloatArray:
        return log_probs / self.temperature_
