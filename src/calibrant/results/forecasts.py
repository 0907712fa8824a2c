"""Outcomes of looking at predictive distributions."""

from dataclasses import dataclass

from calibrant._typing import FloatArray


@dataclass(frozen=True, eq=False, kw_only=True)
class PITHistogram:
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


@dataclass(frozen=True, eq=False, kw_only=True)
class QuantileCurve:
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


@dataclass(frozen=True, eq=False, kw_only=True)
class SpreadCurve:
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
