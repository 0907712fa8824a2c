"""Confidence limits of one metric of one model, by a method that is valid for it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from calibrant._convert import InputError
from calibrant._typing import FloatArray, Rng
from calibrant.bootstrap import Bootstrap
from calibrant.intervals import debiased, kernel, resampled, scores
from calibrant.intervals.base import Limits, Method
from calibrant.intervals.enough import what_is_missing
from calibrant.metrics import KCE, SKCE, Accuracy, Metric, Score, SimplexECE
from calibrant.predictions import Predictions
from calibrant.resampling import redraw_labels
from calibrant.results import Interval

METHODS: Mapping[str, Method] = {
    "bootstrap-t": scores.bootstrap_t,
    "wilson": scores.wilson,
    "bca": resampled.bca,
    "percentile": resampled.percentile,
    "debiased": debiased.debiased,
    "law": kernel.law,
}
"""Every method by its name; each is given data, metric, level, bootstrap and generator."""


MOST_REDRAWS = 399
"""Redraws of the labels for the range of a calibration error under calibration, which is there to look at."""


def interval(
    predictions: Any,
    metric: Metric,
    method: str = "auto",
    *,
    level: float = 0.95,
    bootstrap: Bootstrap | None = None,
    rng: Rng = None,
) -> Interval:
    """Return the value of a metric with confidence limits.

    Parameters
    ----------
    predictions : Predictions or Forecasts
    metric : Metric
    method : {"auto", "bootstrap-t", "wilson", "bca", "debiased", "law", "percentile"}, default="auto"
        "auto" chooses by the metric, see Notes.
    level : float, default=0.95
    bootstrap : Bootstrap, default=Bootstrap(999)
        Number of resamples, clusters and strata.
    rng : Generator, int or None

    Returns
    -------
    Interval

    Notes
    -----
    - Means over rows (log loss, Brier score): the studentised bootstrap, with a standard error that the predictions
      have a part in, so that it holds where few rows are wrong. Accuracy: Wilson's interval.
    - Calibration errors that chance makes positive (ECE, KDE-ECE and their relatives): limits of the debiased
      root-mean-square error over the metric's own bins, or over 15 bins of equal width if it has none, which hold with
      and without miscalibration; beside them the mean and the range of the metric itself if the model were calibrated.
      A percentile interval would miss the true value 0 of a calibrated model always.
    - Unbiased SKCE: its own law as a U-statistic.
    - Other numbers, such as the calibration slope: BCa, bootstrap quantiles corrected for bias and skewness.

    How often each contains the true value is simulated in docs/coverage.md. Where that is not 93 to 97 % for limits of
    95 %, "auto" refuses; a method asked for by its name does what it can. It refuses if fewer than ten wrong rows are
    expected from the predictions, and fewer than 50 are there; if bins are so narrow that more than a third of what
    chance adds to the gaps comes from bins without a single uncertain row; for the slope and its like, if fewer than
    ten rows of the rarer outcome are expected.

    Examples
    --------
    >>> from calibrant.metrics import Accuracy
    >>> p = Predictions([0.9] * 100, labels=[1] * 80 + [0] * 20)
    >>> limits = interval(p, Accuracy())
    >>> limits.value, round(limits.low, 3), round(limits.high, 3)  # Wilson's interval of 80 in 100
    (0.8, 0.711, 0.867)
    """
    name = method_for(metric, predictions) if method == "auto" else method
    if name is None:
        raise InputError(_refusal(metric, predictions))
    if name not in METHODS:
        raise InputError(f'method must be "auto" or one of {", ".join(METHODS)}, but is {method!r}.')
    if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 < level < 1:
        raise InputError(f"level must be a number between 0 and 1, but is {level!r}.")
    bootstrap, generator = bootstrap or Bootstrap(999), np.random.default_rng(rng)
    limits = METHODS[name](predictions, metric, level, bootstrap, generator)
    if method == "auto" and limits.doubt:
        raise InputError(
            f'limits of {metric!r} are not known to cover here: {limits.doubt}; method="{name}" gives limits all the '
            "same."
        )
    null = _under_calibration(predictions, metric, bootstrap, generator) if name == "debiased" else None
    return as_interval(metric, metric(predictions), level, name, limits, null)


def known_interval(
    data: Any, metric: Metric, value: float, level: float, bootstrap: Bootstrap, rng: np.random.Generator
) -> Interval | None:
    """Return what is known about a value: limits that cover, its range under calibration, both, or None."""
    method, limits, null = method_for(metric, data, bootstrap), None, None
    if method is not None:
        limits = METHODS[method](data, metric, level, bootstrap, rng)
    if is_debiased(metric, data, bootstrap):
        null = _under_calibration(data, metric, bootstrap, rng)
    if limits is not None and limits.doubt:
        limits = None
    return None if limits is None and null is None else as_interval(metric, value, level, method, limits, null)


def _under_calibration(data: Any, metric: Metric, bootstrap: Bootstrap, rng: np.random.Generator) -> FloatArray:
    """Return values of the metric over labels drawn from the predictions."""
    evaluate, n_resamples = metric.prepare_labels(data), min(bootstrap.n_resamples, MOST_REDRAWS)
    return np.concatenate([evaluate(labels) for labels in redraw_labels(data, n_resamples, rng)])


def as_interval(
    metric: Metric, value: float, level: float, method: str | None, limits: Limits | None, null: FloatArray | None
) -> Interval:
    """Return a result, given limits if there are any, and values of the metric under calibration if there are any."""
    return Interval(
        name=repr(metric),
        value=value,
        low=None if limits is None else limits.low,
        high=None if limits is None else limits.high,
        level=level,
        method="none" if limits is None or method is None else method,
        quantity="" if limits is None else limits.quantity,
        expected=None if null is None else float(np.mean(null)),
        null=None if null is None else tuple(np.quantile(null, scores.tails(level)).tolist()),
    )


def method_for(metric: Metric, data: Any, bootstrap: Bootstrap | None = None) -> str | None:
    """Return the name of the method that covers for this metric on these data, or None if none is known."""
    name = _family(metric, data)
    in_clusters = bootstrap is not None and bootstrap.clusters is not None
    if name is None or (in_clusters and name in ("debiased", "law")):
        return None
    return None if what_is_missing(name, metric, data) else name


def is_debiased(metric: Metric, data: Any, bootstrap: Bootstrap) -> bool:
    """Whether chance makes the metric positive, so that limits are those of debiased errors, of independent rows."""
    return bootstrap.clusters is None and _family(metric, data) == "debiased"


def _family(metric: Metric, data: Any) -> str | None:
    """Return the method for metrics of this kind."""
    if isinstance(metric, Accuracy):
        return "wilson"
    if isinstance(metric, Score):
        return "bootstrap-t"
    if isinstance(metric, (SKCE, KCE)):
        return "law" if kernel.is_known(metric, data) else None
    if metric.family == "kernel" or isinstance(metric, SimplexECE):
        return None
    if metric.better == "none":
        return "bca"
    return "debiased" if metric.measures == "calibration" and isinstance(data, Predictions) else None


def _refusal(metric: Metric, data: Any) -> str:
    name = _family(metric, data)
    if name is None:
        return (
            f"{metric!r} has no interval that is known to cover. Compare two models by compare, or test with "
            "ConsistencyTest."
        )
    missing = what_is_missing(name, metric, data)
    return f'limits of {metric!r} are known to cover {missing}; method="{name}" gives limits all the same.'
