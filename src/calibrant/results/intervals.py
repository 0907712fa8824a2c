"""Prediction intervals with a guarantee."""

from dataclasses import dataclass

from calibrant._border.types import FloatArray, IntArray
from calibrant.results.reading import Readable


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
