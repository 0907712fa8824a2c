"""Beta calibration."""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from calibrant._border.settings import check_option
from calibrant._border.types import BoolArray, FloatArray
from calibrant._core.laws import softplus
from calibrant.calibrators import operations as ops
from calibrant.calibrators.binary.platt import LogisticCalibrator
from calibrant.calibrators.fitting.log_odds import bounded, bounded_operations
from calibrant.calibrators.fitting.logistic import LogisticFit, fit_logistic
from calibrant.calibrators.rules import Rule, are_finite, are_not_negative


@dataclass(eq=False, repr=False)
class BetaCalibration(LogisticCalibrator):
    r"""Beta calibration: exact if the scores of each class follow a beta distribution.

    Parameters
    ----------
    parameters : {"abm", "am", "ab"}, default="abm"
        Which parameters are free. "am" sets a = b, which is logistic regression on the log-odds; "ab" maps 1/2 to
        itself.
    scores : {"probs", "logits"}, default="probs"

    Attributes
    ----------
    a_, b_, c_ : float
        The calibrated log-odds of a probability s are :math:`c + a \ln s - b \ln(1 - s)`, with :math:`a, b \ge 0`. The
        identity is a = b = 1, c = 0.
    converged_ : bool
    gradient_norm_ : float
        Largest derivative of the mean log-loss at the solution, for standardised features, other than those at an
        active bound.

    Notes
    -----
    The likelihood is maximised subject to these bounds, so the map never decreases. The published third parameter m
    satisfies :math:`c = b \ln(1 - m) - a \ln m`. Degenerate data is treated as in `PlattScaling`.

    References
    ----------
    M. Kull, T. Silva Filho, P. Flach, "Beyond sigmoids: how to obtain well-calibrated probabilities from binary
    classifiers with beta calibration", Electronic Journal of Statistics 11 (2017).

    Examples
    --------
    >>> beta = BetaCalibration("ab").fit([0.2, 0.2, 0.2, 0.8, 0.8, 0.8], [0, 0, 1, 0, 1, 1])
    >>> beta.predict_proba([0.2, 0.5, 0.8])[:, 1].round(3).tolist()
    [0.333, 0.5, 0.667]
    """

    parameters: Literal["abm", "am", "ab"] = "abm"
    scores: Literal["probs", "logits"] = "probs"

    data_efficiency = "high"
    expressiveness = "medium"
    use_when = "There are two classes and a few hundred rows, and the ranking must not change."
    rules = (
        Rule(("a_", "b_"), are_not_negative, "must not be negative"),
        Rule(("c_",), are_finite, "must be finite"),
    )

    @property
    def n_parameters(self) -> str:  # type: ignore[override]  # depends on a setting
        """Number of free parameters."""
        return str(len(self.parameters))

    def fit_line(self, scores: FloatArray, hits: BoolArray, weights: FloatArray) -> Self:
        """Learn a, b and c."""
        fitted = self._maximised(bounded(scores), hits.astype(np.float64), weights)
        first, last = fitted.coef[0], fitted.coef[-1]
        self.a_, self.b_, self.c_ = float(first), float(last), fitted.intercept
        if self.parameters == "ab":
            self.c_ = float(np.log(2.0) * (first - last))
        self._report(fitted)
        return self

    def log_odds(self, scores: FloatArray) -> FloatArray:
        """Return the calibrated log-odds of class 1."""
        x = bounded(scores)
        return self.c_ - self.a_ * softplus(-x) + self.b_ * softplus(x)

    def _line_operations(self, x: ops.Value) -> ops.Value:
        x = bounded_operations(x)
        return ops.softplus(x) * self.b_ - ops.softplus(-x) * self.a_ + self.c_

    def _maximised(self, x: FloatArray, targets: FloatArray, weights: FloatArray) -> LogisticFit:
        check_option(self.parameters, "parameters", "abm", "am", "ab")
        prior = np.array([0.0, 1.0, 1.0])
        if self.parameters == "am":
            return fit_logistic(x[:, None], targets, weights, prior[:2], bounded=True)
        features = np.column_stack([-softplus(-x), softplus(x)])
        if self.parameters == "abm":
            return fit_logistic(features, targets, weights, prior, bounded=True)
        half = np.log(2.0) * np.array([1.0, -1.0])
        return fit_logistic(features + half, targets, weights, prior, intercept=False, bounded=True)
