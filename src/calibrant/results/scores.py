"""Parts of a mean score: frozen and inert."""

from dataclasses import dataclass

from calibrant.results.reading import Readable


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
        What recalibrating would save; with bins also called reliability, or calibration loss.
    discrimination : float
        What knowing the prediction saves; with bins also called resolution.
    uncertainty : float
        The score of predicting the frequency of the event for all rows. Uncertainty less discrimination is the
        refinement loss.
    within : float
        What the spread of the predictions within bins adds, or saves if negative; 0 for "corp".
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
