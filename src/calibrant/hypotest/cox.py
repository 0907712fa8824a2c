"""Cox's test: slope and intercept of logistic recalibration."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from calibrant._border.types import BoolArray, Evaluator, FloatArray, IntArray
from calibrant._core.laws import expit, logistic_variance, softplus
from calibrant.exceptions import InputError
from calibrant.hypotest.calibration_test import DRAWN_IF_FEW, BinaryTest, Finding, refuse_certainty, root_sum_of_squares
from calibrant.hypotest.events import effective_events
from calibrant.metrics.logistic import InTheLarge
from calibrant.predictions import Predictions
from calibrant.resampling.redraws import CACHED_CELLS, in_blocks
from calibrant.smoothing.logistic_line import (
    CONSTANT,
    EPSILON,
    LEAST_CURVATURE,
    count_clipped,
    fitted_line,
    fitted_lines,
    kept_log_odds,
    line_of,
    separated,
)

WITHOUT_FIT = "Use SpiegelhalterTest or ECCETest (--test spiegelhalter ecce), which need no fit"
UNBOUNDED = (
    "the likelihood of slope and intercept must have a maximum, but none was found: the two outcomes are almost "
    f"separated by a threshold. {WITHOUT_FIT}, or test more rows."
)

LEAST_EVENTS = 100.0
"""With fewer effective events chi-squared is rough: at level 0.10 it rejects up to 0.125 of calibrated data sets."""

TOLERANCE = 1e-10
"""The fit has reached a maximum if another step of Newton's method promises a gain of less than this."""


@dataclass(frozen=True)
class CoxTest(BinaryTest):
    r"""Test whether slope and intercept of the log-odds, refitted to the outcomes, differ from 1 and 0.

    Notes
    -----
    With the log-odds :math:`z_i = \log(p_i / (1 - p_i))` of the predictions, the model that the outcomes have log-odds
    :math:`a + b z_i` is fitted by maximum likelihood; calibration is :math:`(a, b) = (0, 1)`. The statistic is twice
    the logarithm of the ratio of the two likelihoods, compared with chi-squared of two degrees of freedom; the estimate
    is the slope :math:`b`.

    A slope below 1 means predictions that are too extreme (``direction`` "over-confident"), above 1 too timid
    ("under-confident"), whether significant or not. The details also hold the ``intercept``, the standard errors
    ``slope_se`` and ``intercept_se``, and ``calibration_in_the_large`` with its standard error: the intercept when the
    slope is kept at 1, positive if the event is predicted too rarely.

    Predictions below :math:`\varepsilon = 10^{-12}` or above :math:`1 - \varepsilon` are moved there, where log-odds
    are finite; ``clipped`` counts them. If one of them is wrong, the statistic depends on :math:`\varepsilon`.

    Each row counts as one independent draw, regardless of its weight. The likelihood is weighted with
    :math:`v_i = w_i \sum_j w_j / \sum_j w_j^2`. Unless all weights are equal, the statistic is then in large samples
    distributed as :math:`\lambda_1 Z_1^2 + \lambda_2 Z_2^2` with independent standard normal :math:`Z`, where
    :math:`\lambda` are the eigenvalues of :math:`H^{-1} J`, :math:`H = \sum_i v_i p_i (1 - p_i) x_i x_i^\top`,
    :math:`J = \sum_i v_i^2 p_i (1 - p_i) x_i x_i^\top` and :math:`x_i = (1, z_i)`. This law is used, and the standard
    errors are the roots of the diagonal of :math:`H^{-1} J H^{-1}` at the fitted probabilities.

    With fewer than 100 effective events (`calibrant.hypotest.events`) these laws are rough. The labels are then
    redrawn, and the p-value is exact among labels that no threshold separates: observed labels that one separates are
    refused, and such redraws are left out.

    References
    ----------
    D. R. Cox, "Two further applications of a model for binary regression", Biometrika 45 (1958); M. E. Miller,
    S. L. Hui, W. M. Tierney, "Validation techniques for logistic regression models", Statistics in Medicine 10 (1991).

    Examples
    --------
    >>> p = Predictions([0.1] * 10 + [0.9] * 10, labels=[1] * 3 + [0] * 7 + [1] * 7 + [0] * 3)
    >>> result = CoxTest()(p)  # slope logit(0.7) / logit(0.9)
    >>> round(result.estimate, 4), result.details["direction"], round(result.details["closed_form"], 3)
    (0.3856, 'over-confident', 0.046)
    """

    label = "Cox"
    meaning = "A wrong slope or intercept of the log-odds only."
    caution = f"{DRAWN_IF_FEW} Refused where no finite line fits best."
    principal = True

    def redrawn(self, view: Predictions, weights: FloatArray) -> Evaluator | None:
        """Return a function that computes the statistics of redrawn labels, if there are few effective events."""
        if effective_events(view, weights) >= LEAST_EVENTS:
            return None
        log_odds = kept_log_odds(view)
        return in_blocks(lambda events: _ratios(log_odds, events == 1, weights), max(1, CACHED_CELLS // len(weights)))

    def examine(self, view: Predictions, weights: FloatArray) -> Finding:
        """Fit slope and intercept and compare the likelihood with that of the predictions."""
        refuse_certainty(view)
        log_odds = kept_log_odds(view)
        _check_estimable(log_odds, view.labels)
        weights = _as_rows(weights)
        fit = _line_with_errors(view, weights)
        level = InTheLarge().fitted(view)
        variance = weights * logistic_variance(level + log_odds)
        hits = view.labels == 1
        gain = _log_likelihood(fit.intercept + fit.slope * log_odds, hits, weights)
        gain -= _log_likelihood(log_odds, hits, weights)
        statistic = max(0.0, 2 * float(gain))
        return Finding(
            statistic=statistic,
            pvalue=_tail(statistic, _null_scales(log_odds, weights)),
            estimate=fit.slope,
            details={
                "slope": fit.slope,
                "intercept": fit.intercept,
                "slope_se": fit.slope_error,
                "intercept_se": fit.intercept_error,
                "calibration_in_the_large": level,
                "calibration_in_the_large_se": float(np.sqrt(weights @ variance) / variance.sum()),
                "direction": "over-confident" if fit.slope < 1 else "under-confident" if fit.slope > 1 else "none",
                "clipped": count_clipped(view),
                "epsilon": EPSILON,
            },
        )


class Line(NamedTuple):
    """A fitted line of log-odds, with standard errors."""

    intercept: float
    slope: float
    intercept_error: float
    slope_error: float


class Curvature(NamedTuple):
    """Second derivatives of the log-likelihood in level and slope of the line level + slope * (x - centre).

    The centre is the mean of x with the weighted variances of the outcomes as weights, which makes the mixed derivative
    0.
    """

    variance: FloatArray
    centre: float
    centred: FloatArray
    level: float
    slope: float


def _check_estimable(log_odds: FloatArray, labels: IntArray) -> None:
    """Refuse data for which the most likely slope or intercept is not finite."""
    if labels.min() == labels.max():
        raise InputError(
            f"both outcomes must occur, but all {len(labels)} rows have outcome {int(labels[0])}: the most likely "
            f"intercept is infinite. {WITHOUT_FIT}."
        )
    if np.ptp(log_odds) < CONSTANT:
        raise InputError(
            "predictions must differ for a slope to be defined, but all are equal. Use ECCETest (--test ecce), which "
            "needs no slope."
        )
    if separated(log_odds[:, None], labels[:, None] == 1).any():
        raise InputError(
            "predictions of the two outcomes must overlap, but a threshold separates them: the most likely slope is "
            f"infinite. {WITHOUT_FIT}, or test more rows."
        )


def _as_rows(weights: FloatArray) -> FloatArray:
    """Return the weights v, whose sum is the effective number of rows."""
    return np.asarray(weights * (weights.sum() / (weights @ weights)))


def _log_likelihood(fitted: FloatArray, hits: BoolArray, weights: FloatArray) -> FloatArray:
    """Return the log-likelihoods of outcomes, (n,) or (n, B), given log-odds of a shape that broadcasts."""
    return np.asarray(weights @ -softplus(np.where(hits, -fitted, fitted)))


def _ratios(log_odds: FloatArray, hits: BoolArray, weights: FloatArray) -> FloatArray:
    """Return the statistics of many sets of outcomes, (n, B), NaN where a threshold separates them."""
    x, rows, likely = log_odds[:, None], _as_rows(weights), np.full(hits.shape[1], np.nan)
    overlap = ~separated(x, hits)
    if overlap.any():
        likely[overlap] = _likelihoods_of_lines(log_odds, hits[:, overlap], rows)
    without_events = _log_likelihood(log_odds, np.zeros(len(log_odds), dtype=bool), rows)
    return np.maximum(0.0, 2 * (likely - without_events - (rows * log_odds) @ hits))


def _likelihoods_of_lines(log_odds: FloatArray, hits: BoolArray, weights: FloatArray) -> FloatArray:
    """Return the log-likelihoods of the best lines for sets of outcomes, (n, B), that no threshold separates."""
    share = weights / weights.sum()
    intercepts, slopes = fitted_lines(log_odds, hits, share[:, None])
    for b in np.flatnonzero(np.isnan(slopes)):  # The few for which full steps of Newton's method fail.
        intercepts[b], slopes[b] = line_of(log_odds, hits[:, b], share)
    return _log_likelihood(intercepts + slopes * log_odds[:, None], hits, weights)


def _curvature(fitted: FloatArray, x: FloatArray, weights: FloatArray) -> Curvature:
    variance = weights * logistic_variance(fitted)
    level = float(variance.sum())
    centre = float(variance @ x) / level if level > 0 else 0.0
    slope = float(variance @ (x - centre) ** 2)
    if slope == 0:
        raise InputError(UNBOUNDED)
    return Curvature(variance, centre, x - centre, level, slope)


def _line_with_errors(view: Predictions, weights: FloatArray) -> Line:
    """Return the line of maximum likelihood, or refuse if there is none."""
    (intercept, slope), x = fitted_line(view), kept_log_odds(view)
    fitted = intercept + slope * x
    at = _curvature(fitted, x, weights)
    # Labels minus probabilities, accurate even where a probability rounds to 1.
    pull = weights * np.where(view.labels == 1, expit(-fitted), -expit(fitted))
    promise = pull.sum() ** 2 / at.level + (pull @ at.centred) ** 2 / at.slope
    if not promise < TOLERANCE or at.slope <= LEAST_CURVATURE * weights.sum():
        raise InputError(UNBOUNDED)
    noise = np.sqrt(weights * at.variance)
    intercept_error = root_sum_of_squares(noise * (1 / at.level - at.centre * at.centred / at.slope))
    return Line(intercept, slope, intercept_error, root_sum_of_squares(noise * at.centred / at.slope))


def _null_scales(log_odds: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the eigenvalues lambda, which do not depend on the parametrisation of the line."""
    at = _curvature(log_odds, log_odds, weights)
    noise = np.sqrt(weights * at.variance)
    # In a basis that is orthonormal under H, the eigenvalues are those of J.
    columns = np.stack([noise / np.sqrt(at.level), noise * at.centred / np.sqrt(at.slope)])
    return np.asarray(np.linalg.svd(columns @ columns.T, compute_uv=False), dtype=np.float64)


def _tail(statistic: float, scales: FloatArray) -> float:
    """Return the probability that scales @ Z**2 exceeds the statistic, for two standard normal Z.

    In polar coordinates the squared radius is exponential, and the mean over the angle, a smooth periodic function, is
    the mean over equidistant angles to machine precision.
    """
    mixture = scales[1] + (scales[0] - scales[1]) * np.cos(np.pi * np.arange(4096) / 4096) ** 2
    return float(np.exp(-statistic / (2 * mixture)).mean())
