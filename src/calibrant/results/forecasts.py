"""Outcomes of looking at predictive distributions."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from calibrant._border.numerals import percent
from calibrant._border.types import FloatArray, IntArray
from calibrant.results.estimate import Estimate
from calibrant.results.reading import Readable, main_rows

if TYPE_CHECKING:
    from calibrant.results.assessment import TestResult
    from calibrant.results.comparison import Interval
    from calibrant.results.verdict import Verdict


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class PITHistogram(Readable):
    """How the probability integral transforms spread over [0, 1].

    Attributes
    ----------
    lower, upper : ndarray of shape (m,)
        Ends of the bins.
    count : ndarray of shape (m,)
        Weight of the transforms in each bin. A transform of a law with atoms is spread over the bins that it may fall
        into, so that counts need not be whole.
    expected : float
        Weight of each bin if the forecasts were calibrated.
    low, high : ndarray of shape (m,)
        Limits of the count of each bin, taken alone, if the forecasts were calibrated.
    n_samples : int
        Rows that have weight.
    level : float
        Probability that a count of calibrated forecasts is within the limits, at least.
    """

    lower: FloatArray
    upper: FloatArray
    count: FloatArray
    expected: float
    low: FloatArray
    high: FloatArray
    n_samples: int
    level: float


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class QuantileCurve(Readable):
    """Observed against nominal coverage of predicted quantiles or of central intervals.

    Attributes
    ----------
    nominal : ndarray of shape (m,)
        Levels.
    observed : ndarray of shape (m,)
        Share of targets up to the predicted quantile, or within the central interval, of each level.
    low, high : ndarray of shape (m,)
        Limits of the share at each level, taken alone, if the forecasts were calibrated.
    n_samples : int
        Rows that have weight.
    level : float
        Probability that a share of calibrated forecasts is within the limits, at least.
    form : {"quantile", "interval"}
    """

    nominal: FloatArray
    observed: FloatArray
    low: FloatArray
    high: FloatArray
    n_samples: int
    level: float
    form: str


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SpreadCurve(Readable):
    """Size of the errors against the predicted standard deviation.

    Attributes
    ----------
    predicted : ndarray of shape (m,)
        Root mean predicted variance of the rows in each bin.
    observed : ndarray of shape (m,)
        Root mean squared error of their predicted means.
    low, high : ndarray of shape (m,)
        Confidence limits of the root mean squared error.
    lower, upper : ndarray of shape (m,)
        Ends of the interval of standard deviations that each bin holds.
    count : ndarray of shape (m,)
        Number of rows in each bin.
    weight : ndarray of shape (m,)
        Sum of their weights.
    level : float
        Confidence level of the limits, each taken alone.
    kind : str
        How the bins were made.
    """

    predicted: FloatArray
    observed: FloatArray
    low: FloatArray
    high: FloatArray
    lower: FloatArray
    upper: FloatArray
    count: FloatArray
    weight: FloatArray
    level: float
    kind: str


AT_LEAST = "dvoretzky-kiefer-wolfowitz"
"""The method of limits that hold with at least their probability."""

MEASURED = "measured"
"""Among the details of a test: the name of the error whose size it gives."""

TIES = "ties"
"""Among the details of a test by ranks: what became of targets that equal members."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ForecastAssessment(Readable):
    """Everything that a report shows about predictive distributions.

    Attributes
    ----------
    name : str
    n_samples : int
    law : str
        Kind of the predicted laws, such as "Normal".
    n_dimensions : int
        Coordinates of a target; 1 on the line.
    verdict : Verdict
        Its codes are "consistent", "over-confident" (too narrow), "under-confident" (too wide), "biased" and
        "miscalibrated" (in shape only). `error` is that of the test, MACE, beside its values by chance; `gap` is 0.9
        minus the coverage of central 90% intervals, so that it is positive if the laws are too narrow.
    metrics : mapping of str to Estimate
        By their name in `FORECAST_METRICS`; those that the laws have what is needed for. "mace" is the error of the
        verdict.
    test : TestResult
        The exact test behind the verdict. Its details name the coordinate that it is about if there are several.
    pit : PITHistogram or None
    quantiles, intervals : QuantileCurve or None
    spread : SpreadCurve or None
        None for vectors; the last also if a standard deviation is infinite.
    settings : mapping
        Seed, resamples, version.
    limits : mapping of str to Interval
        Confidence limits of metrics, or why there are none, and what chance makes of measures of calibration.
    groups : mapping of str to ForecastAssessment
        The same for parts of the rows, if requested: verdict, test and a few metrics.
    adjusted : mapping of str to float
        The p-value of every group, adjusted for their number by Holm's method.
    """

    name: str
    n_samples: int
    law: str
    n_dimensions: int
    verdict: "Verdict"
    metrics: Mapping[str, Estimate]
    test: "TestResult"
    pit: PITHistogram | None = None
    quantiles: QuantileCurve | None = None
    intervals: QuantileCurve | None = None
    spread: SpreadCurve | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    limits: Mapping[str, "Interval"] = field(default_factory=dict)
    groups: Mapping[str, "ForecastAssessment"] = field(default_factory=dict)
    adjusted: Mapping[str, float] = field(default_factory=dict)

    def _printed(self) -> list[tuple[str, str]]:
        return main_rows(self, self.limits)


def forecast_notes(assessment: ForecastAssessment, shown: Collection[str], named: Callable[[str], str]) -> list[str]:
    """Explain the limits and the intervals behind the metrics shown; `named` writes the name of a metric."""
    notes = wide_limits(((key, assessment.limits.get(key)) for key in shown), named)
    for key in shown:
        if key == "interval-coverage" and assessment.law == "Samples":
            notes.append(
                f"{named(key)} is that of intervals between quantiles of the members; even for calibrated ensembles, "
                "these hold fewer targets than the intervals by rank in the verdict"
            )
    return notes


def wide_limits(limits: Iterable[tuple[str, "Interval | None"]], named: Callable[[str], str]) -> list[str]:
    """Say which limits hold with more than their level, if any; `named` writes the name of a metric."""
    wide = {key: known.level for key, known in limits if known is not None and known.method == AT_LEAST}
    if not wide:
        return []
    names, (level, *_) = "; ".join(map(named, wide)), wide.values()
    return [
        f"the limits of {names} hold with a probability of at least {percent(level)}, so they are wider than others"
    ]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class PredictionIntervals(Readable):
    """One interval per row, and what is promised of them.

    Attributes
    ----------
    low, high : ndarray of shape (n,)
        Ends; infinite where there were too few rows for the level.
    level : float
        Probability with which a new target is in its interval, at least.
    confidence : float or None
        Of "with confidence": the probability, over rows of the fit, that the coverage reaches the level. None if the
        level is only reached on average over them.
    guarantee : str
        What holds of new rows that are exchangeable with those of the fit: "marginal coverage", "per group" or "none".
    group : ndarray of shape (n,)
        Which entry of `ranks` and `n_fitted` a row belongs to; -1 if its group was not in the fit.
    ranks, n_fitted : ndarray of shape (G,)
        The rank k of the score that decides, and the number n of rows of the fit, of each group. Given these rows, the
        coverage of new ones has the law Beta(k, n + 1 - k), if scores have no ties; k = n + 1 means infinite intervals.
        k is 0 where no such law is known.
    n_effective : float
        Kish's effective number of rows of the fit.
    n_empty : int
        Rows whose ends had crossed, and which hold the midpoint only.
    """

    low: FloatArray
    high: FloatArray
    level: float
    confidence: float | None
    guarantee: str
    group: IntArray
    ranks: IntArray
    n_fitted: IntArray
    n_effective: float
    n_empty: int
