"""Confidence limits of one set of predictions and what chance makes of errors, within bounds on their time."""

from collections.abc import Mapping
from contextlib import suppress

import numpy as np

from calibrant._convert import InputError
from calibrant._typing import FloatArray
from calibrant.bootstrap import Bootstrap
from calibrant.intervals import METHODS, Found, as_interval, family, has_range, why_not
from calibrant.metrics import ICI, DirichletECE, GapQuantile, KdeECE, Metric, SmoothECE
from calibrant.metrics.lift import Lift
from calibrant.predictions import Predictions
from calibrant.resampling import redraw_labels
from calibrant.results import Estimate, Interval

LEVEL = 0.95
"""Of all intervals."""

MOST_RESAMPLES, FEWEST_RESAMPLES = 399, 199
CELLS = 2 * 10**7
"""Bootstrap samples times rows: with more rows there are fewer samples."""

MOST_FITTED_ROWS = 10_000
"""With more rows, numbers that are fitted to each bootstrap sample get no limits, as these would take too long."""

MOST_REDRAWS, FEWEST_REDRAWS = 99, 39
"""Of the labels, for the range of errors if the model were calibrated, which is there to look at."""

RANGE_CELLS = 4 * 10**5
"""Redraws times rows: with more rows there are fewer redraws."""

MOST_REDRAWN: Mapping[type[Metric], int] = {
    DirichletECE: 2000,
    GapQuantile: 2000,
    ICI: 2000,
    KdeECE: 100_000,
    SmoothECE: 100_000,
}
"""With more rows, times classes if each has an error of its own, metrics that take long to redraw get no range."""


def limits_of(
    predictions: Predictions,
    metrics: Mapping[str, Metric],
    estimates: Mapping[str, Estimate],
    null: Mapping[str, FloatArray | None],
    n_resamples: int,
    rng: np.random.Generator,
) -> dict[str, Interval]:
    """Return confidence limits of those metrics for which a valid method is known, and what chance makes, by name.

    Errors that chance makes positive have no limits: what is known about them is their range over labels drawn from the
    predictions.

    Parameters
    ----------
    predictions : Predictions
    metrics : mapping of str to Metric
    estimates : mapping of str to Estimate
        Their values, if they have one.
    null : mapping of str to array
        Values of some metrics on labels drawn from the predictions, which say what chance makes of them.
    n_resamples : int
        Bootstrap samples, at most; there are never more than 399, and from 50 000 rows on fewer, down to 199.
    rng : Generator
    """
    affordable = int(np.clip(CELLS // predictions.n_samples, FEWEST_RESAMPLES, MOST_RESAMPLES))
    bootstrap = Bootstrap(min(n_resamples, affordable))
    wanted = {key: metrics[key] for key in estimates if null.get(key) is None}
    # Random numbers of their own, so that they change nothing else.
    null = {**null, **_ranges(predictions, wanted, bootstrap, rng.spawn(1)[0])}
    found: dict[str, Interval] = {}
    for key, estimate in estimates.items():
        metric, draws = metrics[key], null.get(key)
        reason = why_not(metric, predictions, bootstrap)
        method = None if reason else _affordable(family(metric, bootstrap), predictions)
        result = Found("none", None, reason)
        if method is not None:
            with suppress(InputError):  # Too few rows, or nothing in them that varies.
                result = Found(method, METHODS[method](predictions, metric, LEVEL, bootstrap, rng))
        if result.limits is not None or result.reason or draws is not None:
            found[key] = as_interval(metric, estimate.value, LEVEL, result, draws)
    return found


def _ranges(
    predictions: Predictions, metrics: Mapping[str, Metric], bootstrap: Bootstrap, rng: np.random.Generator
) -> dict[str, FloatArray]:
    """Return values of errors over labels drawn from the predictions, the same labels for all of them."""
    evaluators = {
        key: metric.prepare_labels(predictions)
        for key, metric in metrics.items()
        if has_range(metric, predictions, bootstrap) and _is_quick(metric, predictions)
    }
    affordable = int(np.clip(RANGE_CELLS // predictions.n_samples, FEWEST_REDRAWS, MOST_REDRAWS))
    draws: dict[str, list[FloatArray]] = {key: [] for key in evaluators}
    for labels in redraw_labels(predictions, min(affordable, bootstrap.n_resamples), rng):
        for key, evaluate in evaluators.items():
            draws[key].append(evaluate(labels))
    return {key: np.concatenate(parts) for key, parts in draws.items()}


def _is_quick(metric: Metric, predictions: Predictions) -> bool:
    size = predictions.n_samples
    while isinstance(metric, Lift):
        metric, size = metric.metric, predictions.n_samples * predictions.n_classes
    return size <= MOST_REDRAWN.get(type(metric), size)


def _affordable(method: str | None, predictions: Predictions) -> str | None:
    return None if method == "bca" and predictions.n_samples > MOST_FITTED_ROWS else method
