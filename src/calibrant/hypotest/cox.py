"""Cox's test: logistic recalibration, its slope and its intercept."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from calibrant._core.laws import expit
from calibrant._core.roots import root
from calibrant._typing import FloatArray, IntArray
from calibrant.exceptions import InputError
from calibrant.hypotest.binary import BinaryTest, Finding, refuse_certainty, root_sum_of_squares
from calibrant.predictions import Predictions
from calibrant.results import Description

EPSILON = 1e-12
"""Predictions outside [EPSILON, 1 - EPSILON] are moved to its ends, where their log-odds are finite."""

CONSTANT = 1e-10
"""Predictions whose log-odds differ by less than this are one and the same."""

MAX_ITERATIONS = 200

UNBOUNDED = (
    "the likelihood of slope and intercept must have a maximum, but none was found: the two outcomes are almost "
    "separated by a threshold. Use SpiegelhalterTest or ECCETest, which need no fit, or test more rows."
)

TOLERANCE = 1e-10
"""Newton's method stops when the next step promises less log-likelihood than this; it then converges quadratically."""


@dataclass(frozen=True)
class CoxTest(BinaryTest):
    r"""Refit slope and intercept of the log-odds, and ask whether the outcomes demand it.

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

    References
    ----------
    D. R. Cox, "Two further applications of a model for binary regression", Biometrika 45 (1958); M. E. Miller,
    S. L. Hui, W. M. Tierney, "Validation techniques for logistic regression models", Statistics in Medicine 10 (1991).

    Examples
    --------
    >>> p = Predictions([0.1] * 10 + [0.9] * 10, labels=[1] * 3 + [0] * 7 + [1] * 7 + [0] * 3)
    >>> result = CoxTest()(p)  # slope logit(0.7) / logit(0.9)
    >>> round(result.estimate, 4), result.details["direction"], round(result.pvalue, 3)
    (0.3856, 'over-confident', 0.046)
    """

    def about(self) -> Description:
        """Return how it is presented."""
        return Description(
            label="Cox",
            meaning="A wrong slope or intercept of the log-odds only.",
            caution="Asymptotic; refused where no finite line fits best.",
        )

    def examine(self, view: Predictions, weights: FloatArray) -> Finding:
        """Fit slope and intercept and compare the likelihood with that of the predictions."""
        refuse_certainty(view)
        log_odds, clipped = _log_odds(view)
        _check_estimable(log_odds, view.labels)
        weights = weights * (weights.sum() / (weights @ weights))
        fit = _fit_line(log_odds, view.labels, weights)
        level, level_error = _fit_level(log_odds, view.labels, weights)
        gain = _log_likelihood(fit.intercept + fit.slope * log_odds, view.labels, weights)
        gain -= _log_likelihood(log_odds, view.labels, weights)
        statistic = max(0.0, 2 * gain)
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
                "calibration_in_the_large_se": level_error,
                "direction": "over-confident" if fit.slope < 1 else "under-confident" if fit.slope > 1 else "none",
                "clipped": clipped,
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

    The centre is the mean of x by the weighted variances of the outcomes, so that level and slope do not interact.
    """

    variance: FloatArray
    centre: float
    centred: FloatArray
    level: float
    slope: float


def _log_odds(view: Predictions) -> tuple[FloatArray, int]:
    """Return finite log-odds of class 1, and how many had to be moved."""
    bound = np.log1p(-EPSILON) - np.log(EPSILON)
    log_odds = view.log_probs[:, 1] - view.log_probs[:, 0]
    # 1 - EPSILON is itself rounded, in the fifth digit of its distance from 1.
    return log_odds.clip(-bound, bound), int((view.probs.min(axis=1) < 0.999 * EPSILON).sum())


def _check_estimable(log_odds: FloatArray, labels: IntArray) -> None:
    """Refuse data for which no finite slope is the most likely one."""
    ones, zeros = log_odds[labels == 1], log_odds[labels == 0]
    if len(ones) == 0 or len(zeros) == 0:
        raise InputError(
            f"both outcomes must occur, but all {len(labels)} rows have outcome {int(labels[0])}: the most likely "
            "intercept is infinite. Use SpiegelhalterTest or ECCETest, which need no fit."
        )
    if np.ptp(log_odds) < CONSTANT:
        raise InputError(
            "predictions must differ for a slope to be defined, but all are equal. Use ECCETest, which needs no slope."
        )
    if max(ones.min(), zeros.min()) >= min(ones.max(), zeros.max()):
        raise InputError(
            "predictions of the two outcomes must overlap, but a threshold separates them: the most likely slope is "
            "infinite. Use SpiegelhalterTest or ECCETest, which need no fit, or test more rows."
        )


def _log_likelihood(fitted: FloatArray, labels: IntArray, weights: FloatArray) -> float:
    right = np.where(labels == 1, fitted, -fitted)
    return float(weights @ (np.minimum(right, 0.0) - np.log1p(np.exp(-np.abs(right)))))


def _curvature(fitted: FloatArray, x: FloatArray, weights: FloatArray) -> Curvature:
    variance = weights * _bernoulli_variance(fitted)
    level = float(variance.sum())
    centre = float(variance @ x) / level if level > 0 else 0.0
    slope = float(variance @ (x - centre) ** 2)
    if slope == 0:
        raise InputError(UNBOUNDED)
    return Curvature(variance, centre, x - centre, level, slope)


def _fit_line(x: FloatArray, labels: IntArray, weights: FloatArray) -> Line:
    """Maximise the likelihood of slope and intercept."""
    intercept, slope = _maximise(x, labels, weights)
    at = _curvature(intercept + slope * x, x, weights)
    noise = np.sqrt(weights * at.variance)
    intercept_error = root_sum_of_squares(noise * (1 / at.level - at.centre * at.centred / at.slope))
    return Line(intercept, slope, intercept_error, root_sum_of_squares(noise * at.centred / at.slope))


def _maximise(x: FloatArray, labels: IntArray, weights: FloatArray) -> tuple[float, float]:
    """Return intercept and slope of the largest likelihood, by Newton's method with steps halved until they gain."""

    def height(line: FloatArray) -> float:
        return _log_likelihood(line[0] + line[1] * x, labels, weights)

    line = np.zeros(2)
    reached = height(line)
    for _ in range(MAX_ITERATIONS):
        fitted = line[0] + line[1] * x
        at = _curvature(fitted, x, weights)
        pull = weights * _residuals(fitted, labels)
        gradient = float(pull.sum()), float(pull @ at.centred)
        level, slope = gradient[0] / at.level, gradient[1] / at.slope
        step = np.array([level - slope * at.centre, slope])
        promise = level * gradient[0] + slope * gradient[1]
        if promise == np.inf:
            break
        if promise < TOLERANCE:
            return float(line[0] + step[0]), float(line[1] + step[1])
        enough = reached - 1e-13 * abs(reached)  # Less by rounding is not less.
        while (reached := height(line + step)) < enough + 1e-4 * promise:
            step, promise = step / 2, promise / 2
        line = line + step
    raise InputError(UNBOUNDED)


def _fit_level(log_odds: FloatArray, labels: IntArray, weights: FloatArray) -> tuple[float, float]:
    """Return the most likely intercept if the slope is 1, and its standard error."""

    def slope_of_likelihood(level: float) -> float:
        return float(weights @ _residuals(level + log_odds, labels))

    # At these ends every probability is below, or above, the observed frequency.
    observed = float(np.log(weights @ labels) - np.log(weights @ (1 - labels)))
    low, high = observed - float(log_odds.max()) - 1, observed - float(log_odds.min()) + 1
    level = root(slope_of_likelihood, low, high, xtol=1e-12, rtol=1e-14)
    variance = weights * _bernoulli_variance(level + log_odds)
    return level, float(np.sqrt(weights @ variance) / variance.sum())


def _residuals(fitted: FloatArray, labels: IntArray) -> FloatArray:
    """Return labels minus probabilities, also where a probability rounds to 1."""
    return np.where(labels == 1, expit(-fitted), -expit(fitted))


def _bernoulli_variance(fitted: FloatArray) -> FloatArray:
    return expit(fitted) * expit(-fitted)


def _null_scales(log_odds: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the eigenvalues lambda; they do not depend on how the line is parametrised."""
    at = _curvature(log_odds, log_odds, weights)
    noise = np.sqrt(weights * at.variance)
    # Columns that are orthonormal under H, so that J itself has the eigenvalues.
    columns = np.stack([noise / np.sqrt(at.level), noise * at.centred / np.sqrt(at.slope)])
    return np.asarray(np.linalg.svd(columns @ columns.T, compute_uv=False), dtype=np.float64)


def _tail(statistic: float, scales: FloatArray) -> float:
    """Return the probability that scales @ Z**2 exceeds the statistic, for two standard normal Z.

    In polar coordinates the squared radius is exponential, and the mean over the angle, a smooth periodic function, is
    the mean over equidistant angles to machine precision.
    """
    angles = np.pi * np.arange(4096) / 4096
    mixture = scales[0] * np.cos(angles) ** 2 + scales[1] * np.sin(angles) ** 2
    return float(np.exp(-statistic / (2 * mixture)).mean())
