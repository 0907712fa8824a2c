"""Confidence limits of measures of forecasts, and what chance makes of them, within bounds on their time."""

from dataclasses import replace

import numpy as np

from calibrant._border.types import FloatArray, Rng
from calibrant.forecasts import Distribution, Forecasts, Laplace, MvNormal, Normal, Samples
from calibrant.intervals import has_range, known_interval
from calibrant.metrics import KCE, SKCE, Metric, QuantileCalibration
from calibrant.resampling.bootstrap import Bootstrap
from calibrant.results import Interval
from calibrant.results.forecasts import AT_LEAST

LEVEL = 0.95
"""Level of all limits."""

MOST_REDRAWS, FEWEST_REDRAWS = 199, 39
"""Redraws of the targets for the range of measures if the forecasts were calibrated, which is for information only."""

SIGNED_REDRAWS = 999
"""Of squared kernel errors, whose redraws are signs of rows and take a moment."""

RANGE_CELLS = 4 * 10**6
"""Redraws times rows times members of an ensemble: with more of them there are fewer redraws."""

NOTHING = Bootstrap(1)
"""Limits are formulas: nothing is resampled."""


def range_seed(rng: Rng) -> int:
    """Return the seed of all ranges by chance: a number as it is, so that commands with one seed show one range."""
    return rng if isinstance(rng, int) else int(np.random.default_rng(rng).integers(2**63))


def limits_of(metric: Metric, forecasts: Forecasts, value: float, seed: int) -> Interval | None:
    """Return confidence limits of a metric or why there are none, and its range by chance; None if nothing is known.

    Parameters
    ----------
    metric : Metric
    forecasts : Forecasts
    value : float
    seed : int
        From `range_seed`. Each range has draws of its own, and does not depend on what was drawn before.
    """
    null, rng = None, np.random.default_rng(seed)
    if has_range(metric, forecasts, NOTHING) and _is_quick(metric, forecasts.distribution):
        law = forecasts.distribution
        cells = forecasts.n_samples * (law.n_draws if isinstance(law, Samples) else 1)
        n_redraws = int(np.clip(RANGE_CELLS // cells, FEWEST_REDRAWS, MOST_REDRAWS))
        null = metric.by_chance(forecasts, SIGNED_REDRAWS if isinstance(metric, SKCE) else n_redraws, rng)
        if null is not None and np.isinf(null).any():  # As of ENCE, if ensembles of one member have no spread.
            null = None
    known = known_interval(forecasts, metric, value, LEVEL, NOTHING, rng, null)
    if isinstance(metric, QuantileCalibration) and known is not None:
        low, high, reason = limits_of_coverage(value, forecasts.weights[forecasts.weights > 0])
        return replace(known, low=low, high=high, reason=reason, method="none" if low is None else AT_LEAST)
    if known is not None and known.reason and not _is_quick(metric, forecasts.distribution):
        slow = "the range by chance of such forecasts takes too long to compute"
        known = replace(known, reason=f"{known.reason}; {slow}")
    # What is 0 on average is not shown as the mean of some draws.
    unbiased = isinstance(metric, SKCE) and not isinstance(metric, KCE) and metric.unbiased
    return replace(known, expected=0.0) if known is not None and null is not None and unbiased else known


def limits_of_coverage(error: float, weights: FloatArray, n_tests: int = 1) -> tuple[float | None, float | None, str]:
    r"""Return limits of an error of the coverage of quantiles or intervals, or why there are none.

    The distribution of n transforms is nowhere further than :math:`\epsilon = \sqrt{\log(2 m / 0.05) / (2 n)}` from the
    true one in any of m tests (Dvoretzky, Kiefer, Wolfowitz, with Massart's constant), so that no mean distance of
    levels is either: the limits hold with a probability of at least 95%.

    Parameters
    ----------
    error : float
    weights : array of shape (n,)
        Of the rows that count.
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
    """Whether redraws take a moment: kernel errors of laws without closed forms take seconds."""
    return metric.family != "kernel" or all(isinstance(part, (Normal, Laplace, MvNormal)) for part in law.components)
