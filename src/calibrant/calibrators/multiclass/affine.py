"""Vector and matrix scaling and Dirichlet calibration: an affine map of the log-probabilities, then softmax."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from calibrant._border.settings import check_not_negative, check_option
from calibrant._border.types import FloatArray, IntArray
from calibrant._core.newton import Minimum
from calibrant.calibrators import operations as ops
from calibrant.calibrators.calibrator import Calibrator
from calibrant.calibrators.fitting.inverse_temperature import best_log_beta
from calibrant.calibrators.fitting.log_odds import SMALLEST_LOG_PROB, floored
from calibrant.calibrators.fitting.newton import diagnostics, minimise
from calibrant.calibrators.fitting.softmax import Diagonal, Full, PenalisedLikelihood
from calibrant.calibrators.inputs import RAW_LOGITS
from calibrant.calibrators.rules import AFFINE, Rule

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

    kind = "parametric"
    preserves_argmax = False
    rules: ClassVar[tuple[Rule, ...]] = (AFFINE,)
    max_iter: int

    def _standardised(self, log_probs: FloatArray, weights: FloatArray) -> tuple[FloatArray, float, float]:
        """Return the scores to fit, and for raw logits the centre that was subtracted and the unit that divided them.

        Raw logits can have any scale, and can all lie far from 0, where factors and intercepts are nearly collinear.
        """
        if self.scores != RAW_LOGITS:
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
        self.converged_, self.gradient_norm_, self.n_iter_ = diagnostics(found, type(self).__name__)
        return self

    def _apply(self, log_probs: FloatArray) -> FloatArray:
        return self._moved(log_probs if self.scores == RAW_LOGITS else floored(log_probs))

    def _moved(self, scores: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Return the affine map of the scores, written to `out` if it is diagonal."""
        logits = np.multiply(scores, self.coef_, out=out) if self.coef_.ndim == 1 else scores @ self.coef_.T
        logits += self.intercept_
        return logits

    def _operations(self, x: ops.Value, k: int) -> ops.Value:  # noqa: ARG002 (one signature)
        scores = x if self.scores == RAW_LOGITS else x.at_least(SMALLEST_LOG_PROB)
        return ops.affine(scores, self.coef_, self.intercept_)


def scaled_diagonal(scores: FloatArray, labels: IntArray, weights: FloatArray) -> FloatArray:
    """Return the best temperature scaling as parameters of a diagonal map, (K, 2)."""
    beta = math.exp(best_log_beta(scores, labels, weights).at)
    return np.tile([beta, 0.0], (scores.shape[1], 1))


def as_matrix(diagonal: FloatArray) -> FloatArray:
    """Return the parameters of a diagonal map, (K, 2), as those of a full map, (K, K + 1)."""
    return np.column_stack([np.diag(diagonal[:, 0]), diagonal[:, 1]])


@dataclass(eq=False, repr=False)
class LikelihoodScaling(AffineScaling):
    """Base of vector and matrix scaling: maximum likelihood, on log-probabilities or raw logits."""

    max_iter: int = 100
    scores: Literal["probs", "logits", "raw-logits"] = "probs"

    accepts_raw_logits = True
    sensitive_to_zeros = True


class VectorScaling(LikelihoodScaling):
    r"""Multiply the log-probability of each class by a number, add a number, and take the softmax.

    Parameters
    ----------
    max_iter : int, default=100
        Largest number of Newton steps.
    scores : {"probs", "logits", "raw-logits"}, default="probs"

    Attributes
    ----------
    coef_, intercept_ : ndarrays of shape (K,)
        For a class without rows they drive the probability towards 0.
    converged_, gradient_norm_, n_iter_ : bool, float and int

    Notes
    -----
    :math:`q = \mathrm{softmax}(a \odot \ln p + b)` by maximum likelihood. The search starts at temperature scaling, so
    the result is never worse than that on the rows of the fit. A number added to all logits of a row does not matter,
    because the map acts on log-probabilities. A log-probability below -708, such as that of 0, counts as -708.

    With `scores="raw-logits"` it is :math:`\mathrm{softmax}(a \odot z + b)` of the unnormalised logits z, as first
    published. A number c added to the logits of a row then adds :math:`a_k c` to the score of class k, so the map can
    use the size of the logits, which probabilities do not show.

    If the classes are separable, or one has no rows, the likelihood has no maximum. Therefore the squared distance from
    the parameters of temperature scaling, times :math:`10^{-10}`, is added to the mean loss. The solution is then
    finite and unique, and a row of weight w still counts as w rows.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, "On calibration of modern neural networks", ICML 2017.

    Examples
    --------
    >>> import numpy as np
    >>> probs = np.repeat([[0.8, 0.2], [0.5, 0.5]], 10, axis=0)
    >>> labels = [0] * 6 + [1] * 4 + [0] * 3 + [1] * 7
    >>> VectorScaling().fit(probs, labels).predict_proba([[0.8, 0.2], [0.5, 0.5]]).round(3).tolist()
    [[0.6, 0.4], [0.3, 0.7]]
    """

    n_parameters = "2K"
    data_efficiency = "medium"
    expressiveness = "medium"
    use_when = "If some classes are predicted too often, and there are dozens of rows per class."

    def _fit(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        scores, centre, unit = self._standardised(log_probs, weights)
        self._keep(_best_diagonal(scores, labels, weights, self.max_iter), scores.shape[1], centre, unit)


def _best_diagonal(scores: FloatArray, labels: IntArray, weights: FloatArray, max_iter: int) -> Minimum:
    """Return the diagonal map that maximises the likelihood."""
    start = scaled_diagonal(scores, labels, weights)
    likelihood = PenalisedLikelihood(Diagonal(scores), labels, weights, penalty=RIDGE, target=start)
    return minimise(likelihood, start.ravel(), max_iter=max_iter)


class MatrixScaling(LikelihoodScaling):
    r"""Multiply the log-probabilities by a matrix, add a vector, and take the softmax.

    It overfits unless there are many rows per parameter: `StructuredScaling` is nearly always better.

    Parameters
    ----------
    max_iter : int, default=100
        Largest number of Newton steps.
    scores : {"probs", "logits", "raw-logits"}, default="probs"

    Attributes
    ----------
    coef_ : ndarray of shape (K, K)
    intercept_ : ndarray of shape (K,)
    converged_, gradient_norm_, n_iter_ : bool, float and int

    Notes
    -----
    :math:`q = \mathrm{softmax}(A \ln p + b)` by maximum likelihood. The search starts at vector scaling, so the result
    is never worse than that on the rows of the fit. Small probabilities, raw logits and separable classes are treated
    as in `VectorScaling`, with the distance from the parameters of vector scaling.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, "On calibration of modern neural networks", ICML 2017.
    """

    n_parameters = "K^2 + K"
    data_efficiency = "low"
    expressiveness = "high"
    use_when = "With few classes and thousands of rows per class; otherwise use structured scaling."

    def _fit(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        scores, centre, unit = self._standardised(log_probs, weights)
        n_classes = scores.shape[1]
        start = as_matrix(_best_diagonal(scores, labels, weights, self.max_iter).x.reshape(n_classes, 2))
        likelihood = PenalisedLikelihood(Full(scores), labels, weights, penalty=RIDGE, target=start)
        self._keep(minimise(likelihood, start.ravel(), max_iter=self.max_iter), n_classes, centre, unit)


@dataclass(eq=False, repr=False)
class DirichletCalibration(AffineScaling):
    r"""Matrix scaling with a penalty: the calibration map of Dirichlet distributed probabilities.

    Parameters
    ----------
    penalty : {"odir", "l2"}, default="odir"
        "odir" penalises the off-diagonal entries and the intercepts; "l2" penalises all parameters.
    strength : float, default=0.1
        Factor of the penalty of the matrix. "l2" shrinks towards uniform probabilities and needs less, about 0.001.
    intercept_strength : float, optional
        Factor of the penalty of the intercepts; by default `strength`.
    normalisation : {"sum", "mean"}, default="sum"
        Whether the penalties are sums of squares, as in the published code, or means over the penalised entries of the
        matrix and over the intercepts, as in the paper. For the same penalty, the strength of the matrix with "mean" is
        K (K - 1) times ("l2": K^2 times) that with "sum", and that of the intercepts K times.
    max_iter : int, default=100
        Largest number of Newton steps.
    scores : {"probs", "logits"}, default="probs"

    Attributes
    ----------
    coef_ : ndarray of shape (K, K)
    intercept_ : ndarray of shape (K,)
    converged_, gradient_norm_, n_iter_ : bool, float and int

    Notes
    -----
    Minimises the mean negative log-likelihood of :math:`q = \mathrm{softmax}(A \ln p + b)` plus, for "odir",
    :math:`\lambda \sum_{i \ne j} A_{ij}^2 + \mu \sum_j b_j^2`, with :math:`\lambda / (K (K - 1))` and :math:`\mu / K`
    instead if normalised by the mean. Parameters without a penalty, such as the diagonal, have a factor of
    :math:`10^{-10}`, so the solution is finite even if the classes are separable. A log-probability below -708, such as
    that of 0, counts as -708. The best strengths depend on the data; the paper chose both from powers of ten, by
    cross-validated log loss.

    References
    ----------
    M. Kull, M. Perello-Nieto, M. Kängsepp, T. Silva Filho, H. Song, P. Flach, "Beyond temperature scaling: Obtaining
    well-calibrated multi-class probabilities with Dirichlet calibration", NeurIPS 2019.
    """

    penalty: Literal["odir", "l2"] = "odir"
    strength: float = 0.1
    intercept_strength: float | None = None
    normalisation: Literal["sum", "mean"] = "sum"
    max_iter: int = 100
    scores: Literal["probs", "logits"] = "probs"

    n_parameters = "K^2 + K"
    data_efficiency = "medium"
    expressiveness = "high"
    use_when = "With few classes, and enough rows to choose the strength by cross-validation."
    sensitive_to_zeros = True

    def _fit(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        scores = floored(log_probs)
        likelihood = PenalisedLikelihood(Full(scores), labels, weights, penalty=self._penalties(scores.shape[1]))
        start = as_matrix(scaled_diagonal(scores, labels, weights))
        self._keep(minimise(likelihood, start.ravel(), max_iter=self.max_iter), scores.shape[1])

    def _penalties(self, k: int) -> FloatArray:
        """Return the factor of each squared parameter, (K, K + 1)."""
        check_option(self.penalty, "penalty", "odir", "l2")
        check_option(self.normalisation, "normalisation", "sum", "mean")
        check_not_negative(self.strength, "strength")
        penalised = np.ones((k, k)) if self.penalty == "l2" else 1.0 - np.eye(k)
        of_intercept = self.strength if self.intercept_strength is None else self.intercept_strength
        check_not_negative(of_intercept, "intercept_strength")
        intercepts = np.ones((k, 1))
        if self.normalisation == "mean":
            penalised /= penalised.sum()
            intercepts /= k
        return np.maximum(np.hstack([self.strength * penalised, of_intercept * intercepts]), RIDGE)
