"""Several sets of predictive distributions of the same targets, with paired differences of their scores."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from calibrant._border.types import Progress, Rng
from calibrant.assessment.forecasts.limits import assessed_interval
from calibrant.assessment.model_differences import Cell, results_of
from calibrant.assessment.size import CONFIDENCE, NO_RESAMPLING
from calibrant.assessment.work import rows_by_group
from calibrant.exceptions import InputError
from calibrant.forecasts import Forecasts, Quantiles
from calibrant.intervals.differences import NOT_CANCELLED, DifferenceLimits, mean_difference, unknown_difference
from calibrant.intervals.requirements import missing_for_forecasts
from calibrant.metrics import Metric, Sharpness
from calibrant.metrics.forecasts.metric import ForecastScore
from calibrant.metrics.forecasts.table import FAIR, suited_metrics
from calibrant.metrics.names import chosen_metrics
from calibrant.resampling.seeds import as_seed, version_and_seed
from calibrant.results import Compared, Comparison, Difference

DEFAULT_METRICS = ("crps-fair", "crps", "log-score", "pinball", "interval-score", "interval-coverage", "mace")
"""Metrics that are compared by default, if the distributions of all models have them. For ensembles the fair CRPS
replaces the CRPS; advice is based on it as well."""


def compare_forecasts(
    models: Mapping[str, Forecasts],
    metrics: Sequence[str] | None = None,
    *,
    baseline: str | None = None,
    by: object = None,
    intervals: bool = True,
    progress: Progress | None = None,
    rng: Rng = None,
) -> Comparison:
    """Compare predictive distributions of the same targets.

    Parameters
    ----------
    models : mapping of str to Forecasts
        Models with the same targets and weights, row by row; the kinds of distributions may differ.
    metrics : sequence of names in FORECAST_METRICS, optional
        By default scores, coverage and MACE.
    baseline : str, optional
        The model that the others are compared with; by default the first.
    by : array-like of shape (n,), optional
        The group of each row; the models are compared in each group as well.
    intervals : bool, default=True
        Whether each value gets its own limits and its range by chance.
    progress : callable, optional
        Called with (values done, values in all).
    rng : Generator, int or None

    Returns
    -------
    Comparison

    Notes
    -----
    Differences of scores are means over rows: limits and p-values are by Student's law, corrected for skewness.
    Differences of calibration errors have none, as the bias by chance does not cancel.

    Examples
    --------
    >>> from calibrant.forecasts import Normal
    >>> y = np.random.default_rng(0).normal(size=200)
    >>> models = {"wide": Forecasts(Normal(np.zeros(200), 3.0), y), "right": Forecasts(Normal(np.zeros(200), 1.0), y)}
    >>> compare_forecasts(models, ["crps"]).entry("right", "crps").difference.is_significant
    True
    """
    base = _checked(models, baseline)
    seed = as_seed(rng)
    whole = _compared(models, base, metrics, seed, progress, intervals=intervals)
    groups = {
        name: _compared(
            {key: f.take(rows) for key, f in models.items()}, base, metrics, seed, None, intervals=intervals
        )
        for name, rows in rows_by_group(by, models[base]).items()
    }
    settings = version_and_seed(rng)
    return replace(whole, groups=groups, settings=settings)


def _checked(models: Mapping[str, Forecasts], baseline: str | None) -> str:
    """Return the name of the baseline, and refuse models of other targets."""
    if len(models) < 2:
        raise InputError("compare needs at least two sets of forecasts, but got one. Use assess_forecasts for one.")
    first = next(iter(models))
    for name, one in models.items():
        if not isinstance(one, Forecasts):
            raise TypeError(f"compare takes Forecasts or Predictions, not both, but {name!r} is {type(one).__name__}.")
        for what in ("targets", "weights"):
            if not np.array_equal(getattr(one, what), getattr(models[first], what)):
                raise InputError(f"{first!r} and {name!r} must have the same {what}, row by row, but differ.")
    if baseline is not None and baseline not in models:
        raise InputError(f"baseline must be one of {', '.join(map(repr, models))}, but is {baseline!r}.")
    return baseline or first


def _compared(
    models: Mapping[str, Forecasts],
    baseline: str,
    names: Sequence[str] | None,
    seed: int,
    progress: Progress | None,
    *,
    intervals: bool,
) -> Comparison:
    metrics = _chosen(models, baseline, names)
    values = {(model, key): metric(f) for (model, f), (key, metric) in product(models.items(), metrics.items())}
    differences = _differences(models, baseline, metrics, values)
    entries = []
    for (model, f), (key, metric) in product(models.items(), metrics.items()):
        entries.append(
            Compared(
                model=model,
                metric=key,
                better=metric.better,
                value=values[model, key],
                interval=assessed_interval(metric, f, values[model, key], seed) if intervals else None,
                difference=differences.get((model, key)),
            )
        )
        if progress is not None:
            progress(len(entries), len(values))
    return Comparison(
        models=tuple(models),
        metrics=tuple(metrics),
        baseline=baseline,
        n_samples=models[baseline].n_samples,
        n_resamples=0,
        level=CONFIDENCE,
        entries=tuple(entries),
        about={key: metric.about() for key, metric in metrics.items()},
    )


def _chosen(models: Mapping[str, Forecasts], baseline: str, names: Sequence[str] | None) -> Mapping[str, Metric]:
    """Return the metrics that all models have; if any model gives columns of quantiles, at the levels of these."""
    limited = [f for f in models.values() if isinstance(f.distribution, Quantiles)]
    if len({f.distribution.levels.tobytes() for f in limited if isinstance(f.distribution, Quantiles)}) > 1:
        raise InputError("columns of quantiles can be compared only at the same levels, but these differ.")
    table = suited_metrics(limited[0] if limited else models[baseline])
    known = [suited_metrics(f) for f in models.values()]
    shared = {key: metric for key, metric in table.items() if all(key in one for one in known)}
    if names is None:
        left_out = {"crps"} if FAIR in shared else set()
        return {key: shared[key] for key in DEFAULT_METRICS if key in shared and key not in left_out}
    return chosen_metrics(names, shared)


def _differences(
    models: Mapping[str, Forecasts], baseline: str, metrics: Mapping[str, Metric], values: Mapping[Cell, float]
) -> dict[Cell, Difference]:
    """Return the paired differences to the baseline, with p-values adjusted for their number."""
    changes = {
        (model, key): value - values[baseline, key]
        for (model, key), value in values.items()
        if model != baseline and not np.isinf(value) and not np.isinf(values[baseline, key])
    }
    return results_of(
        changes, {(model, key): _limits(metrics[key], models[baseline], models[model]) for model, key in changes}
    )


def _limits(metric: Metric, first: Forecasts, second: Forecasts) -> DifferenceLimits:
    """Return the limits of a difference of means over rows, or why there are none."""
    if isinstance(metric, Sharpness) or not isinstance(metric, ForecastScore):
        reason = "it is not a mean over rows" if isinstance(metric, Sharpness) else NOT_CANCELLED.partition(";")[0]
        return unknown_difference(reason)
    missing = [missing_for_forecasts("hall", metric, f) for f in (first, second)]
    if any(missing):
        return unknown_difference(next(filter(None, missing)))
    rows = metric.per_row(second) - metric.per_row(first)
    return mean_difference(rows, first.weights, metric, CONFIDENCE, NO_RESAMPLING)
