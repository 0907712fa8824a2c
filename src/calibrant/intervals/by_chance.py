"""Values of a metric under calibration: their range, and whether chance alone makes them positive."""

import numpy as np

from calibrant._border.types import FloatArray
from calibrant._core.quantiles import quantiles
from calibrant.forecasts import Forecasts
from calibrant.intervals import means
from calibrant.intervals.squared_gaps import squared_gap
from calibrant.kernels.discrepancy import Data
from calibrant.metrics import Metric
from calibrant.metrics.base.counted import CountedMetric
from calibrant.predictions import Predictions
from calibrant.resampling.bootstrap import Bootstrap
from calibrant.resampling.redraws import redrawn_values

MOST_REDRAWS = 399
"""Largest number of redraws for the range of a calibration error by chance, which is shown for information."""


def under_calibration(data: Data, metric: Metric, bootstrap: Bootstrap, rng: np.random.Generator) -> FloatArray | None:
    """Return values of the metric for labels, or targets, drawn from the predictions."""
    n_resamples = min(bootstrap.n_resamples, MOST_REDRAWS)
    if isinstance(data, Forecasts):
        return metric.by_chance(data, n_resamples, rng)
    if data.copies is not None:
        counted = counted_by_cells(metric, data)
        return None if counted is None else counted.redrawn(n_resamples, rng)
    return redrawn_values(metric.prepare_labels(data), data, n_resamples, rng)


def range_by_chance(metric: Metric, null: FloatArray, level: float) -> tuple[float, float]:
    """Return the range that holds values under calibration with probability `level`.

    Only a large error speaks against calibration. So its range begins at the smallest possible value, and ends where
    the p-value of a consistency test is 1 - level.
    """
    if metric.better == "lower":
        return -np.inf if metric.is_unbiased else 0.0, float(quantiles(null, level))
    low, high = quantiles(null, means.tails(level)).tolist()
    return low, high


def is_positive_by_chance(metric: Metric) -> bool:
    """Return whether the metric is an error that is positive even for a calibrated model, so it has no valid limits."""
    judges = metric.measures == "calibration" and metric.better == "lower"
    return judges and squared_gap(metric) is None and not metric.is_unbiased


def has_range(metric: Metric, data: object, bootstrap: Bootstrap) -> bool:
    """Return whether the metric gets a range by chance: errors of independent rows that are fast to redraw."""
    if isinstance(data, Forecasts):
        return metric.measures == "calibration" and metric.suits(data) and bootstrap.clusters is None
    quick = metric.family != "kernel" and metric.redraws_quickly
    is_error = metric.measures == "calibration" and metric.better == "lower"
    if not (quick and is_error and isinstance(data, Predictions) and bootstrap.clusters is None):
        return False
    return data.copies is None or counted_by_cells(metric, data) is not None


def counted_by_cells(metric: Metric, data: Predictions) -> CountedMetric | None:
    """Return the metric as a function of the number of events per cell, or None if it is not one."""
    return metric.prepare_counts(metric.view(data)) if metric.suits(data) else None
