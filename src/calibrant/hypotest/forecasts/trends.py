"""What forecasts say about themselves, over which their errors may have a trend: where they lie, how wide they are."""

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.forecasts import Distribution, Forecasts, Quantiles, Samples
from calibrant.metrics.forecast_metric import nearest

MIDDLE, QUARTERS = 0.5, (0.25, 0.75)
"""Levels of the quantiles that say where a law lies, and how wide it is."""


def places(forecasts: Forecasts) -> FloatArray:
    """Return where each law lies, and how wide it is, (2, n): its median, and its interquartile range.

    Of ensembles the target counts as one more member. If it is exchangeable with them, its rank is then independent of
    both numbers. It is not of the width of the members alone: where they happen to lie close together, the target is
    outside more often.
    """
    law = forecasts.distribution
    if isinstance(law, Samples):
        middle, low, high = _pooled(law.draws, forecasts.targets)
    else:
        middle, low, high = _quantiles(law).T
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(np.stack([middle, high - low]), nan=0.0, posinf=np.inf, neginf=-np.inf)


def _pooled(draws: FloatArray, targets: FloatArray) -> FloatArray:
    """Return the median and the quartiles of members and target together, (3, n)."""
    everything = np.sort(np.column_stack([draws, targets]), axis=1)
    last = everything.shape[1] - 1
    return everything[:, [round(level * last) for level in (MIDDLE, *QUARTERS)]].T


def _quantiles(law: Distribution) -> FloatArray:
    """Return the median and the quartiles, (n, 3); of columns of quantiles, those that are nearest to them."""
    if not isinstance(law, Quantiles):
        return law.quantile([MIDDLE, *QUARTERS])
    levels = law.levels.tolist()
    low, high = nearest(levels, QUARTERS[0]), nearest(levels, QUARTERS[1])
    ends = (low, high) if low < high else (levels[0], levels[-1])
    return law.values[:, [levels.index(level) for level in (nearest(levels, MIDDLE), *ends)]]


def mid_ranks(values: FloatArray) -> FloatArray:
    """Return the ranks of numbers, the mean of those of equal ones, between -1 and 1.

    Examples
    --------
    >>> mid_ranks(np.array([5.0, 1.0, 5.0, np.inf])).tolist()
    [0.0, -0.75, 0.0, 0.75]
    """
    _, index, counts = np.unique(values, return_inverse=True, return_counts=True)
    middles = np.cumsum(counts) - counts / 2
    return np.asarray((2 * middles / len(values) - 1)[index])
