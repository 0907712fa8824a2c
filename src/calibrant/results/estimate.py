"""Results of measuring: values with details and cautions, parts of scores, and certified values."""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from calibrant._border.types import FloatArray, IntArray
from calibrant.results.readable import Readable
from calibrant.results.words.printed import printed_measures

OF_CLASSES = ("-one-vs-rest", "-per-predicted-class")
"""Suffixes of averages over classes. For two classes they are not shown first: class 1 determines class 0."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Description(Readable):
    """How a metric or a test is presented to a reader.

    Attributes
    ----------
    label : str
        A short name.
    meaning : str
        One sentence: what a metric measures, or what a test detects.
    caution : str
        What the validity of a test rests on; for a metric, when it misleads, as the end of a sentence that begins with
        its name.
    better : {"lower", "higher", "none"}
        Which values of a metric are better; "none" if it describes rather than judges.
    group : str
        The heading under which it is shown.
    principal : bool
        Whether it is shown by default: a metric in tables, a test beside the verdict on the page.
    """

    label: str
    meaning: str = ""
    caution: str = ""
    better: str = "none"
    group: str = ""
    principal: bool = False


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Estimate(Readable):
    """Value of a metric.

    Attributes
    ----------
    name : str
        The metric with its settings.
    value : float
    details : mapping
        Further facts, such as the number of bins that hold data.
    about : Description or None
        How the metric is presented; None if the value is not that of a metric.
    """

    name: str
    value: float
    details: Mapping[str, Any] = field(default_factory=dict)
    about: Description | None = None


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class CheckedValue(Readable):
    """A value that this machine computed, beside the certified value.

    Attributes
    ----------
    name : str
    certified : str
        The certified value in 30 digits.
    found : float
    digits : float
        Number of significant digits that agree, at most 17.
    required : int
        Number of digits that must agree.
    """

    name: str
    certified: str
    found: float
    digits: float
    required: int

    @property
    def passed(self) -> bool:
        """Whether enough digits agree."""
        return self.digits >= self.required


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ScoreDecomposition(Readable):
    """A mean score and its parts: value = miscalibration - discrimination + uncertainty + within.

    Attributes
    ----------
    score : {"squared-error", "log"}
    method : str
        "corp", or the bins with their settings.
    view : {"binary", "top-label"}
        What was scored: the probability of class 1, or the confidence in the predicted class.
    value : float
        The mean score.
    miscalibration : float
        The part that recalibration would save; with bins also called reliability, or calibration loss.
    discrimination : float
        The part that knowing the prediction saves; with bins also called resolution.
    uncertainty : float
        The score of predicting the frequency of the event for all rows. Uncertainty minus discrimination is the
        refinement loss.
    within : float
        The part that the spread of the predictions within bins adds, or saves if negative; 0 for "corp".
    within_variance, within_covariance : float or None
        The two terms of `within` for the squared error: the mean of (p - mean p)^2, and twice the covariance of
        predictions and labels, within bins.
    """

    score: str
    method: str
    view: str
    value: float
    miscalibration: float
    discrimination: float
    uncertainty: float
    within: float
    within_variance: float | None = None
    within_covariance: float | None = None


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SquaredErrorParts(Readable):
    """A squared error and the parts that sum to it.

    Attributes
    ----------
    squared_error : float
    calibration : float
        The error that predicting the empirical probability of each segment would save.
    refinement : float
        The error that remains with the empirical probabilities, because segments mix classes.
    within : float
        The error that the spread of the predictions within segments adds, or saves if negative; 0 without spread.
    """

    squared_error: float
    calibration: float
    refinement: float
    within: float


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SegmentDecomposition(Readable):
    """The parts of the squared error of every segment and of all rows.

    Attributes
    ----------
    segments : tuple of length m
        The names of the segments, sorted. Those without weight are left out.
    size : ndarray of shape (m,)
        Number of rows of positive weight.
    weight : ndarray of shape (m,)
        Sum of their weights, ``|S|``.
    empirical, predicted : ndarray of shape (m, K)
        Frequencies of the classes, and mean prediction.
    squared_error : ndarray of shape (m,)
        SE(S), the weighted sum over the rows.
    calibration, refinement, within : ndarray of shape (m,)
        Parts of SE(S), as in `SquaredErrorParts`.
    total : SquaredErrorParts
        Sums over the segments.
    mean : SquaredErrorParts
        The same divided by the weight of all rows.
    """

    segments: tuple[Hashable, ...]
    size: IntArray
    weight: FloatArray
    empirical: FloatArray
    predicted: FloatArray
    squared_error: FloatArray
    calibration: FloatArray
    refinement: FloatArray
    within: FloatArray
    total: SquaredErrorParts
    mean: SquaredErrorParts


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Measures(Readable, Mapping[str, float]):
    """Values of several metrics by their names: ``measures["ece"]``.

    Attributes
    ----------
    n_samples : int
    estimates : mapping of str to Estimate
        The same values with their details, and with the description of each metric.
    """

    n_samples: int
    estimates: Mapping[str, Estimate]

    def __getitem__(self, name: str) -> float:
        return self.estimates[name].value

    def __iter__(self) -> Iterator[str]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    def __repr__(self) -> str:
        return printed_measures(self)
