"""Base of vector, matrix, Dirichlet and structured scaling: an affine map of the log-probabilities, then softmax."""

import math
from typing import Self

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant._core.newton import Minimum
from calibrant.calibrators import operations as ops
from calibrant.calibrators.calibrator import Calibrator
from calibrant.calibrators.fitting.inverse_temperature import best_log_beta
from calibrant.calibrators.fitting.log_odds import SMALLEST_LOG_PROB, floored
from calibrant.calibrators.fitting.newton import warn_unless_converged
from calibrant.calibrators.raw_logits import uses_raw_logits

RIDGE = 1e-10
"""Factor of the squared distance from a simpler map, added to the mean loss. It matters only where the data does not
determine the map, for instance if the classes are separable and the likelihood has no maximum."""


class AffineScaling(Calibrator):
    """Base of the maps softmax(A ln(p) + b), or softmax(A z + b) of raw logits z.

    Attributes
    ----------
    coef_ : ndarray of shape (K,) or (K, K)
        A, or its diagonal where the rest is 0.
    intercept_ : ndarray of shape (K,)
    converged_ : bool
    gradient_norm_ : float
        Largest derivative of the objective with respect to a parameter.
    n_iter_ : int
    """

    preserves_argmax = False
    max_iter: int

    def _standardised(self, log_probs: FloatArray, weights: FloatArray) -> tuple[FloatArray, float, float]:
        """Return the scores to fit, and for raw logits the centre that was subtracted and the unit that divided them.

        Raw logits can have any scale, and can all lie far from 0, where factors and intercepts are nearly collinear.
        """
        if not uses_raw_logits(self):
            return floored(log_probs), 0.0, 1.0
        shares = weights / weights.sum()
        centre = float(shares @ log_probs.mean(axis=1))
        scores = log_probs - centre
        unit = float(np.sqrt(shares @ np.mean(scores * scores, axis=1))) or 1.0
        return scores / unit, centre, unit

    def _keep(self, found: Minimum, n_classes: int, centre: float = 0.0, unit: float = 1.0) -> Self:
        """Store a minimum: one row of parameters per class, with the intercept last."""
        parameters = found.x.reshape(n_classes, -1)
        coef = parameters[:, :-1] / unit
        self.coef_ = coef[:, 0].copy() if coef.shape[1] == 1 else coef.copy()
        self.intercept_ = parameters[:, -1] - centre * coef.sum(axis=1)
        self.converged_, self.gradient_norm_, self.n_iter_ = found.converged, found.gradient_norm, found.n_iter
        warn_unless_converged(found, type(self).__name__)
        return self

    def _apply(self, log_probs: FloatArray) -> FloatArray:
        scores = log_probs if uses_raw_logits(self) else floored(log_probs)
        logits = scores * self.coef_ if self.coef_.ndim == 1 else scores @ self.coef_.T
        logits += self.intercept_
        return logits

    def _operations(self, x: ops.Value, k: int) -> ops.Value:  # noqa: ARG002 (one signature)
        scores = x if uses_raw_logits(self) else x.at_least(SMALLEST_LOG_PROB)
        return ops.affine(scores, self.coef_, self.intercept_)


def scaled_diagonal(scores: FloatArray, labels: IntArray, weights: FloatArray) -> FloatArray:
    """Return the best temperature scaling as parameters of a diagonal map, (K, 2)."""
    beta = math.exp(best_log_beta(scores, labels, weights).at)
    return np.tile([beta, 0.0], (scores.shape[1], 1))


def as_matrix(diagonal: FloatArray) -> FloatArray:
    """Return the parameters of a diagonal map, (K, 2), as those of a full map, (K, K + 1)."""
    return np.column_stack([np.diag(diagonal[:, 0]), diagonal[:, 1]])
