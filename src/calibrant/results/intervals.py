"""Checks of prediction intervals on rows that they were not fitted to."""

from dataclasses import dataclass

from calibrant._border.types import FloatArray
from calibrant.results.readable import Readable


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
