"""The rank of the threshold among conformal scores, and a test of the coverage that it guarantees."""

import math
from typing import Literal

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.exceptions import InputError
from calibrant.results import PredictionIntervals, TestResult

SLACK = 1e-9
"""A product within this of an integer counts as that integer: 10 times 0.9 should be 9."""


def rank_at_least(n: float, level: float) -> int:
    """Return the least k such that a new score is at most the k-th smallest of n with at least this probability.

    It is ceil((n + 1) level). If it exceeds n, the threshold is infinity.

    Examples
    --------
    >>> rank_at_least(200, 0.9), rank_at_least(9, 0.9), rank_at_least(8, 0.9)
    (181, 9, 9)
    """
    return math.ceil((n + 1) * level - SLACK)


def rank_at_most(n: float, level: float) -> int:
    """Return the largest k such that a new score is below the k-th smallest of n with at most this probability.

    It is floor((n + 1) level). If it is 0, the threshold is minus infinity.

    Examples
    --------
    >>> rank_at_most(200, 0.05), rank_at_most(8, 0.1)
    (10, 0)
    """
    return math.floor((n + 1) * level + SLACK)


def order_statistic(scores: FloatArray, weights: FloatArray, rank: int) -> float:
    """Return the score of a rank, where a row of weight w counts as w copies; infinite for ranks outside 1 to n.

    Examples
    --------
    >>> scores, twice = np.array([3.0, 1.0, 2.0]), np.array([1.0, 2.0, 1.0])
    >>> [order_statistic(scores, twice, rank) for rank in range(6)]
    [-inf, 1.0, 1.0, 2.0, 3.0, inf]
    """
    if rank < 1:
        return -math.inf
    order = np.argsort(scores, kind="stable")
    place = int(np.searchsorted(np.cumsum(weights[order]), rank - SLACK))
    return float(scores[order[place]]) if place < len(scores) else math.inf


def confident_rank(n: float, level: float, confidence: float) -> int:
    """Return the least k such that the coverage by the k-th smallest of n scores reaches a level with this probability.

    The coverage has the distribution Beta(k, n + 1 - k). If k exceeds n, the threshold is infinity.

    Examples
    --------
    >>> [confident_rank(n, 0.9, 0.95) for n in (20, 100, 200, 500, 1000)]
    [21, 96, 188, 462, 916]
    """
    from scipy.special import betainc

    ranks = np.arange(1, math.floor(n) + 1)
    reached = betainc(ranks, n + 1 - ranks, level) <= 1 - confidence + SLACK
    return int(ranks[reached.argmax()]) if reached.any() else math.floor(n) + 1


def coverage_test(
    intervals: PredictionIntervals, targets: object, *, alternative: Literal["less", "two-sided"] = "less"
) -> TestResult:
    r"""Test whether intervals cover new targets as often as they should.

    Parameters
    ----------
    intervals : PredictionIntervals
        From `ConformalIntervals`, for rows other than those of the fit.
    targets : array-like of shape (n,)
    alternative : {"less", "two-sided"}, default="less"
        Whether only too little coverage counts, or also too much. Ties between scores increase coverage, so "less"
        stays valid with ties.

    Returns
    -------
    TestResult
        The statistic is the number of covered targets, the estimate their share. With groups, these belong to the group
        with the smallest p-value, which is multiplied by the number of groups.

    Notes
    -----
    With n rows in the fit and the rank k, the number of covered rows among m new ones has the beta-binomial
    distribution with parameters k and n + 1 - k, not the binomial one, because all new rows share one threshold. With
    n = 200 and m = 400, the standard deviation of the share at level 0.9 is 0.026, not 0.015.

    Examples
    --------
    >>> from calibrant import Forecasts, Normal
    >>> from calibrant.calibrators.forecasts import ConformalIntervals
    >>> y = np.random.default_rng(0).normal(size=600)
    >>> f = Forecasts(Normal(np.zeros(600), 1.0), y)
    >>> found = ConformalIntervals().fit(f.take(slice(0, 200))).interval(f.distribution.take(slice(200, 600)))
    >>> result = coverage_test(found, y[200:])
    >>> result.estimate, round(result.pvalue, 2)
    (0.895, 0.41)
    """
    y = np.asarray(targets, dtype=np.float64)
    if y.shape != intervals.low.shape:
        raise InputError(f"targets must be {len(intervals.low)} numbers, one per interval, but have shape {y.shape}.")
    if np.isnan(y).any():
        raise InputError(f"targets must not be NaN, but row {int(np.isnan(y).argmax())} is. Drop such rows.")
    if alternative not in ("less", "two-sided"):
        raise InputError(f'alternative must be "less" or "two-sided", but is {alternative!r}.')
    hits = (intervals.low <= y) & (y <= intervals.high)
    rows = [(g, intervals.group == g) for g in range(len(intervals.ranks))]
    testable = [(g, own) for g, own in rows if own.any() and 0 < intervals.ranks[g] <= intervals.n_fitted[g]]
    if not testable:
        raise InputError(
            "the distribution of the coverage must be known, but it is not: the intervals are infinite, or were fitted "
            'with weights, or with tails="each" and score="quantiles". Use more rows, or tails="joint" without weights.'
        )
    found = [(_pvalue(intervals, g, int(hits[own].sum()), int(own.sum()), alternative), own, g) for g, own in testable]
    pvalue, own, g = min(found, key=lambda one: one[0])
    k, n = int(intervals.ranks[g]), int(intervals.n_fitted[g])
    return TestResult(
        name=f"beta-binomial test of coverage, alternative={alternative!r}",
        statistic=float(hits[own].sum()),
        pvalue=min(1.0, pvalue * len(found)),
        estimate=float(hits[own].mean()),
        details={"rows": int(own.sum()), "expected": k / (n + 1), "rank": k, "n_fitted": n, "tests": len(found)},
    )


def _pvalue(intervals: PredictionIntervals, group: int, hits: int, rows: int, alternative: str) -> float:
    rank, n_fitted = int(intervals.ranks[group]), int(intervals.n_fitted[group])
    fewer = float(coverage_law(rows, rank, n_fitted)[hits])
    if alternative == "less":
        return fewer
    # The probability of at most as many rows outside; 1 minus that of fewer inside would round to 0.
    more = float(coverage_law(rows, n_fitted + 1 - rank, n_fitted)[rows - hits])
    return min(1.0, 2 * min(fewer, more))


def coverage_law(rows: int, rank: int, n_fitted: int) -> FloatArray:
    """Return the probabilities that at most 0, 1, ..., all of some rows are covered by the threshold of a rank.

    The coverage is distributed as Beta(rank, n + 1 - rank), so the number of covered rows is beta-binomial.

    Examples
    --------
    >>> coverage_law(rows=2, rank=1, n_fitted=1).round(9).tolist()  # The share is uniform, and so is the number.
    [0.333333333, 0.666666667, 1.0]
    """
    from scipy.special import betaln  # Not `scipy.stats`, whose import takes most of a second.

    k, against = np.arange(rows + 1), n_fitted + 1 - rank
    logs = betaln(k + rank, rows - k + against) - betaln(rank, against) - betaln(rows - k + 1, k + 1)
    found = np.minimum(np.cumsum(np.exp(logs) / (rows + 1)), 1.0)
    found[-1] = 1.0
    return found
