"""Confidence limits of metrics of forecasts and their ranges by chance, within bounds on their time."""

from dataclasses import replace

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.assessment.size import CONFIDENCE, NO_RESAMPLING
from calibrant.forecasts import Distribution, Forecasts, Laplace, MvNormal, Normal, Samples
from calibrant.intervals.by_chance import has_range
from calibrant.intervals.methods import known_interval
from calibrant.metrics import KCE, SKCE, Metric, QuantileCalibration
from calibrant.results import Interval
from calibrant.results.words.metrics import AT_LEAST

MOST_REDRAWS, FEWEST_REDRAWS = 199, 39
"""Redraws of the targets for the range of metrics by chance, which is for information only."""

SIGNED_REDRAWS = 999
"""Redraws for squared kernel errors, which redraw only signs of rows and are fast."""

RANGE_CELLS = 4 * 10**6
"""Redraws times rows times members of an ensemble: with more rows or members there are fewer redraws."""


def assessed_interval(metric: Metric, forecasts: Forecasts, value: float, seed: int) -> Interval | None:
    """Return confidence limits of a metric or why there are none, and its range by chance; None if nothing is known.

    Each range has its own draws, and does not depend on what was drawn before.
    """
    null, rng = None, np.random.default_rng(seed)
    if has_range(metric, forecasts, NO_RESAMPLING) and _is_quick(metric, forecasts.distribution):
        law = forecasts.distribution
        cells = forecasts.n_samples * (law.n_draws if isinstance(law, Samples) else 1)
        n_redraws = int(np.clip(RANGE_CELLS // cells, FEWEST_REDRAWS, MOST_REDRAWS))
        null = metric.by_chance(forecasts, SIGNED_REDRAWS if isinstance(metric, SKCE) else n_redraws, rng)
        if null is not None and np.isinf(null).any():  # As of ENCE, if ensembles of one member have no spread.
            null = None
    known = known_interval(forecasts, metric, value, CONFIDENCE, NO_RESAMPLING, rng, null)
    if isinstance(metric, QuantileCalibration) and known is not None:
        low, high, reason = limits_of_coverage(value, forecasts.weights[forecasts.weights > 0])
        return replace(known, low=low, high=high, reason=reason, method="none" if low is None else AT_LEAST)
    if known is not None and known.reason and not _is_quick(metric, forecasts.distribution):
        slow = "the range by chance of such forecasts takes too long to compute"
        known = replace(known, reason=f"{known.reason}; {slow}")
    # The mean of an unbiased error is exactly 0, whatever the mean of some draws is.
    unbiased = isinstance(metric, SKCE) and not isinstance(metric, KCE) and metric.unbiased
    return replace(known, expected=0.0) if known is not None and null is not None and unbiased else known


def limits_of_coverage(error: float, weights: FloatArray, n_tests: int = 1) -> tuple[float | None, float | None, str]:
    r"""Return limits of an error of the coverage of quantiles or intervals, or why there are none.

    With a probability of at least 95%, the empirical distribution of n transforms differs nowhere from the true one by
    more than :math:`\epsilon = \sqrt{\log(2 m / 0.05) / (2 n)}` in any of m tests (Dvoretzky, Kiefer, Wolfowitz, with
    Massart's constant). Then no mean distance between levels and shares is off by more either.

    Parameters
    ----------
    error : float
    weights : array of shape (n,)
        Weights of the rows, all positive.
    n_tests : int, default=1

    Examples
    --------
    >>> low, high, _ = limits_of_coverage(0.1, np.ones(800))  # sqrt(log(40) / 1600) is 0.048
    >>> round(low, 3), round(high, 3)
    (0.052, 0.148)
    """
    if not np.all(weights == weights[0]):
        return None, None, "limits are for rows of equal weight"
    reach = float(np.sqrt(np.log(2 * n_tests / 0.05) / (2 * len(weights))))
    return max(0.0, error - reach), min(1.0, error + reach), ""


def _is_quick(metric: Metric, law: Distribution) -> bool:
    """Return whether redraws are fast: kernel errors of distributions without closed forms take seconds."""
    return metric.family != "kernel" or all(isinstance(part, (Normal, Laplace, MvNormal)) for part in law.components)
