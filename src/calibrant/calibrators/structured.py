"""Structured vector and matrix scaling: affine maps that are pulled towards temperature scaling."""

from typing import ClassVar, Literal

import numpy as np

from calibrant._convert import InputError
from calibrant._typing import FloatArray, IntArray
from calibrant.calibrators.affine import AffineScaling
from calibrant.calibrators.blocks import by_blocks, over_classes, threads_for
from calibrant.calibrators.guard import LaplaceGuard
from calibrant.calibrators.matrix import check_strength
from calibrant.calibrators.newton import minimise
from calibrant.calibrators.softmax import Diagonal, Family, Full, PenalisedLikelihood
from calibrant.calibrators.temperature import TemperatureScaling


class StructuredScaling(AffineScaling):
    r"""Temperature scaling, then an affine map of the log-probabilities that is penalised for not being the identity.

    With few rows it is temperature scaling, with many rows vector or matrix scaling, without a choice to be made.

    Parameters
    ----------
    structure : {"vector", "matrix"}, default="matrix"
        A factor for every class (SVS), or a full matrix (SMS).
    diagonal, off_diagonal : float, default=1.0
    intercept : float, default=0.3
        Factors of the three penalties. All were published as 1.
    guard : bool, default=True
        Whether `LaplaceGuard` follows temperature scaling, so that one row of a probability near 0 cannot decide.
    max_iter : int, default=100
        Largest number of Newton steps.
    scores : {"probs", "logits"}, default="probs"

    Attributes
    ----------
    temperature_scaling_ : TemperatureScaling
    guard_ : LaplaceGuard
        Applied in this order before the affine map. Without guard its share is 0.
    coef_ : ndarray of shape (K,) or (K, K)
    intercept_ : ndarray of shape (K,)
    converged_ : bool
    gradient_norm_ : float
    n_iter_ : int

    Notes
    -----
    With :math:`l = \ln q`, q the probabilities after temperature scaling and `LaplaceGuard`, it minimises the mean
    negative log-likelihood of :math:`\mathrm{softmax}((I + \Delta) l + b)` plus

    .. math:: \lambda_b \frac K n |b|^2 + \lambda_d \frac K n |\mathrm{diag} \Delta|^2
              + \lambda_o \frac {K (K - 1)} n |\mathrm{offdiag} \Delta|^2,

    where n is the sum of the weights, so that a weight counts as that many rows. Log-probabilities are mostly beyond
    -1, so that b has to be larger than :math:`\Delta` for the same effect, and is penalised less. What this gains and
    costs is simulated in benchmarks/calibrators_defaults.py, see docs/calibrators.md.

    References
    ----------
    E. Berta, D. Holzmüller, M. I. Jordan, F. Bach, "Structured matrix scaling for multi-class calibration", AISTATS
    2026.
    """

    kind: ClassVar = "parametric"
    data_efficiency: ClassVar = "high"
    expressiveness: ClassVar = "high"
    use_when: ClassVar = "By default where decisions may change: as matrix up to some 200 classes, above as vector."

    def __init__(
        self,
        structure: Literal["vector", "matrix"] = "matrix",
        diagonal: float = 1.0,
        off_diagonal: float = 1.0,
        intercept: float = 0.3,
        guard: bool = True,
        max_iter: int = 100,
        scores: Literal["probs", "logits"] = "probs",
    ) -> None:
        self.structure = structure
        self.diagonal = diagonal
        self.off_diagonal = off_diagonal
        self.intercept = intercept
        self.guard = guard
        self.max_iter = max_iter
        self.scores = scores

    @property
    def n_parameters(self) -> str:  # type: ignore[override]  # depends on a setting
        """Numbers learnt, for K classes."""
        return "2K + 1" if self.structure == "vector" else "K^2 + K + 1"

    def _fit(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        family, penalty, target = self._problem(log_probs.shape[1], float(weights.sum()))
        self.temperature_scaling_ = TemperatureScaling().learn(log_probs, labels, weights)
        self.guard_ = LaplaceGuard().learn(log_probs, labels, weights)
        if not self.guard:
            self.guard_.share_ = 0.0
        scores = self._tempered(log_probs)
        likelihood = PenalisedLikelihood(family, scores, labels, weights, penalty=penalty, target=target)
        self._keep(minimise(likelihood, target.ravel(), max_iter=self.max_iter), log_probs.shape[1])

    def _apply(self, log_probs: FloatArray) -> FloatArray:
        return super()._apply(self._tempered(log_probs))

    def _tempered(self, log_probs: FloatArray) -> FloatArray:
        """Return what both calibrators before the affine map make of the log-probabilities, in one go."""
        result = np.empty(log_probs.shape)
        top = over_classes(np.maximum, log_probs)

        def task(rows: slice) -> None:
            scores = log_probs[rows] - top[rows]
            scores /= self.temperature_scaling_.temperature_
            np.exp(scores, out=scores)
            scores *= (1.0 - self.guard_.share_) / over_classes(np.add, scores)
            scores += self.guard_.share_ / scores.shape[1]
            np.maximum(scores, np.finfo(float).tiny, out=scores)
            np.log(scores, out=result[rows])

        for _ in by_blocks(task, log_probs.shape, n_threads=threads_for(log_probs.shape)):
            pass
        return result

    def _problem(self, k: int, n: float) -> tuple[Family, FloatArray, FloatArray]:
        """Return the family, the factor of every parameter's square, and the identity."""
        for name in ("diagonal", "off_diagonal", "intercept"):
            check_strength(getattr(self, name), name)
        own, intercept = self.diagonal * k / n, self.intercept * k / n
        if self.structure == "vector":
            return Diagonal(k), np.tile([own, intercept], (k, 1)), np.tile([1.0, 0.0], (k, 1))
        if self.structure == "matrix":
            matrix = np.full((k, k), self.off_diagonal * k * (k - 1) / n)
            np.fill_diagonal(matrix, own)
            return Full(k), np.column_stack([matrix, np.full(k, intercept)]), np.eye(k, k + 1)
        raise InputError(f'structure must be "vector" or "matrix", but is {self.structure!r}.')
