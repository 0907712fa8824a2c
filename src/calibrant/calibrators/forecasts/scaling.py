"""Calibrators that multiply the spread of all distributions by one factor, and optionally shift them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from calibrant._border.settings import check_option
from calibrant._border.types import FloatArray
from calibrant.calibrators.forecasts.forecast_calibrator import (
    ForecastCalibrator,
    Frame,
    average,
    frame_of,
    refuse_exact,
    standardised,
)
from calibrant.calibrators.rules import Rule, are_finite, is_positive
from calibrant.forecasts import Distribution, Forecasts, Normal

Score = Literal["log", "crps"]
"""The score that a fit minimises: the log score, which is maximum likelihood, or the CRPS."""

REACH = 5.0
"""The logarithm of the factor is searched within this distance of a rough estimate."""

FACTOR = Rule(("factor_",), is_positive, "must be a positive number")
SHIFT = Rule(("shift_",), are_finite, "must be finite")


class UnchangedForecasts(ForecastCalibrator):
    """Leave the distributions unchanged.

    Examples
    --------
    >>> law = Normal([0.0, 1.0], 1.0)
    >>> UnchangedForecasts().fit(Forecasts(law, [0.0, 3.0])).apply(law) is law
    True
    """

    n_parameters = "0"
    keeps_mean = keeps_median = True
    least_rows = 1
    use_when = "The forecasts are calibrated, or nothing else helps on held-out rows."

    def _fit(self, forecasts: Forecasts) -> None:
        """Learn nothing."""

    def _apply(self, distribution: Distribution) -> Distribution:
        return distribution


@dataclass(eq=False, repr=False)
class SpreadScaling(ForecastCalibrator):
    r"""Multiply the spread of every distribution by one factor, about its mean.

    Parameters
    ----------
    score : {"log", "crps"}, default="log"
        What the factor minimises. "log" needs distributions with a density; "crps" also accepts quantiles, and is less
        sensitive to single large errors.

    Attributes
    ----------
    factor_ : float
        Above 1 if the distributions were too narrow.

    Notes
    -----
    A variable Z with mean :math:`\mu` is replaced by :math:`\mu + k (Z - \mu)`. For normal distributions the log score
    is minimised by the root mean square of standardised errors, :math:`k^2 = \sum w_i z_i^2 / \sum w_i` with
    :math:`z_i = (y_i - \mu_i) / \sigma_i`; otherwise :math:`\ln k` is searched numerically.

    References
    ----------
    D. Levi, L. Gispan, N. Giladi, E. Fetaya, "Evaluating and calibrating uncertainty prediction in regression tasks",
    Sensors 22 (2022); M.-H. Laves, S. Ihler, J. F. Fast, L. A. Kahrs, T. Ortmaier, "Well-calibrated regression
    uncertainty in medical imaging with deep learning", MIDL 2020.

    Examples
    --------
    >>> narrow = Forecasts(Normal([0.0, 0.0], 1.0), [3.0, -3.0])
    >>> scaled = SpreadScaling().fit(narrow)
    >>> scaled.factor_, scaled.apply(Normal([5.0], 2.0)).sd().tolist()
    (3.0, [6.0])
    """

    score: Score = "log"

    n_parameters = "1"
    keeps_mean = keeps_median = True
    least_rows = 20
    use_when = "Distributions are too narrow or too wide by the same factor, or there are few rows."
    rules = (FACTOR,)

    @property
    def accepts(self) -> str:  # type: ignore[override]  # by the score
        """Distributions with a density for the log score, univariate ones for the CRPS."""
        return "density" if _checked(self.score) == "log" else "line"

    def _fit(self, forecasts: Forecasts) -> None:
        law = forecasts.distribution
        if isinstance(law, Normal) and self.score == "log":
            factor = float(np.sqrt(average(standardised(forecasts) ** 2, forecasts.weights)))
            refuse_exact(factor, "targets equal the predicted means")
            self.factor_ = factor
            return
        loss = mean_loss(forecasts, self.score)
        start, mean = _rough_factor(forecasts), law.mean()
        best = _minimum(lambda x: loss(_scaled_about(mean, law, float(np.exp(x)))), np.log(start))
        self.factor_ = float(np.exp(best))

    def _apply(self, distribution: Distribution) -> Distribution:
        return scaled(distribution, self.factor_)


@dataclass(eq=False, repr=False)
class ShiftScaling(ForecastCalibrator):
    r"""Shift every distribution, and multiply its spread by one factor.

    Parameters
    ----------
    shift : {"spread", "constant"}, default="spread"
        Whether the shift is proportional to the spread, :math:`b \sigma_i`, or the same number a everywhere.
    score : {"log", "crps"}, default="log"
        What is minimised; see `SpreadScaling`.

    Attributes
    ----------
    shift_ : float
        b or a.
    factor_ : float
        Above 1 if the distributions were too narrow.

    Notes
    -----
    For normal distributions and the log score, b is the mean and k the standard deviation (with divisor n) of the
    standardised errors :math:`z_i`; with a constant shift,

    .. math:: a = \frac{\sum w_i (y_i - \mu_i) / \sigma_i^2}{\sum w_i / \sigma_i^2}, \qquad
        k^2 = \frac{\sum w_i (z_i - a / \sigma_i)^2}{\sum w_i}.

    Otherwise both are found by the Nelder-Mead method, which starts from these.

    Examples
    --------
    >>> f = Forecasts(Normal([0.0, 0.0], 1.0), [3.0, 7.0])
    >>> moved = ShiftScaling().fit(f)
    >>> moved.shift_, moved.factor_
    (5.0, 2.0)
    >>> moved.apply(Normal([0.0], 10.0)).mean().tolist()
    [50.0]
    """

    shift: Literal["spread", "constant"] = "spread"
    score: Score = "log"

    n_parameters = "2"
    use_when = "Distributions are biased to one side, besides being too narrow or too wide."
    rules = (SHIFT, FACTOR)

    @property
    def accepts(self) -> str:  # type: ignore[override]  # by the score
        """Univariate distributions, with a density for the log score."""
        return "density on the line" if _checked(self.score) == "log" else "line"

    def _fit(self, forecasts: Forecasts) -> None:
        check_option(self.shift, "shift", "spread", "constant")
        law, frame, weights = forecasts.distribution, frame_of(forecasts.distribution), forecasts.weights
        z, steps = standardised(forecasts), self._steps(frame) / frame.unit
        shift = average(steps * z, weights) / average(steps * steps, weights)
        factor = float(np.sqrt(average((z - shift * steps) ** 2, weights)))
        refuse_exact(factor, "targets have the same distance from the predicted means")
        if not (isinstance(law, Normal) and self.score == "log"):
            loss = mean_loss(forecasts, self.score)
            unit = factor / float(np.sqrt(average(steps * steps, weights)))

            def objective(x: FloatArray) -> float:
                return loss(self._moved(law, frame, shift + unit * float(x[0]), factor * float(np.exp(x[1]))))

            best = simplex_minimum(objective, np.zeros(2))
            shift, factor = shift + unit * float(best[0]), factor * float(np.exp(best[1]))
        self.shift_, self.factor_ = float(shift), factor

    def _apply(self, distribution: Distribution) -> Distribution:
        return self._moved(distribution, frame_of(distribution), self.shift_, self.factor_)

    def _moved(self, law: Distribution, frame: Frame, shift: float, factor: float) -> Distribution:
        return law.affine((1 - factor) * frame.centre + shift * self._steps(frame), np.full(law.n, factor))

    def _steps(self, frame: Frame) -> FloatArray:
        """Return the unit of the shift, per row."""
        return frame.unit if self.shift == "spread" else np.ones_like(frame.unit)


def scaled(law: Distribution, factor: float) -> Distribution:
    """Return the distributions of mu + k (Z - mu)."""
    return _scaled_about(law.mean(), law, factor)


def _scaled_about(mean: FloatArray, law: Distribution, factor: float) -> Distribution:
    return law.affine((1 - factor) * mean, np.full(law.n, factor))


def mean_loss(forecasts: Forecasts, score: Score) -> Callable[[Distribution], float]:
    """Return the function from distributions to their mean score at the targets."""
    y, weights = forecasts.targets, forecasts.weights
    if score == "log":
        return lambda law: -average(law.log_density(y), weights)
    return lambda law: average(law.mean_distance(y) - 0.5 * law.mean_spread(fair=True), weights)


def simplex_minimum(objective: Callable[[FloatArray], float], start: FloatArray) -> FloatArray:
    """Return the minimiser of a function of a few variables of order 1, by the Nelder-Mead method."""
    from scipy.optimize import minimize

    around = np.vstack([start, start + 0.25 * np.eye(len(start))])
    options = {"xatol": 1e-8, "fatol": 1e-11, "maxiter": 500 * len(start), "initial_simplex": around}
    return np.asarray(minimize(objective, start, method="Nelder-Mead", options=options).x)


def _rough_factor(forecasts: Forecasts) -> float:
    """Return the mean distance of targets from the predicted means, over the predicted mean distance of two draws."""
    law = forecasts.distribution
    gaps = np.abs(forecasts.targets - law.mean()).reshape(law.n, -1).max(axis=1)
    factor = average(gaps, forecasts.weights) / average(law.mean_spread(), forecasts.weights)
    refuse_exact(factor, "targets equal the predicted means")
    return factor


def _minimum(objective: Callable[[float], float], centre: float) -> float:
    from scipy.optimize import minimize_scalar

    bounds = (centre - REACH, centre + REACH)
    return float(minimize_scalar(objective, bounds=bounds, method="bounded", options={"xatol": 1e-10}).x)


def _checked(score: object) -> object:
    check_option(score, "score", "log", "crps")
    return score
