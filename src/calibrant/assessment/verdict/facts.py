"""Mean and slope: what a sentence about predictions of an event can say, with standard errors under calibration."""

from typing import NamedTuple

import numpy as np

from calibrant._border.types import FloatArray
from calibrant._core.quantiles import median
from calibrant.metrics import CoxSlope
from calibrant.predictions import Predictions

SIGNIFICANT_Z = 1.96
"""A deviation of this many standard errors has a direction."""

LARGEST_LOG_ODDS = 27.6
"""Predictions nearer to 0 or 1 than 1e-12 are moved there, as for the calibration slope."""

CONSTANT = 1e-9
"""Log-odds that differ by less have no slope."""


class Facts(NamedTuple):
    """How predictions of an event compare with what was observed.

    Attributes
    ----------
    predicted, observed : float
        Mean prediction and frequency.
    z : float
        Their difference in standard errors under calibration.
    extreme : float
        Score of the slope of the log-odds beside an intercept, in standard errors; positive if too extreme.
    is_mixed : bool
        Whether rows near the middle and rows far from it err to opposite sides.
    """

    predicted: float
    observed: float
    z: float
    extreme: float
    is_mixed: bool


def facts_of(view: Predictions) -> Facts:
    r"""Return the facts about binary predictions.

    With residuals :math:`r_i = y_i - p_i`, variances :math:`v_i = p_i (1 - p_i)`, shares :math:`w_i` of the weight and
    log-odds :math:`l_i` around their mean by :math:`w_i^2 v_i`, the score of a common factor of the log-odds is
    :math:`\sum_i w_i r_i l_i`, with variance :math:`\sum_i w_i^2 v_i l_i^2`; it is uncorrelated with the bias
    :math:`\sum_i w_i r_i`. That a factor below 1 fits better means that the predictions are too extreme.
    """
    shares = view.weights / view.weights.sum()
    residuals = view.labels - view.positive
    noise = view.squares(shares) * view.positive * (1 - view.positive)
    log_odds = (view.log_probs[:, 1] - view.log_probs[:, 0]).clip(-LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
    total = float(noise.sum())
    centred = log_odds - (float(noise @ log_odds) / total if total > 0 else 0.0)
    pull = shares * residuals
    predicted, observed = float(shares @ view.positive), float(shares @ view.labels)
    extreme = -_in_errors(float(pull @ centred), float(noise @ centred**2))
    return Facts(
        predicted=predicted,
        observed=observed,
        z=_in_errors(predicted - observed, total),
        extreme=extreme,
        is_mixed=_is_mixed(pull, noise, centred, extreme, view.copies),
    )


def _in_errors(difference: float, variance: float) -> float:
    if variance > 0:
        return float(difference / np.sqrt(variance))
    return float(np.copysign(np.inf, difference)) if difference else 0.0


def _is_mixed(
    pull: FloatArray, noise: FloatArray, centred: FloatArray, extreme: float, copies: FloatArray | None
) -> bool:
    """Return whether the inner or the outer half of the rows errs in the direction opposite to the slope."""
    distance, side = np.abs(centred), np.sign(centred)
    outer = distance > _middle(distance, copies)
    for half in (outer, ~outer):
        z = -_in_errors(float((pull * side)[half].sum()), float(noise[half].sum()))
        if z * np.sign(extreme) < -SIGNIFICANT_Z:
            return True
    return False


def _middle(values: FloatArray, copies: FloatArray | None) -> float:
    """Return the median over rows."""
    if copies is None:
        return median(values)
    order = np.argsort(values)
    reached = np.cumsum(copies[order])
    return float(values[order[np.searchsorted(reached, reached[-1] / 2)]])


def slope_of(view: Predictions) -> float | None:
    """Return the slope of recalibrated log-odds, or None if there is no finite one."""
    present = view.weights > 0
    log_odds = (view.log_probs[:, 1] - view.log_probs[:, 0]).clip(-LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)[present]
    ones, zeros = log_odds[view.labels[present] == 1], log_odds[view.labels[present] == 0]
    if len(ones) == 0 or len(zeros) == 0 or np.ptp(log_odds) < CONSTANT:
        return None
    is_separated = max(ones.min(), zeros.min()) >= min(ones.max(), zeros.max())
    return None if is_separated else CoxSlope()(view)
