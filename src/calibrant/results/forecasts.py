"""Results about predictive distributions."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from calibrant._border.types import FloatArray, IntArray
from calibrant.results.assessment import TestResult, Verdict
from calibrant.results.comparison import Interval
from calibrant.results.estimate import Estimate
from calibrant.results.readable import Readable


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class PITHistogram(Readable):
    """Histogram of the probability integral transforms over [0, 1].

    Attributes
    ----------
    lower, upper : ndarray of shape (m,)
        Ends of the bins.
    count : ndarray of shape (m,)
        Weight of the transforms in each bin. If a law has atoms, its transform is spread over the bins that it may
        fall into, so counts need not be whole numbers.
    expected : float
        Weight of each bin if the forecasts were calibrated.
    low, high : ndarray of shape (m,)
        Limits of the count of each bin, taken alone, if the forecasts were calibrated.
    n_samples : int
        Rows that have weight.
    level : float
        Probability that a count is within its limits if the forecasts are calibrated, at least.
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
        Probability that a share is within its limits if the forecasts are calibrated, at least.
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
        The binning rule.
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


MEASURED = "measured"
"""Key in the details of a test: the name of the error whose size it measures."""

TIES = "ties"
"""Key in the details of a test by ranks: how targets that equal members were treated."""


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
        By their name in `FORECAST_METRICS`; only metrics that this kind of law supports. "mace" is the error of the
        verdict.
    test : TestResult
        The exact test behind the verdict. If there are several coordinates, its details name the one it is about.
    pit : PITHistogram or None
    quantiles, intervals : QuantileCurve or None
    spread : SpreadCurve or None
        These four are None for vectors; `spread` is also None if a standard deviation is infinite.
    settings : mapping
        Seed, resamples, version.
    limits : mapping of str to Interval
        Confidence limits of metrics, or why there are none, and the range by chance of measures of calibration.
    groups : mapping of str to ForecastAssessment
        An assessment of each group of rows, if requested: verdict, test and a few metrics.
    adjusted : mapping of str to float
        The p-value of every group, adjusted for their number by Holm's method.
    """

    name: str
    n_samples: int
    law: str
    n_dimensions: int
    verdict: Verdict
    metrics: Mapping[str, Estimate]
    test: TestResult
    pit: PITHistogram | None = None
    quantiles: QuantileCurve | None = None
    intervals: QuantileCurve | None = None
    spread: SpreadCurve | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    limits: Mapping[str, Interval] = field(default_factory=dict)
    groups: Mapping[str, "ForecastAssessment"] = field(default_factory=dict)
    adjusted: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class PredictionIntervals(Readable):
    """One interval per row, and the promise that they make.

    Attributes
    ----------
    low, high : ndarray of shape (n,)
        Ends; infinite where there were too few rows for the level.
    level : float
        Probability that a new target is in its interval, at least.
    confidence : float or None
        The probability, over random rows of the fit, that the coverage reaches the level. None if the level is only
        reached on average over them.
    guarantee : str
        What holds for new rows that are exchangeable with those of the fit: "marginal coverage", "per group" or "none".
    group : ndarray of shape (n,)
        Index into `ranks` and `n_fitted` for each row; -1 if its group was not in the fit.
    ranks, n_fitted : ndarray of shape (G,)
        For each group, the rank k of the deciding score and the number n of rows of the fit. Given the fit, the
        coverage of new rows has the law Beta(k, n + 1 - k) if scores have no ties; k = n + 1 means infinite intervals,
        and k = 0 that no such law is known.
    n_effective : float
        Kish's effective number of rows of the fit.
    n_empty : int
        Rows whose ends had crossed; their interval is the midpoint only.
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


@dataclass(frozen=True, kw_only=True, repr=False)
class CoveredPart(Readable):
    """How many targets of a group, or of all rows, their intervals hold.

    Attributes
    ----------
    name : str
        Name of the group; empty for all rows.
    n_fitted, n_samples : int
        Number of rows of the fit, and of rows that are judged.
    before : float
        Share of the targets in the forecasts' own central intervals of this level.
    covered : float
        Share of the targets in the fitted intervals.
    low, high : float or None
        Range of `covered` in 95 % of all cases if the promise holds; None where its law is not known.
    width_before, width : float
        Median widths; infinite if there were too few rows for the level.
    pvalue : float or None
        Probability that at most this share is covered if the promise holds; None where the law is not known.
    """

    name: str
    n_fitted: int
    n_samples: int
    before: float
    covered: float
    low: float | None
    high: float | None
    width_before: float
    width: float
    pvalue: float | None


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class DrawnIntervals(Readable):
    """A few rows to draw, from the lowest to the highest forecast.

    Attributes
    ----------
    target : ndarray of shape (m,)
    low_before, high_before : ndarray of shape (m,)
        Ends of the forecasts' own intervals.
    low, high : ndarray of shape (m,)
        Ends of the fitted intervals.
    """

    target: FloatArray
    low_before: FloatArray
    high_before: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class IntervalCheck(Readable):
    """Whether prediction intervals keep their promise on rows that they were not fitted to.

    Attributes
    ----------
    headline : str
    method : str
    level : float
        The promised coverage.
    confidence : float or None
        Confidence with which this fit reaches the level; None if fits reach it on average.
    guarantee : str
        "marginal coverage", "per group" or "none".
    total : CoveredPart
        All rows that are judged.
    parts : tuple of CoveredPart
        One per group; empty without groups.
    pvalue : float or None
        The p-value of coverage below the promise, adjusted for the number of groups.
    reason : str
        Why there is no p-value, if there is none.
    rows : DrawnIntervals
    """

    headline: str
    method: str
    level: float
    confidence: float | None
    guarantee: str
    total: CoveredPart
    parts: tuple[CoveredPart, ...]
    pvalue: float | None
    reason: str
    rows: DrawnIntervals
