"""Structured vector and matrix scaling: affine maps with a penalty on the distance from temperature scaling."""

from copy import copy
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from calibrant._border.settings import check_not_negative, check_option
from calibrant._border.types import FloatArray, IntArray
from calibrant._core.blocks import each_block, over_classes, threads_for
from calibrant.calibrators import operations as ops
from calibrant.calibrators.calibrator import WarmStartCalibrator
from calibrant.calibrators.fitting.log_odds import SMALLEST_LOG_PROB
from calibrant.calibrators.fitting.newton import minimise
from calibrant.calibrators.fitting.softmax import Diagonal, Full, PenalisedLikelihood
from calibrant.calibrators.multiclass.affine import AffineScaling
from calibrant.calibrators.multiclass.fixed import GUARD, LaplaceGuard, fit_guard, guarded
from calibrant.calibrators.multiclass.temperature import TemperatureScaling
from calibrant.calibrators.rules import AFFINE


@dataclass(eq=False, repr=False)
class StructuredScaling(AffineScaling, WarmStartCalibrator):
    r"""Temperature scaling, then an affine map of the log-probabilities that is shrunk towards the identity.

    With few rows it is close to temperature scaling, with many rows to vector or matrix scaling; there is nothing to
    tune.

    Parameters
    ----------
    structure : {"vector", "matrix"}, default="matrix"
        A factor for every class (SVS), or a full matrix (SMS).
    diagonal, off_diagonal, intercept : float, default=1.0
        Factors of the three penalties; the published values are 1.
    guard : float, default=0.01
        Number of rows that the uniform distribution counts as after temperature scaling (see `LaplaceGuard`), so that
        a single row with a probability near 0 does not dominate. The published value is 1; 0 means no guard.
    max_iter : int, default=100
        Largest number of Newton steps.
    scores : {"probs", "logits"}, default="probs"

    Attributes
    ----------
    zeros_ : LaplaceGuard
    temperature_scaling_ : TemperatureScaling
    guard_ : LaplaceGuard
        Applied in this order before the affine map. The share of `zeros_` is 0 unless an observed label had probability
        0; the share of `guard_` is 0 if `guard` is 0.
    coef_ : ndarray of shape (K,) or (K, K)
    intercept_ : ndarray of shape (K,)
    converged_, gradient_norm_, n_iter_ : bool, float and int

    Notes
    -----
    If an observed label had a probability of exactly 0, p are the probabilities after a `LaplaceGuard` of one row,
    otherwise the given ones. Let T be the temperature for p, Z the sum of :math:`p_k^{1/T}` over the classes,
    :math:`q_k = p_k^{1/T} / Z`, and :math:`q'` the result of a `LaplaceGuard` of `guard` rows for q. The features are

    .. math:: l_k = \ln q'_k + \ln Z, \quad \text{without guard} \quad l_k = \ln p_k / T.

    It minimises the mean negative log-likelihood of :math:`\mathrm{softmax}((I + \Delta) l + b)` plus

    .. math:: \lambda_b \frac K n |b|^2 + \lambda_d \frac K n |\mathrm{diag} \Delta|^2
              + \lambda_o \frac {K (K - 1)} n |\mathrm{offdiag} \Delta|^2,

    where n is the sum of the weights, so a row of weight w counts as w rows.

    A zero does not show how improbable a class is. Whatever number replaces its logarithm, a single observed label of
    probability 0 would determine the temperature; only then are zeros raised first. Other zeros do not matter, and
    raising zeros that come from underflow would make the fit worse. The guard after temperature scaling is small,
    because it also hides differences between small probabilities, which networks benefit from; for other models 1 is
    better. The features are not normalised again (Z is kept), so without a guard they are the logits of temperature
    scaling. What all of this gains and costs is measured in benchmarks/calibrators_defaults.py, see
    docs/calibrators.md.

    References
    ----------
    E. Berta, D. Holzmüller, M. I. Jordan, F. Bach, "Structured matrix scaling for multi-class calibration", AISTATS
    2026.
    """

    structure: Literal["vector", "matrix"] = "matrix"
    diagonal: float = 1.0
    off_diagonal: float = 1.0
    intercept: float = 1.0
    guard: float = 0.01
    max_iter: int = 100
    scores: Literal["probs", "logits"] = "probs"

    kind = "parametric"
    expressiveness = "high"
    rules = (
        GUARD._replace(
            words=f"{GUARD.words}. A file without it is from an earlier version, whose map was different: fit again"
        ),
        AFFINE,
    )

    @property
    def data_efficiency(self) -> Literal["medium", "high"]:  # type: ignore[override]  # depends on a setting
        """High if the penalties are strong enough for few rows."""
        return "high" if self.off_diagonal >= 1.0 else "medium"

    @property
    def use_when(self) -> str:  # type: ignore[override]  # depends on a setting
        """Advice in one sentence."""
        if self.data_efficiency == "medium":
            return "Classes are confused, and there are dozens of rows per class; in a stack, which tests if it helps."
        return "If decisions may change: with a matrix up to about 200 classes, with a vector above."

    @property
    def n_parameters(self) -> str:  # type: ignore[override]  # depends on a setting
        """Number of learnt parameters, for K classes."""
        return "2K + 1" if self.structure == "vector" else "K^2 + K + 1"

    def _search(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray, near: Self | None) -> None:
        """Learn the map; the search starts at that of `near`, or at the identity."""
        check_not_negative(self.guard, "guard")
        family, penalty, target = self._problem(log_probs.shape[1], float(weights.sum()))
        self.zeros_ = fit_guard(0.0, log_probs, labels, weights)
        self.guard_ = LaplaceGuard(rows=self.guard).learn(log_probs, labels, weights)
        possible = guarded(self.zeros_, log_probs)
        start = target.ravel()
        if near is None:
            self.temperature_scaling_ = TemperatureScaling().learn(possible, labels, weights)
        else:
            self.temperature_scaling_ = copy(near.temperature_scaling_).learn_again(possible, labels, weights)
            start = np.column_stack([near.coef_, near.intercept_]).ravel()
        scores = self._tempered(possible)
        likelihood = PenalisedLikelihood(family(scores), labels, weights, penalty=penalty, target=target)
        self._keep(minimise(likelihood, start, max_iter=self.max_iter), log_probs.shape[1])

    def _apply(self, log_probs: FloatArray) -> FloatArray:
        # The base class would floor the features: if ln Z is below its floor, all classes of a row would become equal.
        scores = self._tempered(guarded(self.zeros_, log_probs))
        return self._moved(scores, out=scores)

    def _operations(self, x: ops.Value, k: int) -> ops.Value:
        tempered = self.temperature_scaling_.operations(self.zeros_.operations(x, k), k)
        top = tempered.largest()
        log_sum = top + (tempered - top).exp().total().log()
        guarded = self.guard_.operations(tempered - log_sum, k).at_least(SMALLEST_LOG_PROB)
        return ops.affine(guarded + log_sum, self.coef_, self.intercept_)

    def _tempered(self, log_probs: FloatArray) -> FloatArray:
        """Return the features: temperature scaling and the guard in one pass, plus ln Z."""
        result = np.empty(log_probs.shape)
        share = self.guard_.share_

        def task(rows: slice) -> None:
            scores = log_probs[rows] / self.temperature_scaling_.temperature_
            top = over_classes(np.maximum, scores)
            scores -= top
            np.exp(scores, out=scores)
            total = over_classes(np.add, scores)
            scores *= (1.0 - share) / total
            scores += share / scores.shape[1]
            np.maximum(scores, np.finfo(float).tiny, out=scores)
            np.log(scores, out=scores)
            np.add(scores, top + np.log(total), out=result[rows])

        each_block(task, log_probs.shape, n_threads=threads_for(log_probs.shape))
        return result

    def _problem(self, k: int, n: float) -> tuple[type[Diagonal | Full], FloatArray, FloatArray]:
        """Return the family, the factor of each squared parameter, and the parameters of the identity."""
        check_option(self.structure, "structure", "vector", "matrix")
        for name in ("diagonal", "off_diagonal", "intercept"):
            check_not_negative(getattr(self, name), name)
        own, intercept = self.diagonal * k / n, self.intercept * k / n
        if self.structure == "vector":
            return Diagonal, np.tile([own, intercept], (k, 1)), np.tile([1.0, 0.0], (k, 1))
        matrix = np.full((k, k), self.off_diagonal * k * (k - 1) / n)
        np.fill_diagonal(matrix, own)
        return Full, np.column_stack([matrix, np.full(k, intercept)]), np.eye(k, k + 1)
