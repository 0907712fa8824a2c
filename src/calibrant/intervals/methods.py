"""Confidence limits of one metric of one model, by a method that is valid for it."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Literal, NamedTuple

import numpy as np

from calibrant._border.settings import check_level
from calibrant._border.types import FloatArray, Rng
from calibrant.exceptions import InputError
from calibrant.forecasts import Forecasts
from calibrant.intervals import debiased, kernel, means, resampled
from calibrant.intervals.by_chance import has_range, is_positive_by_chance, range_by_chance, under_calibration
from calibrant.intervals.limits import NO_WIDTH, Limits, Method
from calibrant.intervals.requirements import what_is_missing
from calibrant.intervals.sandwich import sandwich
from calibrant.kernels.discrepancy import Data
from calibrant.metrics import METRICS, Metric
from calibrant.metrics.names import chosen_metric
from calibrant.predictions.two_arrays import takes_two_arrays
from calibrant.resampling.bootstrap import Bootstrap
from calibrant.results import Interval

METHODS: Mapping[str, Method] = {
    "hall": means.hall,
    "wilson": means.wilson,
    "sandwich": sandwich,
    "debiased": debiased.debiased,
    "law": kernel.law,
    "bootstrap-t": means.bootstrap_t,
    "bca": resampled.bca,
    "percentile": resampled.percentile,
}
"""Every method by its name.

"auto" chooses among the first five, which are formulas without resampling. The last three are used on request only.
"""

FOR_ALL = ("bca", "percentile")
"""Methods for any metric; the others are for metrics that list them in `Metric.methods`."""

BY_CHANCE = "chance alone makes such an error positive; rms-debiased can have limits"
"""Why most calibration errors have no limits."""

BY_CHANCE_OF_FORECASTS = "chance alone makes such an error positive"
"""Why calibration errors of forecasts have no limits."""

TOO_LARGE = "values are too large to compute limits"
"""Why log losses of logits such as 1e200 have no limits."""


@takes_two_arrays
def interval(
    predictions: Data,
    metric: Metric | str,
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
    metric : Metric, or name in METRICS
    method : {"auto", "hall", "wilson", "sandwich", "debiased", "law", "bootstrap-t", "bca", "percentile"}
        "auto" chooses by the metric, see Notes.
    level : float, default=0.95
    bootstrap : Bootstrap, default=Bootstrap(999)
        Clusters, and the number of resamples and strata of methods that resample.
    rng : Generator, int or None

    Returns
    -------
    Interval

    Notes
    -----
    - Means over rows (log loss, Brier score): "hall", Student's law corrected for skewness, with a standard error that
      also uses the predictions, so that it holds if few rows are wrong. Accuracy: Wilson's interval. Forecasts
      likewise: "hall" for scores such as the CRPS, Wilson's interval for the coverage of intervals.
    - The debiased root-mean-square error (`METRICS["rms-debiased"]` and its relatives): the law of its square as a mean
      over pairs, which holds with and without miscalibration; beside it the mean and the range of the metric if the
      model were calibrated.
    - Calibration errors that chance makes positive (ECE, KDE-ECE and their relatives): no limits, but their mean and
      range if the model were calibrated. A percentile interval would always miss 0, the true value of a calibrated
      model.
    - Unbiased SKCE: its own law as a U-statistic; KCE: the root of that, with its sign.
    - Calibration slope, intercept, calibration in the large and O/E: "sandwich", from the influence of each row, which
      does not assume that the recalibration line is the true model.
    - By name only: for means the studentised bootstrap "bootstrap-t"; for any metric "percentile" and "bca", bootstrap
      quantiles without and with a correction for bias and skewness.

    How often each contains the true value is simulated in docs/coverage.md. Where that is not 93 to 97% for limits of
    95%, "auto" refuses; a method requested by name gives limits anyway. "auto" refuses

    - if fewer than ten wrong rows are expected from the predictions (15 for means, slopes and O/E, 50 for SKCE) or
      fewer than four are observed (10, 25), unless 50 are observed; for debiased errors, if fewer than 0.4 of the
      expected ones are observed, unless 20 are;
    - for areas under risk-coverage curves, with fewer than 15 wrong, or right, answers expected or 10 observed, unless
      50 are observed; their lower limit accounts for this condition;
    - for slope and intercept, if a threshold on the predictions separates the outcomes;
    - if weights are so unequal that fewer than 20 rows determine variances;
    - if bins are so narrow that more than a third of what chance adds to the gaps comes from bins without a single
      uncertain row;
    - for SKCE below 1000 rows, with a lengthscale below a third of the median distance, or if labels scatter less than
      the predictions say;
    - with fewer than 30 clusters;
    - if nothing varies, as the log loss of predictions that are all 0.5;
    - for predictive distributions: kernel calibration errors; scores below 50 rows, the interval score if fewer than 15
      targets are expected outside the interval, coverage if fewer than 10 are expected or 4 observed there; the log
      score below 500 rows, or if more targets lie beyond 99.9% or 99.99% of their forecast than chance allows.

    Examples
    --------
    >>> from calibrant import Predictions
    >>> from calibrant.metrics import Accuracy
    >>> p = Predictions([0.9] * 100, labels=[1] * 80 + [0] * 20)
    >>> limits = interval(p, Accuracy())
    >>> limits.value, round(limits.low, 3), round(limits.high, 3)  # Wilson's interval of 80 in 100
    (0.8, 0.711, 0.867)
    """
    check_level(level)
    metric = chosen_metric(metric)
    metric.check(predictions)
    bootstrap, generator = bootstrap or Bootstrap(999), np.random.default_rng(rng)
    name = _automatic(metric, predictions, bootstrap) if method == "auto" else _by_name(method, metric)
    found = MethodOutcome("none", None, why_not(metric, predictions, bootstrap))
    if name is not None:
        found = _outcome(name, predictions, metric, level, bootstrap, generator, asked=method != "auto")
    null = None
    if has_range(metric, predictions, bootstrap):
        null = under_calibration(predictions, metric, bootstrap, generator)
    return as_interval(metric, metric(predictions), level, found, null)


def _automatic(metric: Metric, data: object, bootstrap: Bootstrap) -> str | None:
    """Return the name of the method, or None if there is only a range by chance; refuse if there is neither."""
    name, missing = usual_method(metric, bootstrap), why_not(metric, data, bootstrap)
    if name is None and has_range(metric, data, bootstrap):
        return None
    if name is None:
        raise InputError(
            f"{metric!r} has no interval with known coverage. Compare two models with compare, or test one with "
            "ConsistencyTest."
        )
    if missing:
        raise InputError(
            f'the coverage of limits of {metric!r} is not known: {missing}; method="{name}" gives limits anyway.'
        )
    return name


def _by_name(method: str, metric: Metric) -> str:
    if method not in METHODS:
        raise InputError(f'method must be "auto" or one of {", ".join(METHODS)}, but is {method!r}.')
    if method not in (*FOR_ALL, *metric.methods):
        raise InputError(f'method="{method}" does not suit {metric!r}. "auto" chooses one that does, if there is one.')
    return method


class MethodOutcome(NamedTuple):
    """A method and its limits, or why there are none."""

    method: str
    limits: Limits | None
    reason: str = ""


def _outcome(
    name: str,
    data: Data,
    metric: Metric,
    level: float,
    bootstrap: Bootstrap,
    rng: np.random.Generator,
    *,
    asked: bool = False,
) -> MethodOutcome:
    """Return the limits; none if squares of numbers overflow, nor, unless asked by name, if they have no width."""
    with np.errstate(over="ignore", invalid="ignore"):
        limits = METHODS[name](data, metric, level, bootstrap, rng)
    if np.isnan(limits).any():
        return MethodOutcome("none", None, TOO_LARGE)
    return MethodOutcome(name, limits) if asked or limits.has_width else MethodOutcome("none", None, NO_WIDTH)


def known_interval(
    data: Data,
    metric: Metric,
    value: float,
    level: float,
    bootstrap: Bootstrap,
    rng: np.random.Generator,
    null: FloatArray | Literal["draw"] | None = "draw",
) -> Interval | None:
    """Return limits with known coverage or why there are none, and the range under calibration; None without either.

    The range is that of `null`, values of the metric for labels drawn from the predictions. By default they are drawn
    here; None leaves the range out.
    """
    reason = why_not(metric, data, bootstrap)
    method = None if reason else usual_method(metric, bootstrap)
    found = MethodOutcome("none", None, reason)
    if method is not None:
        with suppress(InputError):  # Too few rows, or nothing in them that varies.
            found = _outcome(method, data, metric, level, bootstrap, rng)
    if isinstance(null, str):
        null = under_calibration(data, metric, bootstrap, rng) if has_range(metric, data, bootstrap) else None
    if found.limits is None and not found.reason and null is None:
        return None
    return as_interval(metric, value, level, found, null)


def as_interval(metric: Metric, value: float, level: float, found: MethodOutcome, null: FloatArray | None) -> Interval:
    """Return the result, given the outcome of a method and the values of the metric under calibration, if any."""
    limits = None if found.limits is None else found.limits.around(value)
    return Interval(
        name=repr(metric),
        value=value,
        low=None if limits is None else limits.low,
        high=None if limits is None else limits.high,
        level=level,
        method="none" if limits is None else found.method,
        expected=None if null is None else float(np.mean(null)),
        null=None if null is None else range_by_chance(metric, null, level),
        reason=found.reason,
        metric=next((key for key, known in METRICS.items() if known == metric), ""),
    )


def method_for(metric: Metric, data: object, bootstrap: Bootstrap | None = None) -> str | None:
    """Return the name of the method with known coverage for this metric on these data, or None."""
    bootstrap = bootstrap or Bootstrap(999)
    return None if why_not(metric, data, bootstrap) else usual_method(metric, bootstrap)


def why_not(metric: Metric, data: object, bootstrap: Bootstrap) -> str:
    """Say what the data lack for limits of the metric, or that chance makes it positive; empty if it has limits."""
    name = usual_method(metric, bootstrap)
    if name is None:
        reason = BY_CHANCE_OF_FORECASTS if isinstance(data, Forecasts) else BY_CHANCE
        return reason if is_positive_by_chance(metric) else ""
    return what_is_missing(name, metric, data, bootstrap)


def usual_method(metric: Metric, bootstrap: Bootstrap) -> str | None:
    """Return the method for the metric; Wilson's interval, which ignores clusters, is replaced if there are any."""
    return "hall" if metric.limits == "wilson" and bootstrap.clusters is not None else metric.limits
