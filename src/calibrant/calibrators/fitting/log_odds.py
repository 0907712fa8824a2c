"""Log-odds of two classes, and of each class against the rest; what replaces logarithms of 0 in fitting."""

from typing import Literal

import numpy as np

from calibrant._border.settings import check_option
from calibrant._border.types import FloatArray
from calibrant._core.blocks import log_softmax
from calibrant._core.laws import softplus
from calibrant.calibrators import operations as ops

Score = Literal["probability", "logit", "margin"]
"""The argument of a class's map in one-vs-rest calibration."""

SCORE_DECIMALS = 12
"""Scores of classes that agree to this many decimals are ties; different sums give them different rounding errors."""


def log_odds_of_classes(log_probs: FloatArray) -> FloatArray:
    r"""Return :math:`\ln p_k - \ln \sum_{j \ne k} p_j` for every class, (n, K), accurately also near 1.

    Examples
    --------
    >>> log_odds_of_classes(np.log([[0.5, 0.25, 0.25]])).round(4).tolist()
    [[0.0, -1.0986, -1.0986]]
    """
    rows, top = np.arange(len(log_probs)), log_probs.argmax(axis=1)
    probs = np.exp(log_probs)
    with np.errstate(divide="ignore"):
        rest = np.log1p(-np.minimum(probs, 0.5))  # All but the largest are at most one half.
        probs[rows, top] = 0.0
        rest[rows, top] = np.log(probs.sum(axis=1))
    return log_probs - rest


def log_odds_of_two(log_probs: FloatArray) -> FloatArray:
    """Return the log-odds of the second of two classes, (n,), rounded so that equal probabilities are ties.

    Examples
    --------
    >>> found = log_odds_of_two(np.log([[0.7, 0.3], [0.7, 0.1 + 0.2]]))
    >>> bool(found[0] == found[1])
    True
    """
    return np.round(log_probs[:, 1] - log_probs[:, 0], SCORE_DECIMALS)


def operations_of_two(x: ops.Value) -> ops.Value:
    """Return `log_odds_of_two` as operations."""
    return (x.columns([1]) - x.columns([0])).rounded(SCORE_DECIMALS)


def class_scores(log_probs: FloatArray, score: Score) -> FloatArray:
    """Return one score per class, (n, K), rounded so that equal probabilities are ties."""
    check_option(score, "score", "probability", "logit", "margin")
    if score == "probability":
        values = log_odds_of_classes(log_probs)
    elif score == "logit":
        values = log_softmax(log_probs)
    else:
        ascending = np.sort(log_probs, axis=1)
        best, second = ascending[:, -1:], ascending[:, -2:-1]
        values = log_probs - np.where(log_probs == best, second, best)
    return np.round(values, SCORE_DECIMALS)


def score_operations(x: ops.Value, score: Score, k: int) -> ops.Value:
    """Return `class_scores` as operations on log-probabilities of k classes."""
    if score == "logit":
        return ops.log_softmax(x).rounded(SCORE_DECIMALS)
    if score == "margin":
        ascending = x.along(x.argsort())
        best, second = ascending.columns([k - 1]), ascending.columns([k - 2])
        return (x - x.equals(best).choose(second, best)).rounded(SCORE_DECIMALS)
    probs = x.exp()
    is_top = x.is_first_largest(k)
    rest = is_top.choose(is_top.choose(0.0, probs).total().log(), (-probs.at_most(0.5)).log1p())
    return (x - rest).rounded(SCORE_DECIMALS)


SMALLEST_LOG_PROB = float(np.log(np.finfo(np.float64).tiny))
"""Replaces -inf, the logarithm of 0, in fitting, so that the likelihood stays finite."""


def finite(log_probs: FloatArray) -> FloatArray:
    """Replace -inf by `SMALLEST_LOG_PROB`, or by the smallest finite entry if that is smaller.

    Examples
    --------
    >>> finite(np.log([[1.0, np.exp(-3.0)]])).round(3).tolist()
    [[0.0, -3.0]]
    >>> finite(np.array([[0.0, -np.inf]])).round(3).tolist()
    [[0.0, -708.396]]
    """
    if log_probs.min(initial=0.0) > -np.inf:
        return log_probs
    impossible = np.isneginf(log_probs)
    floor = min(SMALLEST_LOG_PROB, float(log_probs[~impossible].min()))
    return np.where(impossible, floor, log_probs)


def floored(log_probs: FloatArray) -> FloatArray:
    """Return the log-probabilities with `SMALLEST_LOG_PROB` as their lower bound, as affine maps need them."""
    if log_probs.min(initial=0.0) >= SMALLEST_LOG_PROB:
        return log_probs
    return np.maximum(log_probs, SMALLEST_LOG_PROB)


LARGEST_LOG_ODDS = -SMALLEST_LOG_PROB
"""Parametric maps limit log-odds, including those of the probabilities 0 and 1, to this size."""


def bounded(log_odds: FloatArray) -> FloatArray:
    """Return log-odds limited to `LARGEST_LOG_ODDS`."""
    return np.clip(log_odds, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)


def bounded_operations(x: ops.Value) -> ops.Value:
    """Return `bounded` as an operation."""
    return x.clip(-LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)


def log_probs_of(log_odds: FloatArray) -> FloatArray:
    """Return the logarithms of both probabilities, (n, 2).

    Examples
    --------
    >>> np.exp(log_probs_of(np.array([0.0, -np.inf]))).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    return np.column_stack([-softplus(log_odds), -softplus(-log_odds)])


def probs_of(log_odds: FloatArray) -> FloatArray:
    """Return both probabilities, (n, 2).

    Examples
    --------
    >>> probs_of(np.array([0.0, -np.inf])).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    from scipy.special import expit

    probs = np.empty((len(log_odds), 2))
    expit(log_odds, out=probs[:, 1])
    expit(-log_odds, out=probs[:, 0])
    return probs
