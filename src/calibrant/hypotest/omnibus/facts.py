"""Mean and slope of the predictions of an event against the outcomes, in standard errors under calibration."""

import math
from typing import NamedTuple

import numpy as np

from calibrant._border.types import FloatArray
from calibrant._core.laws import expit
from calibrant._core.quantiles import median
from calibrant.hypotest.omnibus.statistic import SLOPE
from calibrant.metrics import CoxSlope, InTheLarge
from calibrant.predictions import Predictions
from calibrant.smoothing.logistic_line import has_no_best_line, kept_log_odds, score_terms

SIGNIFICANT_Z = 1.96
"""A deviation of more standard errors than this has a direction."""


class Facts(NamedTuple):
    """Comparison of the predictions of an event with the outcomes.

    Attributes
    ----------
    predicted, observed : float
        Mean prediction and frequency.
    z : float
        Their difference in standard errors under calibration.
    extreme : float
        Score of the slope of the log-odds, adjusted for the intercept, in standard errors; positive if too extreme.
    is_mixed : bool
        Whether, once the mean is corrected, rows near the middle or rows far from it err in the direction opposite to
        the slope.
    too_extreme, too_wide : float
        Scores of the slope and of the spread (Spiegelhalter's) once the mean is corrected; positive if too extreme.
    """

    predicted: float
    observed: float
    z: float
    extreme: float
    is_mixed: bool
    too_extreme: float
    too_wide: float


def facts_of(view: Predictions) -> Facts:
    """Return the facts about binary predictions, kept with them."""
    return view.once("mean and slope", lambda: _facts(view))


def _facts(view: Predictions) -> Facts:
    r"""Compute the facts.

    With residuals :math:`r_i = y_i - p_i`, variances :math:`v_i = p_i (1 - p_i)`, shares :math:`w_i` of the weight and
    log-odds :math:`l_i` around their mean by :math:`w_i^2 v_i`, the score of a common factor of the log-odds is
    :math:`\sum_i w_i r_i l_i`, with variance :math:`\sum_i w_i^2 v_i l_i^2`; it is uncorrelated with the bias
    :math:`\sum_i w_i r_i`. If a factor below 1 fits better, the predictions are too extreme.
    """
    shares = view.weights / view.weights.sum()
    residuals = view.labels - view.positive
    variances = view.squares(shares) * view.positive * (1 - view.positive)
    log_odds = kept_log_odds(view)
    scores = shares * residuals
    predicted, observed = float(shares @ view.positive), float(shares @ view.labels)
    z = _in_errors(predicted - observed, float(variances.sum()))
    extreme, corrected = _score(log_odds, scores, variances), Scored(scores, variances, view.positive)
    if abs(z) > SIGNIFICANT_Z and np.isfinite(z) and 0 < observed < 1:
        corrected = _corrected(view)
    too_extreme = _score(log_odds, corrected.scores, corrected.variances)
    return Facts(
        predicted=predicted,
        observed=observed,
        z=z,
        extreme=extreme,
        is_mixed=_is_mixed(corrected, _centred(log_odds, corrected.variances), too_extreme, view.copies),
        too_extreme=too_extreme,
        too_wide=_score(2 * corrected.probs - 1, corrected.scores, corrected.variances),
    )


class Scored(NamedTuple):
    """Residuals times shares of weight, their variances, and the predictions."""

    scores: FloatArray
    variances: FloatArray
    probs: FloatArray


def _corrected(view: Predictions) -> Scored:
    """Return residuals, variances and predictions after the log-odds are shifted so that their mean is right.

    If most predictions are on one side of 1/2, a wrong mean looks like a wrong slope. After the fitted shift,
    `too_extreme` is positive if and only if the fitted slope is below 1, as the likelihood is concave.
    """
    shift = InTheLarge().fitted(view)
    scores, information = score_terms(view, shift, 1.0)
    shares = view.weights / view.weights.sum()
    scale = np.divide(view.squares(shares), shares, out=np.zeros_like(shares), where=shares > 0)
    return Scored(scores, scale * information, expit(shift + kept_log_odds(view)))


def _centred(values: FloatArray, variances: FloatArray) -> FloatArray:
    total = float(variances.sum())
    return values - (float(variances @ values) / total if total > 0 else 0.0)


def _score(values: FloatArray, scores: FloatArray, variances: FloatArray) -> float:
    """Return minus the score of a coefficient of these values, adjusted for an intercept, in standard errors."""
    centred = _centred(values, variances)
    return -_in_errors(float(scores @ centred), float(variances @ centred**2))


def _in_errors(difference: float, variance: float) -> float:
    if variance > 0:
        return float(difference / np.sqrt(variance))
    return float(np.copysign(np.inf, difference)) if difference else 0.0


def _is_mixed(scored: Scored, centred: FloatArray, extreme: float, copies: FloatArray | None) -> bool:
    """Return whether the inner or the outer half of the rows errs in the direction opposite to the slope."""
    distance, side = np.abs(centred), np.sign(centred)
    outer = distance > _middle(distance, copies)
    for half in (outer, ~outer):
        z = -_in_errors(float((scored.scores * side)[half].sum()), float(scored.variances[half].sum()))
        if z * np.sign(extreme) < -SIGNIFICANT_Z:
            return True
    return False


def _middle(values: FloatArray, copies: FloatArray | None) -> float:
    """Return the median over rows, of which each value may stand for several."""
    if copies is None:
        return median(values)
    order = np.argsort(values)
    reached = np.cumsum(copies[order])
    return float(values[order[np.searchsorted(reached, reached[-1] / 2)]])


def kind_of(facts: Facts, *, binary: bool) -> str:
    """Name the strongest deviation; the bias, if both are equal, as they are if all events are rare.

    If only one class occurs, nothing is known about the slope. If all predictions are 0 or 1, so that both are
    infinite, any wrong one is too extreme, while errors in both directions may almost cancel in the mean.
    """
    if binary:
        slope = _slope_score(facts)
        is_bias = abs(facts.z) >= abs(slope) or math.isclose(abs(facts.z), abs(slope))
        are_certain = math.isinf(facts.z) and math.isinf(slope)
        if abs(facts.z) > SIGNIFICANT_Z and ((is_bias and not are_certain) or not 0 < facts.observed < 1):
            return "biased"
        deviation = 0.0 if facts.is_mixed else slope
    else:
        deviation = facts.z
    if abs(deviation) < SIGNIFICANT_Z:
        return "miscalibrated"
    return "over-confident" if deviation > 0 else "under-confident"


def _slope_score(facts: Facts) -> float:
    """Return the score of the slope, or its score once the mean is corrected if that does not confirm it."""
    is_confirmed = facts.extreme * facts.too_extreme > 0 and abs(facts.too_extreme) > SIGNIFICANT_Z
    return facts.extreme if is_confirmed else facts.too_extreme


def corrected_direction(facts: Facts, deviation: float, plain: str | None) -> str | None:
    """Return the direction of a slope or a spread: the plain one if the mean is right, else that of the deviation.

    The deviation is `Facts.too_extreme` or `Facts.too_wide`; there is no direction if it is not significant.
    """
    if abs(facts.z) <= SIGNIFICANT_Z:
        return plain
    if abs(deviation) <= SIGNIFICANT_Z:
        return None
    return SLOPE[-1 if deviation > 0 else 1]


def slope_of(view: Predictions) -> float | None:
    """Return the slope of recalibrated log-odds, or None if there is no finite one."""
    return None if has_no_best_line(view) else CoxSlope().fitted(view)
