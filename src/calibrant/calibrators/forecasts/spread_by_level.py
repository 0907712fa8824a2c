"""A correction of the spread that depends on the spread itself."""

from typing import ClassVar

import numpy as np

from calibrant.calibrators.forecasts.forecast_calibrator import (
    ForecastCalibrator,
    average,
    frame_of,
    refuse_exact,
    standardised,
)
from calibrant.calibrators.rules import Rule, are_finite
from calibrant.forecasts import Distribution, Forecasts

ROUNDS = 100
"""Largest number of Newton steps; usually a few suffice."""

STEEPEST = 5.0
"""Largest change of the exponent of the spread, in absolute value."""


class SpreadByLevel(ForecastCalibrator):
    r"""Multiply the spread of every distribution by a factor that is a power of the spread.

    Attributes
    ----------
    intercept_, slope_ : float
        :math:`c_0` and :math:`c_1`. The slope is negative if the differences between spreads are exaggerated, and -1 if
        the predicted spreads are uninformative.

    Notes
    -----
    The factor is :math:`k_i = \exp(c_0 + c_1 \ln \sigma_i)`, about the mean, so spreads become
    :math:`e^{c_0} \sigma_i^{1 + c_1}`. Both numbers maximise the likelihood of normal distributions, whose logarithm is
    concave in them, by Newton's method. This corrects errors that `ENCE` detects and a map of probabilities cannot
    correct: wide distributions that are too wide and narrow ones that are too narrow, or the reverse.

    Examples
    --------
    >>> from calibrant.forecasts import Normal
    >>> law = Normal(np.zeros(4), [1.0, 1.0, 4.0, 4.0])
    >>> fitted = SpreadByLevel().fit(Forecasts(law, [2.0, -2.0, 2.0, -2.0]))  # the same errors at all spreads
    >>> fitted.apply(law).sd().round(6).tolist()
    [2.0, 2.0, 2.0, 2.0]
    """

    n_parameters: ClassVar[str] = "2"
    accepts: ClassVar[str] = "spread"
    keeps_mean = keeps_median = True
    least_rows: ClassVar[int] = 200
    use_when: ClassVar[str] = "Wide distributions are too wide and narrow ones too narrow, or the reverse."
    rules: ClassVar[tuple[Rule, ...]] = (Rule(("intercept_", "slope_"), are_finite, "must be finite"),)

    def _fit(self, forecasts: Forecasts) -> None:
        weights = forecasts.weights / forecasts.weights.sum()
        logs = np.log(frame_of(forecasts.distribution).unit)
        squares = standardised(forecasts) ** 2
        refuse_exact(average(squares, weights), "targets equal the predicted means")
        middle = float(weights @ logs)
        x = logs - middle
        design = np.column_stack([np.ones_like(x), x])
        if np.ptp(x) < 1e-9:  # All spreads are equal: the slope cannot be learnt.
            design = design[:, :1]
        c = np.zeros(design.shape[1])
        c[0] = 0.5 * np.log(weights @ squares)
        for _ in range(ROUNDS):
            ratio = weights * squares * np.exp(-2 * design @ c)
            gradient = weights @ design - ratio @ design
            step = np.linalg.solve(2 * (design.T * ratio) @ design, gradient)
            c = c - step / max(1.0, float(np.abs(step).max()))
            c[1:] = c[1:].clip(-STEEPEST, STEEPEST)
            if np.abs(step).max() < 1e-13:
                break
        self.slope_ = float(c[1]) if len(c) > 1 else 0.0
        self.intercept_ = float(c[0]) - self.slope_ * middle

    def _apply(self, distribution: Distribution) -> Distribution:
        centre, unit = frame_of(distribution)
        factor = np.exp(self.intercept_ + self.slope_ * np.log(unit))
        return distribution.affine((1 - factor) * centre, factor)
