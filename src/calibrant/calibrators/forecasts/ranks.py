"""Ranks of split-conformal prediction: which of n scores a new one does not exceed with a given probability."""

import math

import numpy as np

from calibrant._border.types import FloatArray

SLACK = 1e-9
"""Products that exceed a whole number by less than this are that number: 10 times 0.9 should be 9."""


def rank_at_least(n: float, level: float) -> int:
    """Return the least k for which the k-th smallest of n scores is not exceeded with at least this probability.

    It is ceil((n + 1) level). Above n, only infinity will do.

    Examples
    --------
    >>> rank_at_least(200, 0.9), rank_at_least(9, 0.9), rank_at_least(8, 0.9)
    (181, 9, 9)
    """
    return math.ceil((n + 1) * level - SLACK)


def rank_at_most(n: float, level: float) -> int:
    """Return the largest k for which the k-th smallest score exceeds a new one with at most this probability.

    It is floor((n + 1) level). At 0, only minus infinity will do.

    Examples
    --------
    >>> rank_at_most(200, 0.05), rank_at_most(8, 0.1)
    (10, 0)
    """
    return math.floor((n + 1) * level + SLACK)


def order_statistic(scores: FloatArray, weights: FloatArray, rank: int) -> float:
    """Return the score of this rank, where a row of weight w counts as w copies; infinite outside 1 to n.

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
    """Return the least k for which coverage by the k-th smallest of n scores reaches a level with this probability.

    Given the scores, the coverage has the law Beta(k, n + 1 - k). Above n, only infinity will do.

    Examples
    --------
    >>> [confident_rank(n, 0.9, 0.95) for n in (20, 100, 200, 500, 1000)]
    [21, 96, 188, 462, 916]
    """
    from scipy.special import betainc

    ranks = np.arange(1, math.floor(n) + 1)
    reached = betainc(ranks, n + 1 - ranks, level) <= 1 - confidence + SLACK
    return int(ranks[reached.argmax()]) if reached.any() else math.floor(n) + 1
