"""Reliability curves."""

from dataclasses import dataclass
from typing import Literal

from calibrant._border.types import FloatArray, IntArray
from calibrant.results.estimate import Estimate
from calibrant.results.readable import Readable


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class OutcomeHistogram(Readable):
    """Distribution of the predictions, by outcome.

    Attributes
    ----------
    edges : ndarray of shape (m + 1,)
    positives, negatives : ndarray of shape (m,)
        Weight of the rows between the edges for which the event happened, and for which it did not.
    """

    edges: FloatArray
    positives: FloatArray
    negatives: FloatArray


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ReliabilityCurve(Readable):
    """Observed frequency against predicted probability.

    Attributes
    ----------
    predicted, observed : ndarray of shape (m,)
        Mean prediction and frequency of the event at each point of the curve.
    low, high : ndarray of shape (m,) or None
        Limits at each point, of the kind that `band` says. None if the curve has none.
    lower, upper : ndarray of shape (m,)
        Ends of the interval of predictions that each point summarises.
    count : ndarray of shape (m,)
        Number of rows behind each point.
    weight : ndarray of shape (m,)
        Sum of their weights.
    level : float
        Confidence level of the limits.
    kind : str
        The method by which the curve was computed.
    band : {"confidence", "consistency"}
        What the limits bound: the frequency, or the curve that perfectly calibrated predictions would have.
    simultaneous : bool
        Whether the level holds for all points at once instead of for each alone.
    view : {"class", "top-label"}
        What is predicted: class 1, or that the most probable class is right.
    error : Estimate or None
        The calibration error that belongs to the curve.
    histogram : OutcomeHistogram or None
        The distribution of the predictions.
    """

    predicted: FloatArray
    observed: FloatArray
    low: FloatArray | None = None
    high: FloatArray | None = None
    lower: FloatArray
    upper: FloatArray
    count: FloatArray | IntArray
    weight: FloatArray
    level: float
    kind: str
    band: Literal["confidence", "consistency"] = "confidence"
    simultaneous: bool = False
    view: Literal["class", "top-label"] = "class"
    error: Estimate | None = None
    histogram: OutcomeHistogram | None = None


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ClasswiseCurves(Readable):
    """The reliability curve of every class against the rest, or of the rows predicted as each, and their average.

    Attributes
    ----------
    names : tuple of length K
        The classes; if the curves are of the rows predicted as each class, those that are predicted at all.
    curves : tuple of ReliabilityCurve, of length K
    average : ReliabilityCurve
        At each prediction, the mean of the curves that reach it; classes have equal weights, or those of their rows.
    """

    names: tuple[str, ...]
    curves: tuple[ReliabilityCurve, ...]
    average: ReliabilityCurve


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class NetError(Readable):
    """The interval of predictions with the largest net error.

    Attributes
    ----------
    start, stop : float
        Where the interval begins and ends on the path, as shares of the rows.
    lower, upper : float
        Smallest and largest prediction in it.
    count : int
        Number of rows in it.
    predicted, observed : float
        Weighted mean prediction and frequency of the event in it.
    net : float
        The change of the running sum over the interval: its share of the weight times (observed - predicted).
    """

    start: float
    stop: float
    lower: float
    upper: float
    count: int
    predicted: float
    observed: float
    net: float


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class CumulativeCurve(Readable):
    """Running sum of outcomes minus predictions, in ascending order of the predictions.

    Attributes
    ----------
    share : ndarray of shape (m,)
        Share of the weight of all rows up to each point, from 0 to 1.
    predicted : ndarray of shape (m,)
        The largest prediction up to each point; at the first point, the smallest of all.
    cumulative : ndarray of shape (m,)
        The running sum, divided by the weight of all rows. It rises where predictions are too low, and its slope is
        frequency minus prediction.
    sigma : float
        Standard deviation of the last value if the predictions were calibrated.
    ecce, ecce_range : Estimate
        Largest absolute value of the path, and its largest value minus its smallest.
    worst : NetError or None
        The interval behind `ecce_range`; None if the path never leaves 0.
    n_samples : int
        Rows that have weight.
    n_distinct : int
        Distinct predictions among them: the length of the whole path, of which the points are a selection.
    view : {"class", "top-label"}
        What is predicted: class 1, or that the most probable class is right.
    """

    share: FloatArray
    predicted: FloatArray
    cumulative: FloatArray
    sigma: float
    ecce: Estimate
    ecce_range: Estimate
    worst: NetError | None
    n_samples: int
    n_distinct: int
    view: Literal["class", "top-label"] = "class"
