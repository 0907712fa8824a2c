"""What limits of measures of forecasts require of the data for known coverage."""

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.forecasts import Forecasts
from calibrant.metrics.base import Metric

FEWEST_OUTSIDE = 4
"""Targets outside the interval that limits of its coverage need at least."""

FEWEST_WEIGHTED = 20
"""Least effective number of rows by squared weights, as for classes."""

FAR, MOST_SURPRISING = (0.001, 0.0001), 0.05
"""Targets with less than these probabilities on both sides together are far outside their forecasts; more of them than
chance allows with the last probability, and a few of them decide about a log score."""

KERNEL = "limits of kernel errors were simulated for predictions of classes only"
UNEQUAL = f"the weights are so unequal that fewer than {FEWEST_WEIGHTED} rows determine the variance"


def missing_for_forecasts(method: str, metric: Metric, data: Forecasts) -> str:
    """Say what limits by the method need for known coverage, if these forecasts lack it; otherwise nothing."""
    from calibrant.curves.forecasts import effective_rows
    from calibrant.metrics.forecast_base import ForecastMetric
    from calibrant.metrics.forecast_scores import LogScore

    if not isinstance(metric, ForecastMetric):
        return KERNEL
    if has_unequal_weights(data.weights):
        return UNEQUAL
    rows, needed = effective_rows(data.weights), metric.rows_for_limits
    if rows < needed * (1 - 1e-9):
        return f"at least {needed} rows are needed, but there are {rows:.4g}"
    if method == "wilson" and (1 - metric(data)) * rows < FEWEST_OUTSIDE - 1e-6:
        return f"at least {FEWEST_OUTSIDE} targets must lie outside the intervals, but fewer do"
    return _missing_for_log_score(data, rows) if isinstance(metric, LogScore) else ""


def _missing_for_log_score(data: Forecasts, rows: float) -> str:
    """Say if targets are farther from their forecasts than these admit; otherwise nothing.

    The scores of such targets have tails too heavy for any formula, and a rule that looks at the scores themselves
    would give limits just where the largest are missing by chance. So the rule looks at transforms; in `studies` it is
    judged by how often limits are given and wrong, since those that are left after any refusal cover less.
    """
    if not data.distribution.has_cdf:
        return "they were simulated for laws on the line"
    from scipy.special import pdtr

    transforms = data.distribution.cdf(data.targets)
    for level in FAR:
        far = np.minimum(transforms, 1 - transforms) < level / 2
        found = round(rows * float(data.weights @ far / data.weights.sum()), 6)
        if found and pdtr(np.ceil(found) - 1, rows * level) >= 1 - MOST_SURPRISING:
            lie = "target lies" if found == 1 else "targets lie"
            beyond = f"{found:.4g} {lie} beyond {100 * (1 - level):g}% of the forecast"
            return f"{beyond}, more than chance allows, and a few decide about it"
    return ""


def has_unequal_weights(weights: FloatArray) -> bool:
    """Whether a few rows determine variances, which are sums of squared weights."""
    squares = np.square(weights / weights.max())
    rows = float(squares.sum() ** 2 / np.square(squares).sum())
    return rows < min(FEWEST_WEIGHTED, int((squares > 0).sum())) * (1 - 1e-9)
