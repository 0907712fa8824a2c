"""Confidence limits of metrics, and comparisons of models."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from calibrant.results.estimate import Description
from calibrant.results.readable import Readable


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Interval(Readable):
    """A metric with its confidence limits, which contain its value, and with its range by chance.

    Attributes
    ----------
    name : str
        The metric with its settings.
    value : float
    low, high : float or None
        Confidence limits; None if no method of known coverage exists.
    level : float
    method : str
        The method of the limits; "none" without limits.
    expected : float or None
        Mean of the metric if the model were calibrated, for metrics of calibration.
    null : tuple of two floats, or None
        The metric of a calibrated model lies between these with probability `level`. Only large values of an error
        speak against calibration, so its first entry is 0, or minus infinity if chance can make it negative.
    details : mapping
    reason : str
        Why there are no limits.
    metric : str
        The name of the metric in `METRICS`; empty if it has other settings.
    """

    name: str
    value: float
    low: float | None
    high: float | None
    level: float
    method: str
    expected: float | None = None
    null: tuple[float, float] | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    metric: str = ""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Difference(Readable):
    """A model minus the baseline, on the same rows.

    Attributes
    ----------
    value : float
        Infinite if one of the two is.
    low, high : float or None
        Confidence limits of the difference; None if no method of known coverage exists. They contain the value, unless
        percentiles were requested, which chance may shift to one side of it.
    pvalue : float
        Two-sided, never 0; 1 without limits.
    adjusted : float
        The p-value adjusted by Holm's method over all differences of the comparison.
    is_significant : bool
        Whether the limits exclude 0.
    method : str
        The method of limits and p-value; "none" without them.
    reason : str
        Why there are no limits; empty with limits.
    """

    value: float
    low: float | None
    high: float | None
    pvalue: float
    adjusted: float
    is_significant: bool
    method: str = "percentile"
    reason: str = ""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Compared(Readable):
    """One metric of one model.

    Attributes
    ----------
    model, metric : str
        Names in the comparison.
    better : {"lower", "higher", "none"}
    value : float
    interval : Interval or None
        None if intervals were not requested, or neither limits nor a range by chance is known.
    difference : Difference or None
        None for the baseline, and where both values are infinite.
    """

    model: str
    metric: str
    better: str
    value: float
    interval: Interval | None = None
    difference: Difference | None = None


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Comparison(Readable):
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
        A comparison within each group of rows, if requested.
    settings : mapping
    rule : {"valid", "percentile"}
        How limits of differences were computed: by a method of known coverage, or as percentiles over resamples.
    about : mapping of str to Description
        How each metric is presented.
    one_bandwidth : tuple of str
        The metrics whose bandwidth is that of the baseline for all models.
    """

    models: tuple[str, ...]
    metrics: tuple[str, ...]
    baseline: str
    n_samples: int
    n_resamples: int
    level: float
    entries: tuple[Compared, ...]
    groups: Mapping[str, "Comparison"] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    rule: str = "valid"
    about: Mapping[str, Description] = field(default_factory=dict)
    one_bandwidth: tuple[str, ...] = ()

    def entry(self, model: str, metric: str) -> Compared:
        """Return the entry of this model and metric."""
        return self.entries[self.models.index(model) * len(self.metrics) + self.metrics.index(metric)]

    def of(self, model: str) -> dict[str, float]:
        """Return the values of this model, by metric."""
        return {metric: self.entry(model, metric).value for metric in self.metrics}


def favours(entry: Compared) -> int:
    """Return 1 if the limits of the difference show the model to be better than the baseline, -1 if worse, else 0."""
    difference = entry.difference
    if difference is None or not difference.is_significant or difference.high is None or entry.better == "none":
        return 0
    return 1 if (difference.high < 0) == (entry.better == "lower") else -1
