"""Confidence limits of metrics, and comparisons of models."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from calibrant._border.numerals import count, counted, percent, significant, with_sign
from calibrant.results.estimate import NONE, Description
from calibrant.results.readable import Readable

if TYPE_CHECKING:
    from calibrant.results.svg import Element

PERCENTILES = (
    "by request, intervals are percentiles of the difference over the samples: of ECE and KDE-ECE they contained the "
    "true one in 1 to 100 of 100 simulated data sets, of log loss and Brier score in 66 to 96 (docs/coverage.md)"
)
"""Simulated coverage of percentiles of paired differences, from the smallest to the largest share of any setting."""


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

    def _printed(self) -> list[tuple[str, str]]:
        """Return what is printed: the metric by its name in the table, and the range by chance in words."""
        own = {"name": self.metric or self.name, "null": chance_in_words(self, partial(significant, digits=4))}
        return [(key, own.get(key, text)) for key, text in super()._printed() if key != "metric"]


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

    def _printed(self) -> list[tuple[str, str]]:
        rows = [(key, "; ".join(_cell(self.entry(model, key)) for model in self.models)) for key in self.metrics]
        note = f"minus {self.baseline}, on {counted(self.n_samples)}; * its {percent(self.level)} limits exclude 0"
        return [*rows, ("in brackets", note), *([("groups", ", ".join(self.groups))] if self.groups else [])]

    def entry(self, model: str, metric: str) -> Compared:
        """Return the entry of this model and metric."""
        return self.entries[self.models.index(model) * len(self.metrics) + self.metrics.index(metric)]

    def of(self, model: str) -> dict[str, float]:
        """Return the values of this model, by metric."""
        return {metric: self.entry(model, metric).value for metric in self.metrics}

    def _in_notebook(self) -> "list[Element]":
        from calibrant.results import notebook

        return notebook.comparison(self)


def _cell(entry: Compared) -> str:
    """Return the value of a model, and the difference from the baseline."""
    difference = entry.difference
    value = NONE if math.isnan(entry.value) else significant(entry.value, 4)
    if difference is None or math.isnan(difference.value):
        return f"{entry.model} {value}"
    mark = "*" if difference.is_significant else ""
    return f"{entry.model} {value} ({with_sign(difference.value)}{mark})"


def missing_limits(results: Iterable[tuple[str, Interval | Difference | None]]) -> dict[str, list[str]]:
    """Return, for each reason why there are no limits, the names of the results that it concerns."""
    found: dict[str, dict[str, None]] = {}
    for name, result in results:
        if result is not None and result.reason:
            found.setdefault(result.reason, {})[name] = None
    return {reason: [*names] for reason, names in found.items()}


def missing_differences(comparison: Comparison, named: Callable[[str], str] = str) -> dict[str, list[str]]:
    """Return, for each reason, the metrics whose difference has no limits, with the models if not all are concerned.

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


def known_limits(result: Interval | Difference | None) -> tuple[float, float] | None:
    """Return the limits of a value or of a difference; None if it has none."""
    if result is None or result.low is None or result.high is None:
        return None
    return result.low, result.high


def shown_limits(result: Interval | Difference | None) -> tuple[float, ...]:
    """Return the limits that are worth showing: none if both are the same infinity.

    Examples
    --------
    >>> shown_limits(Interval(name="NLL()", value=1.0, low=math.inf, high=math.inf, level=0.95, method="bootstrap"))
    ()
    """
    limits = known_limits(result)
    return () if limits is None or (limits[0] == limits[1] and math.isinf(limits[0])) else limits


CALIBRATED = "95 of 100 data sets of a calibrated model"
"""The data sets that a range by chance describes, in words."""


def chance_in_words(result: Interval | None, written: Callable[[float], str]) -> str:
    """Return the range by chance in words: up to a limit, or between two if both sides speak against calibration.

    Examples
    --------
    >>> error = Interval(name="ECE()", value=0.03, low=None, high=None, level=0.95, method="none", null=(0.0, 0.02))
    >>> chance_in_words(error, str)
    'up to 0.02'
    """
    if result is None or result.null is None:
        return ""
    low, high = result.null
    return f"up to {written(high)}" if low in (0.0, -math.inf) else f"{written(low)} to {written(high)}"


def rule_in_words(comparison: Comparison) -> str:
    """Say how far the rule for judging differences can be trusted; an empty text for the valid rule."""
    return PERCENTILES if comparison.rule == "percentile" else ""


def limits_in_words(comparison: Comparison, drawn: str = "rows", named: Callable[[str], str] = str) -> str:
    """Say how the limits of differences were computed: by formulas, or by bootstrap samples of `drawn`.

    `named` writes the name of a metric.

    Examples
    --------
    >>> from calibrant import Predictions, compare
    >>> vague = Predictions([0.6, 0.6, 0.4, 0.4] * 10, labels=[1, 1, 0, 0] * 10)
    >>> sharp = Predictions([0.9, 0.8, 0.2, 0.1] * 10, labels=[1, 1, 0, 0] * 10)
    >>> limits_in_words(compare({"vague": vague, "sharp": sharp}, ["brier"]))
    'intervals by formulas for paired rows'
    """
    found = ((entry.metric, entry.difference) for entry in comparison.entries)
    methods = {metric: one.method for metric, one in found if one is not None and known_limits(one)}
    resampled = [named(metric) for metric, method in methods.items() if method == "percentile"]
    samples = f"{count(comparison.n_resamples)} bootstrap samples of {drawn}"
    if not resampled:
        return f"intervals by formulas for paired {drawn}"
    if len(resampled) == len(methods):
        return f"intervals by {samples}"
    return f"intervals by formulas for paired {drawn}, of {', '.join(resampled)} by {samples}"


def bandwidth_in_words(comparison: Comparison, named: Callable[[str], str] = str) -> str:
    """Say which metrics use the bandwidth of the baseline for all models.

    Examples
    --------
    >>> from calibrant import Predictions, compare
    >>> p = Predictions([0.6, 0.7, 0.4, 0.3] * 10, labels=[1, 1, 0, 0] * 10)
    >>> bandwidth_in_words(compare({"one": p, "other": p}, ["brier", "kde-ece"]))
    'kde-ece: with one bandwidth for all models, that of one'
    """
    shared = ", ".join(map(named, comparison.one_bandwidth))
    return f"{shared}: with one bandwidth for all models, that of {comparison.baseline}" if shared else ""


def favours(entry: Compared) -> int:
    """Return 1 if the limits of the difference show the model to be better than the baseline, -1 if worse, else 0."""
    difference = entry.difference
    if difference is None or not difference.is_significant or difference.high is None or entry.better == "none":
        return 0
    return 1 if (difference.high < 0) == (entry.better == "lower") else -1
