"""Where to act on predictions that are not calibrated: the recalibration curve, inverted at the threshold of costs."""

from typing import Any

import numpy as np

from calibrant._border.checks import check_level
from calibrant._core.laws import expit, normal_quantile
from calibrant.intervals import why_not
from calibrant.metrics import CoxIntercept, CoxSlope
from calibrant.metrics.costs import check_threshold
from calibrant.predictions import Predictions, check_predictions
from calibrant.predictions.two_arrays import as_data
from calibrant.resampling.bootstrap import Bootstrap
from calibrant.results import BestThreshold

LEAST_SLOPES = 3.0
"""Standard errors by which the slope must exceed 0: else the inverse of the line may be anywhere."""


def best_threshold(
    data: object,
    y_prob: object = None,
    sample_weight: object = None,
    *,
    threshold: float,
    level: float = 0.95,
) -> BestThreshold:
    r"""Return the prediction from which on acting is best, with its interval.

    Calibrated probabilities are acted on from the threshold of the costs on. Others are best calibrated first; this
    says where the same decisions begin on their own scale.

    Parameters
    ----------
    data : Predictions of two classes, or array-like of shape (n,)
        With `y_prob`, the labels.
    y_prob : array-like of shape (n,) or (n, 2), optional
        Probabilities, if labels are given.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows, if labels are given. They are relative.
    threshold : float
        That of the costs, `Costs.threshold`.
    level : float, default=0.95

    Returns
    -------
    BestThreshold

    Notes
    -----
    Logistic recalibration gives the prediction with log-odds z the log-odds a + b z, so that action begins at
    :math:`z^* = (\operatorname{logit} t - a) / b`. To first order, the error of :math:`z^*` is
    :math:`-(u_a + z^* u_b) / b` with the influences of each row on a and b, whose sum of squares is its variance,
    whether or not a line is the true law (the delta method, with the sandwich). The limits are those of z, turned into
    probabilities. Where a line is not the true law, they are limits of the best line's threshold.

    The threshold that costs least on the rows at hand is not used: it converges with the cube root of the number of
    rows, and its bootstrap interval does not cover.

    Examples
    --------
    >>> y = [1] * 30 + [0] * 70 + [1] * 70 + [0] * 30
    >>> found = best_threshold(y, [0.1] * 100 + [0.9] * 100, threshold=0.3)  # 0.1 means 0.3 here.
    >>> round(found.value, 6), found.low < 0.1 < found.high
    (0.1, True)
    """
    predictions = as_data(data, y_prob, sample_weight)
    check_predictions(predictions, "data")
    check_threshold(threshold)
    check_level(level)
    assert isinstance(predictions, Predictions)  # noqa: S101 (checked above)
    predictions.positive  # noqa: B018 (refuses more than two classes)
    found: dict[str, Any] = {"target": threshold, "level": level}
    missing = why_not(CoxSlope(), predictions, Bootstrap(999))
    if missing:
        return BestThreshold(**found, value=None, low=None, high=None, reason=missing)
    intercept, slope = CoxIntercept()(predictions), CoxSlope()(predictions)
    u_slope = CoxSlope().influence(predictions)
    if slope < LEAST_SLOPES * float(np.sqrt(np.sum(u_slope**2))):
        reason = "the outcomes do not clearly depend on the predictions, so no threshold of them can be told"
        return BestThreshold(**found, value=None, low=None, high=None, intercept=intercept, slope=slope, reason=reason)
    place = float((np.log(threshold) - np.log1p(-threshold) - intercept) / slope)
    influence = (CoxIntercept().influence(predictions) + place * u_slope) / slope
    reach = normal_quantile((1 + level) / 2) * float(np.sqrt(np.sum(influence**2)))
    low, value, high = expit(np.array([place - reach, place, place + reach])).tolist()
    return BestThreshold(**found, value=value, low=low, high=high, intercept=intercept, slope=slope)
