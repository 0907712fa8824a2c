"""Outcomes of intervals and of comparing models."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, eq=False, kw_only=True)
class Interval:
    """Confidence limits of a metric.

    Attributes
    ----------
    name : str
        The metric with its settings.
    value : float
    low, high : float or None
        Confidence limits, of `quantity`; None where no method is known to cover.
    level : float
    method : str
        How the limits were made; "none" without limits.
    quantity : str
        What the limits are about: the metric itself, or the debiased root-mean-square error where the metric itself
        is biased by chance and has no valid interval.
    expected : float or None
        Mean of the metric if the model were calibrated, for metrics of calibration.
    null : tuple of two floats, or None
        The metric of a calibrated model lies between these with probability `level`.
    details : mapping
    reason : str
        Why there are no limits, where a method would be known.
    """

    name: str
    value: float
    low: float | None
    high: float | None
    level: float
    method: str
    quantity: str
    expected: float | None = None
    null: tuple[float, float] | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class Difference:
    """A model minus the baseline, on the same rows.

    Attributes
    ----------
    value : float
        Infinite if one of the two is.
    low, high : float or None
        Confidence limits, of `quantity`; None where no method is known to cover.
    same_sign : float
        Share of the shared resamples of the rows whose difference has the sign of `value`.
    pvalue : float
        Two-sided, never 0; 1 without limits.
    adjusted : float
        By Holm's method over all differences of the comparison.
    is_significant : bool
        Whether the limits exclude 0.
    method : str
        How limits and p-value were made; "none" without them.
    quantity : str
        What they are about, if not the difference of the metric itself: that of the debiased mean squared errors where
        the metric is biased by chance.
    resampled : tuple of two floats, or None
        Percentiles of the difference of the metric over the resamples; equal to the limits if `method` is "percentile".
    reason : str
        What the data lack for limits that are known to cover; empty with limits.
    """

    value: float
    low: float | None
    high: float | None
    same_sign: float
    pvalue: float
    adjusted: float
    is_significant: bool
    method: str = "percentile"
    quantity: str = ""
    resampled: tuple[float, float] | None = None
    reason: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class Compared:
    """One metric of one model.

    Attributes
    ----------
    model, metric : str
        Names in the comparison.
    better : {"lower", "higher", "none"}
    value : float
    interval : Interval or None
        None if intervals were not asked for, or nothing is known.
    difference : Difference or None
        None for the baseline, and where both values are infinite.
    """

    model: str
    metric: str
    better: str
    value: float
    interval: Interval | None = None
    difference: Difference | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison:
    """Several models on the same rows.

    Attributes
    ----------
    models, metrics : tuple of str
    baseline : str
    n_samples, n_resamples : int
    level : float
    entries : tuple of Compared
        Model after model, each metric in the order of `metrics`.
    groups : mapping of str to Comparison
        The same for parts of the rows, if asked for.
    settings : mapping
    """

    models: tuple[str, ...]
    metrics: tuple[str, ...]
    baseline: str
    n_samples: int
    n_resamples: int
    level: float
    entries: tuple[Compared, ...]
    groups: Mapping[str, "Comparison"] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def entry(self, model: str, metric: str) -> Compared:
        """Return the entry of this model and metric."""
        return self.entries[self.models.index(model) * len(self.metrics) + self.metrics.index(metric)]

    def of(self, model: str) -> dict[str, float]:
        """Return the values of this model, by metric."""
        return {metric: self.entry(model, metric).value for metric in self.metrics}


def missing_limits(results: Iterable[tuple[str, Interval | Difference | None]]) -> dict[str, list[str]]:
    """Return the names of those that have no limits though a method would be known, by the reason."""
    found: dict[str, dict[str, None]] = {}
    for name, result in results:
        if result is not None and result.reason:
            found.setdefault(result.reason, {})[name] = None
    return {reason: [*names] for reason, names in found.items()}


def missing_differences(comparison: Comparison, named: Callable[[str], str] = str) -> dict[str, list[str]]:
    """Return what has a difference without limits, by the reason: the metric, and of which model if there are several.

    `named` writes the name of a metric.
    """
    others = [model for model in comparison.models if model != comparison.baseline]
    found: dict[str, list[str]] = {}
    for metric in comparison.metrics:
        by_model = ((model, comparison.entry(model, metric).difference) for model in others)
        for reason, models in missing_limits(by_model).items():
            which = "" if models == others else f" of {' and '.join(models)}"
            found.setdefault(reason, []).append(named(metric) + which)
    return found


def own_limits(interval: Interval | None) -> tuple[float, float] | None:
    """Return limits that are about the value beside them, if there are such."""
    if interval is None or interval.low is None or interval.high is None or interval.quantity != interval.name:
        return None
    return interval.low, interval.high


def shown_limits(difference: Difference) -> tuple[float, float] | None:
    """Return the limits of the difference that is shown, or its range over the resamples if it has none of its own."""
    if difference.low is None or difference.high is None or has_range_only(difference):
        return difference.resampled
    return difference.low, difference.high


def has_range_only(difference: Difference) -> bool:
    """Whether the limits are about something else than the difference that is shown, or nothing is known to cover."""
    return bool(difference.quantity) or difference.low is None


def favours(entry: Compared) -> int:
    """Return 1 if the limits of a difference say that the model is better than the baseline, -1 if worse, else 0."""
    difference = entry.difference
    if difference is None or not difference.is_significant or difference.high is None or entry.better == "none":
        return 0
    return 1 if (difference.high < 0) == (entry.better == "lower") else -1
