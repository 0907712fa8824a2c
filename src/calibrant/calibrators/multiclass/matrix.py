"""Vector and matrix scaling and Dirichlet calibration: a diagonal or full matrix applied to log-probabilities."""

from typing import ClassVar, Literal

import numpy as np

from calibrant._border.checks import check_not_negative
from calibrant._border.types import FloatArray, IntArray
from calibrant._core.newton import Minimum
from calibrant.calibrators.fitting.log_odds import floored
from calibrant.calibrators.fitting.newton import minimise
from calibrant.calibrators.fitting.softmax import Diagonal, Full, PenalisedLikelihood
from calibrant.calibrators.multiclass.affine import RIDGE, AffineScaling, as_matrix, scaled_diagonal
from calibrant.calibrators.rules import AFFINE, Rule
from calibrant.exceptions import InputError


class LikelihoodScaling(AffineScaling):
    """Base of vector and matrix scaling: maximum likelihood, on log-probabilities or raw logits."""

    kind: ClassVar = "parametric"
    accepts_raw_logits: ClassVar[bool] = True
    sensitive_to_zeros: ClassVar[bool] = True
    rules: ClassVar[tuple[Rule, ...]] = (AFFINE,)

    def __init__(self, max_iter: int = 100, scores: Literal["probs", "logits", "raw-logits"] = "probs") -> None:
        self.max_iter = max_iter
        self.scores = scores


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
    converged_ : bool
    gradient_norm_ : float
    n_iter_ : int

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

    n_parameters: ClassVar = "2K"
    data_efficiency: ClassVar = "medium"
    expressiveness: ClassVar = "medium"
    use_when: ClassVar = "If some classes are predicted too often, and there are dozens of rows per class."

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
    converged_ : bool
    gradient_norm_ : float
    n_iter_ : int

    Notes
    -----
    :math:`q = \mathrm{softmax}(A \ln p + b)` by maximum likelihood. The search starts at vector scaling, so the result
    is never worse than that on the rows of the fit. Small probabilities, raw logits and separable classes are treated
    as in `VectorScaling`, with the distance from the parameters of vector scaling.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, "On calibration of modern neural networks", ICML 2017.
    """

    n_parameters: ClassVar = "K^2 + K"
    data_efficiency: ClassVar = "low"
    expressiveness: ClassVar = "high"
    use_when: ClassVar = "With few classes and thousands of rows per class; otherwise use structured scaling."

    def _fit(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        scores, centre, unit = self._standardised(log_probs, weights)
        n_classes = scores.shape[1]
        start = as_matrix(_best_diagonal(scores, labels, weights, self.max_iter).x.reshape(n_classes, 2))
        likelihood = PenalisedLikelihood(Full(scores), labels, weights, penalty=RIDGE, target=start)
        self._keep(minimise(likelihood, start.ravel(), max_iter=self.max_iter), n_classes, centre, unit)


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
    converged_ : bool
    gradient_norm_ : float
    n_iter_ : int

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

    kind: ClassVar = "parametric"
    n_parameters: ClassVar = "K^2 + K"
    data_efficiency: ClassVar = "medium"
    expressiveness: ClassVar = "high"
    use_when: ClassVar = "With few classes, and enough rows to choose the strength by cross-validation."
    sensitive_to_zeros: ClassVar[bool] = True
    rules: ClassVar[tuple[Rule, ...]] = (AFFINE,)

    def __init__(
        self,
        penalty: Literal["odir", "l2"] = "odir",
        strength: float = 0.1,
        intercept_strength: float | None = None,
        normalisation: Literal["sum", "mean"] = "sum",
        max_iter: int = 100,
        scores: Literal["probs", "logits"] = "probs",
    ) -> None:
        self.penalty = penalty
        self.strength = strength
        self.intercept_strength = intercept_strength
        self.normalisation = normalisation
        self.max_iter = max_iter
        self.scores = scores

    def _fit(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        scores = floored(log_probs)
        likelihood = PenalisedLikelihood(Full(scores), labels, weights, penalty=self._penalties(scores.shape[1]))
        start = as_matrix(scaled_diagonal(scores, labels, weights))
        self._keep(minimise(likelihood, start.ravel(), max_iter=self.max_iter), scores.shape[1])

    def _penalties(self, k: int) -> FloatArray:
        """Return the factor of each squared parameter, (K, K + 1)."""
        if self.penalty not in ("odir", "l2"):
            raise InputError(f'penalty must be "odir" or "l2", but is {self.penalty!r}.')
        if self.normalisation not in ("sum", "mean"):
            raise InputError(f'normalisation must be "sum" or "mean", but is {self.normalisation!r}.')
        check_not_negative(self.strength, "strength")
        penalised = np.ones((k, k)) if self.penalty == "l2" else 1.0 - np.eye(k)
        of_intercept = self.strength if self.intercept_strength is None else self.intercept_strength
        check_not_negative(of_intercept, "intercept_strength")
        intercepts = np.ones((k, 1))
        if self.normalisation == "mean":
            penalised /= penalised.sum()
            intercepts /= k
        return np.maximum(np.hstack([self.strength * penalised, of_intercept * intercepts]), RIDGE)
