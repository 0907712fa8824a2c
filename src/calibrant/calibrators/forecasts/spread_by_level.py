"""A correction of the spread that depends on the spread itself."""

from collections.abc import Callable

import numpy as np

from calibrant._core.roots import root
from calibrant.calibrators.forecasts.forecast_calibrator import (
    ForecastCalibrator,
    average,
    frame_of,
    refuse_exact,
    standardised,
)
from calibrant.calibrators.rules import Rule, are_finite
from calibrant.forecasts import Distribution, Forecasts

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
    concave in them, with :math:`|c_1| \le 5`. For any :math:`c_1`, the best :math:`c_0` makes the mean square of the
    standardised errors 1; the best :math:`c_1` makes these squares uncorrelated with :math:`\ln \sigma_i`. This
    corrects errors that `ENCE` detects and a map of probabilities cannot correct: wide distributions that are too wide
    and narrow ones that are too narrow, or the reverse.

    Examples
    --------
    >>> from calibrant.forecasts import Normal
    >>> law = Normal(np.zeros(4), [1.0, 1.0, 4.0, 4.0])
    >>> fitted = SpreadByLevel().fit(Forecasts(law, [2.0, -2.0, 2.0, -2.0]))  # the same errors at all spreads
    >>> fitted.apply(law).sd().round(6).tolist()
    [2.0, 2.0, 2.0, 2.0]
    """

    n_parameters = "2"
    accepts = "spread"
    keeps_mean = keeps_median = True
    least_rows = 200
    use_when = "Wide distributions are too wide and narrow ones too narrow, or the reverse."
    rules = (Rule(("intercept_", "slope_"), are_finite, "must be finite"),)

    def _fit(self, forecasts: Forecasts) -> None:
        weights = forecasts.weights / forecasts.weights.sum()
        logs = np.log(frame_of(forecasts.distribution).unit)
        squares = standardised(forecasts) ** 2
        refuse_exact(average(squares, weights), "targets equal the predicted means")
        centred = logs - float(weights @ logs)
        off = weights * squares > 0
        x, masses = centred[off], np.log((weights * squares)[off])

        def tilt(slope: float) -> float:
            """Return the mean of x in proportion to the corrected squares, which decreases with the slope."""
            after = masses - 2 * slope * x
            return float(np.average(x, weights=np.exp(after - after.max())))

        self.slope_ = _zero(tilt) if np.ptp(centred) >= 1e-9 else 0.0  # Of equal spreads it cannot be learnt.
        self.intercept_ = float(np.logaddexp.reduce(masses - 2 * self.slope_ * logs[off])) / 2

    def _apply(self, distribution: Distribution) -> Distribution:
        centre, unit = frame_of(distribution)
        factor = np.exp(self.intercept_ + self.slope_ * np.log(unit))
        return distribution.affine((1 - factor) * centre, factor)


def _zero(decreasing: Callable[[float], float]) -> float:
    """Return where a decreasing function is 0, or the end of the range of slopes that is nearest to it."""
    if decreasing(STEEPEST) >= 0:
        return STEEPEST
    if decreasing(-STEEPEST) <= 0:
        return -STEEPEST
    return root(decreasing, -STEEPEST, STEEPEST)
