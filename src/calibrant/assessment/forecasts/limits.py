"""Confidence limits of measures of forecasts, and what chance makes of them, within bounds on their time."""

from dataclasses import replace

import numpy as np

from calibrant.forecasts import Distribution, Forecasts, Laplace, MvNormal, Normal, Samples
from calibrant.intervals import has_range, known_interval
from calibrant.metrics import KCE, SKCE, Metric
from calibrant.resampling.bootstrap import Bootstrap
from calibrant.results import Interval

LEVEL = 0.95
"""Level of all limits."""

MOST_REDRAWS, FEWEST_REDRAWS = 199, 39
"""Redraws of the targets for the range of measures if the forecasts were calibrated, which is for information only."""

RANGE_CELLS = 4 * 10**6
"""Redraws times rows times members of an ensemble: with more of them there are fewer redraws."""

NOTHING = Bootstrap(1)
"""Limits are formulas: nothing is resampled."""


def limits_of(metric: Metric, forecasts: Forecasts, value: float, rng: np.random.Generator) -> Interval | None:
    """Return confidence limits of a metric or why there are none, and its range by chance; None if nothing is known.

    Parameters
    ----------
    metric : Metric
    forecasts : Forecasts
    value : float
    rng : Generator
    """
    null = None
    if has_range(metric, forecasts, NOTHING) and _is_quick(metric, forecasts.distribution):
        law = forecasts.distribution
        cells = forecasts.n_samples * (law.n_draws if isinstance(law, Samples) else 1)
        null = metric.by_chance(forecasts, int(np.clip(RANGE_CELLS // cells, FEWEST_REDRAWS, MOST_REDRAWS)), rng)
    known = known_interval(forecasts, metric, value, LEVEL, NOTHING, rng, null)
    if known is not None and known.reason and not _is_quick(metric, forecasts.distribution):
        known = replace(known, reason=f"{known.reason}; their range by chance takes too long for such laws")
    # What is 0 on average is not shown as the mean of some draws.
    unbiased = isinstance(metric, SKCE) and not isinstance(metric, KCE) and metric.unbiased
    return replace(known, expected=0.0) if known is not None and null is not None and unbiased else known


def _is_quick(metric: Metric, law: Distribution) -> bool:
    """Whether redraws take a moment: kernel errors of laws without closed forms take seconds."""
    return metric.family != "kernel" or all(isinstance(part, (Normal, Laplace, MvNormal)) for part in law.components)
