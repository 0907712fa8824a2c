"""Temperature scaling."""

import math
from dataclasses import dataclass
from typing import Literal, Self

from calibrant._border.types import FloatArray, IntArray
from calibrant._border.warn import warn
from calibrant.calibrators import operations as ops
from calibrant.calibrators.calibrator import WarmStartCalibrator
from calibrant.calibrators.fitting.inverse_temperature import LARGEST_LOG_TEMPERATURE, best_log_beta
from calibrant.calibrators.fitting.log_odds import finite
from calibrant.calibrators.rules import TEMPERATURE


@dataclass(eq=False, repr=False)
class TemperatureScaling(WarmStartCalibrator):
    r"""Divide the logits by one temperature, chosen by maximum likelihood.

    Parameters
    ----------
    scores : {"probs", "logits"}, default="probs"

    Attributes
    ----------
    temperature_ : float
        Between exp(-16) and exp(16), and above 1 if the predictions were over-confident. If only a negative temperature
        would help, because the scores point away from the labels, it is exp(16), which gives uniform probabilities,
        with a warning. It is 1 if the likelihood does not depend on it, as for uniform rows. See the notes for
        predictions that are always right.
    gradient_norm_ : float
        Absolute derivative of the mean log-likelihood with respect to the logarithm of the temperature, before the last
        step, which was below 1e-8.
    converged_ : bool
    n_iter_ : int
        Number of passes over all rows.

    Warns
    -----
    DataWarning
        If the best inverse temperature is not positive.

    Notes
    -----
    With canonical logits :math:`z_i = \ln p_i`, inverse temperature :math:`\beta = 1/T` and
    :math:`q_i = \mathrm{softmax}(\beta z_i)`, the negative log-likelihood is convex in :math:`\beta`, with derivative

    .. math:: g(\beta) = \sum_i w_i \Big(\sum_k q_{ik} z_{ik} - z_{i, y_i}\Big) / \sum_i w_i.

    The derivatives of g are the means of the variance and of the third central moment of :math:`z_{ik}` under
    :math:`q_i`, so its root is found in :math:`\ln \beta` by Halley's method, inside a bracket. In fitting, a
    probability 0 counts as the smallest normal number; a fitted map leaves it 0.

    If every label was the most probable class, the likelihood increases as T falls to 0. But n correct rows do not
    prove that the next one will be correct. So T falls only until the mean of the largest probability is
    :math:`(n + 1) / (n + 2)`, by the rule of succession, where n is the sum of the weights; if the mean is above that
    already, T is 1. (With ties, the largest probability cannot reach 1; its mean is then this share of the largest
    possible value.) The derivative is not 0 there.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, "On calibration of modern neural networks", ICML 2017.

    Examples
    --------
    >>> import numpy as np
    >>> logits = np.array([[4.0, 0.0], [4.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    >>> ts = TemperatureScaling(scores="logits").fit(logits, [0, 0, 0, 0])
    >>> ts.predict_proba(logits)[0].round(3).tolist()  # right in three of four rows
    [0.75, 0.25]
    """

    scores: Literal["probs", "logits"] = "probs"

    kind = "parametric"
    preserves_argmax = True
    n_parameters = "1"
    data_efficiency = "high"
    expressiveness = "low"
    use_when = "As the first choice: it needs few rows, keeps every decision, and corrects over-confidence."
    sensitive_to_zeros = True
    rules = (TEMPERATURE,)

    def _search(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray, near: Self | None) -> None:
        start = None if near is None else -math.log(near.temperature_)
        found = best_log_beta(finite(log_probs), labels, weights, start)
        self.temperature_: float = math.exp(-found.at)
        self.gradient_norm_ = abs(found.value) * math.exp(found.at)
        self.converged_, self.n_iter_ = found.converged, found.n_calls
        # With labels of a single class, the order of the columns is not the cause.
        if found.at == -LARGEST_LOG_TEMPERATURE and labels.min() < labels.max():
            warn(
                "the scores point away from the labels: no positive temperature is optimal, and the calibrated "
                "probabilities are nearly uniform. Make sure that the columns are in the order of the classes."
            )

    def _apply(self, log_probs: FloatArray) -> FloatArray:
        return log_probs / self.temperature_

    def _operations(self, x: ops.Value, k: int) -> ops.Value:  # noqa: ARG002 (one signature)
        return x / self.temperature_
