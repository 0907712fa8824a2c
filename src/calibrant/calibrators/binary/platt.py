"""Platt scaling and quadratic scaling: linear and quadratic logistic regression on the log-odds."""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from calibrant._border.numerals import significant
from calibrant._border.types import BoolArray, FloatArray
from calibrant.calibrators import operations as ops
from calibrant.calibrators.binary.binary_calibrator import BinaryCalibrator
from calibrant.calibrators.fitting.log_odds import bounded, bounded_operations
from calibrant.calibrators.fitting.logistic import LogisticFit, fit_logistic
from calibrant.calibrators.fitting.newton import warn_of_no_convergence
from calibrant.calibrators.rules import Rule, are_finite, is_rising, vector
from calibrant.exceptions import InputError


class LogisticCalibrator(BinaryCalibrator):
    """Base of the maps that are fitted by logistic regression on functions of the log-odds.

    Attributes
    ----------
    converged_ : bool
    gradient_norm_ : float
    """

    kind = "parametric"
    sensitive_to_zeros = True
    converged_: bool
    gradient_norm_: float

    def _report(self, fitted: LogisticFit) -> None:
        """Store whether the fit has converged, and warn if not."""
        self.converged_, self.gradient_norm_ = fitted.converged, fitted.gradient_norm
        if not fitted.converged:
            warn_of_no_convergence(
                f"{type(self).__name__} did not converge: the norm of the gradient is still "
                f"{significant(fitted.gradient_norm, 2)}. Look for extreme scores."
            )


@dataclass(eq=False, repr=False)
class PlattScaling(LogisticCalibrator):
    r"""Logistic regression on the log-odds, or on a ranker's scores.

    Parameters
    ----------
    smooth_targets : bool, default=False
        Whether to replace the targets 1 and 0 by Platt's, (P + 1) / (P + 2) for the P rows of class 1 and 1 / (N + 2)
        for the N others. This shrinks the map slightly.
    scores : {"probs", "logits", "raw"}, default="probs"

    Attributes
    ----------
    slope_, intercept_ : float
    converged_ : bool
    gradient_norm_ : float
        Largest derivative of the mean log-loss at the solution, for a standardised score.

    Notes
    -----
    The calibrated log-odds are :math:`b + a s`, where a and b maximise the likelihood. They are not bounded: scores
    that rank worse than chance get a negative slope. A prior of weight :math:`10^{-12}` around the identity decides
    where the data does not. If all scores are equal, the slope is 1 (0 for raw scores), and only the base rate is
    fitted. If the data is separable, or has one class, the likelihood has no maximum, and the prior keeps the solution
    finite.

    Probabilities of exactly 0 and 1 count as log-odds of about -708 and 708; infinite raw scores are refused.

    References
    ----------
    J. Platt, "Probabilistic outputs for support vector machines", Advances in Large Margin Classifiers, 1999.

    Examples
    --------
    >>> platt = PlattScaling().fit([0.2, 0.2, 0.2, 0.8, 0.8, 0.8], [0, 0, 1, 0, 1, 1])
    >>> platt.predict_proba([0.2, 0.8])[:, 1].round(3).tolist()
    [0.333, 0.667]
    """

    smooth_targets: bool = False
    scores: Literal["probs", "logits", "raw"] = "probs"

    n_parameters = "2"
    data_efficiency = "high"
    expressiveness = "low"
    use_when = "There are two classes and few rows, or a ranker's scores must become probabilities."
    accepts_raw = True
    rules = (Rule(("slope_", "intercept_"), are_finite, "must be finite"),)

    def fit_line(self, scores: FloatArray, hits: BoolArray, weights: FloatArray) -> Self:
        """Learn slope and intercept."""
        targets = hits.astype(np.float64)
        if self.smooth_targets:
            ones, zeros = weights[hits].sum(), weights[~hits].sum()
            targets = np.where(hits, (ones + 1) / (ones + 2), 1 / (zeros + 2))
        x = self._finite(scores)
        unit = float(np.abs(x).max()) or 1.0  # Squares of raw scores could overflow.
        prior = np.array([0.0, 0.0 if self.scores == "raw" else unit])
        fitted = fit_logistic(x[:, None] / unit, targets, weights, prior)
        with np.errstate(over="ignore"):
            self.slope_, self.intercept_ = float(fitted.coef[0] / unit), fitted.intercept
        if not np.isfinite(self.slope_):
            raise InputError(
                f"raw scores must be large enough for a finite slope, but none exceeds {significant(unit)} in size. "
                "Multiply all of them by the same number."
            )
        self._report(fitted)
        return self

    def log_odds(self, scores: FloatArray) -> FloatArray:
        """Return the calibrated log-odds of class 1."""
        return self.intercept_ + self.slope_ * self._finite(scores)

    def _line_operations(self, x: ops.Value) -> ops.Value:
        return (x if self.scores == "raw" else bounded_operations(x)) * self.slope_ + self.intercept_

    def _finite(self, scores: FloatArray) -> FloatArray:
        if self.scores != "raw":
            return bounded(scores)
        infinite = ~np.isfinite(scores)
        if infinite.any():
            raise InputError(
                f"scores must be finite for PlattScaling, but row {int(infinite.argmax())} is infinite. "
                "IsotonicCalibration and ROCConvexHull accept such scores."
            )
        return scores


@dataclass(eq=False, repr=False)
class QuadraticScaling(LogisticCalibrator):
    r"""Logistic regression on the log-odds and their square.

    Parameters
    ----------
    monotone : bool, default=True
        Whether the map must not decrease: slopes are non-negative over the range of the fitted log-odds, and the map is
        linear outside. Otherwise, as published, the parabola may turn and change the ranking, and a score outside the
        fitted range can get a confident and wrong probability.
    scores : {"probs", "logits"}, default="probs"

    Attributes
    ----------
    coef_ : ndarray of shape (3,)
        The log-odds are coef_[0] + coef_[1] s + coef_[2] s^2 for a log-odds s.
    range_ : ndarray of shape (2,)
        Lowest and highest fitted log-odds.
    converged_ : bool
    gradient_norm_ : float
        Largest derivative of the mean log-loss at the solution, for standardised features.

    Notes
    -----
    It is exact if the log-odds of the model are normally distributed in both classes, with different variances. The
    fit is in terms of the slopes at both ends of the range, which `monotone` bounds; degenerate data is treated as in
    `PlattScaling`.

    A few rows at its ends determine the parabola, and outside the range its square amplifies their errors. What
    `monotone` gains and costs is simulated in benchmarks/calibrators_defaults.py, see docs/calibrators.md.

    References
    ----------
    E. Berta, D. Holzmueller, M. I. Jordan, F. Bach, "Structured matrix scaling for multi-class calibration", AISTATS
    2026.

    Examples
    --------
    >>> quadratic = QuadraticScaling().fit([0.2] * 4 + [0.5] * 2 + [0.8] * 5, [0, 0, 0, 1, 0, 1, 1, 1, 1, 1, 0])
    >>> quadratic.predict_proba([0.2, 0.5, 0.8])[:, 1].round(3).tolist()
    [0.25, 0.5, 0.8]
    """

    monotone: bool = True
    scores: Literal["probs", "logits"] = "probs"

    n_parameters = "3"
    data_efficiency = "high"
    expressiveness = "medium"
    use_when = "There are two classes and at least a few hundred rows."
    rules = (
        Rule(("coef_",), lambda c: len(vector(c)) == 3 and np.isfinite(c).all(), "must be three finite numbers"),
        Rule(("range_",), lambda r: len(vector(r)) == 2 and np.isfinite(r).all() and is_rising(r), "must be a range"),
    )

    def fit_line(self, scores: FloatArray, hits: BoolArray, weights: FloatArray) -> Self:
        """Learn the parabola."""
        x = bounded(scores)
        low, high = float(x.min()), float(x.max())
        width = (high - low) or 1.0
        climbed = x - low
        # The coefficients of these features are the slopes at both ends.
        features = np.column_stack([climbed - climbed**2 / (2 * width), climbed**2 / (2 * width)])
        prior = np.array([low, 1.0, 1.0])
        fitted = fit_logistic(features, hits.astype(np.float64), weights, prior, bounded=self.monotone)
        first, last = fitted.coef
        bend = (last - first) / (2 * width)
        self.coef_ = np.array([fitted.intercept - first * low + bend * low**2, first - 2 * bend * low, bend])
        self.range_ = np.array([low, high])
        self._report(fitted)
        return self

    def log_odds(self, scores: FloatArray) -> FloatArray:
        """Return the calibrated log-odds of class 1."""
        x = bounded(scores)
        if not self.monotone:
            return np.polynomial.polynomial.polyval(x, self.coef_)
        inside = x.clip(*self.range_)
        slope = (self.coef_[1] + 2 * self.coef_[2] * inside).clip(min=0.0)
        return np.polynomial.polynomial.polyval(inside, self.coef_) + slope * (x - inside)

    def _line_operations(self, x: ops.Value) -> ops.Value:
        x = bounded_operations(x)
        inside = x.clip(*self.range_) if self.monotone else x
        curve = (inside * self.coef_[2] + self.coef_[1]) * inside + self.coef_[0]
        if not self.monotone:
            return curve
        return curve + (inside * (2 * self.coef_[2]) + self.coef_[1]).at_least(0.0) * (x - inside)
