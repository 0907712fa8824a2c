"""Scores of conformal prediction: how far a target is outside a reference interval; and the ranks of thresholds."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.calibrators.forecasts.forecast_calibrator import frame_of
from calibrant.forecasts import Distribution


class Reference(NamedTuple):
    """One interval per row, which is widened or narrowed, and the unit of the widening."""

    low: FloatArray
    high: FloatArray
    unit: FloatArray


def _same(_law: Distribution, numbers: FloatArray) -> FloatArray:
    """Return the numbers unchanged."""
    return numbers


@dataclass(frozen=True)
class ConformalScore:
    """How targets are scored, and how a score becomes an interval again.

    Attributes
    ----------
    reference : callable
        Maps distributions and a level to the reference intervals.
    position, value : callable
        Map targets to the axis of the reference intervals, given the distributions, and back.
    """

    reference: Callable[[Distribution, float], Reference]
    position: Callable[[Distribution, FloatArray], FloatArray] = _same
    value: Callable[[Distribution, FloatArray], FloatArray] = _same

    def excesses(self, law: Distribution, y: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        """Return how far targets are below and above the reference, in its unit; negative if they are inside."""
        low, high, unit = self.reference(law, level)
        x = self.position(law, y)
        return (low - x) / unit, (x - high) / unit

    @np.errstate(invalid="ignore")
    def interval(
        self, law: Distribution, below: FloatArray, above: FloatArray, level: float
    ) -> tuple[FloatArray, FloatArray, int]:
        """Return the reference widened by these scores, and in how many rows the ends crossed."""
        reference = self.reference(law, level)
        low, high = reference.low - below * reference.unit, reference.high + above * reference.unit
        crossed = low > high
        middle = (low + high) / 2
        low, high = np.where(crossed, middle, low), np.where(crossed, middle, high)
        return self.value(law, low), self.value(law, high), int(crossed.sum())


def _mean(law: Distribution, _level: float) -> Reference:
    centre = law.mean()
    return Reference(centre, centre, np.ones(law.n))


def _scaled(law: Distribution, _level: float) -> Reference:
    centre, unit = frame_of(law)
    return Reference(centre, centre, unit)


def _quantiles(law: Distribution, level: float) -> Reference:
    low, high = law.quantile([(1 - level) / 2, (1 + level) / 2]).T
    return Reference(low, high, np.ones(law.n))


def _middle(law: Distribution, _level: float) -> Reference:
    half = np.full(law.n, 0.5)
    return Reference(half, half, np.ones(law.n))


def _quantile_at(law: Distribution, probabilities: FloatArray) -> FloatArray:
    inside = (probabilities > 0) & (probabilities < 1)
    found = law.inverse(np.where(inside, probabilities, 0.5)[:, None])[:, 0]
    return np.where(inside, found, np.where(probabilities <= 0, -np.inf, np.inf))


CONFORMAL_SCORES = {
    "absolute": ConformalScore(_mean),
    "normalised": ConformalScore(_scaled),
    "quantiles": ConformalScore(_quantiles),
    "pit": ConformalScore(_middle, lambda law, y: law.cdf(y), _quantile_at),
}
"""Scores by name: distance from the mean; the same in units of the spread; distance from the predicted quantiles at
both ends of the interval (conformalised quantile regression); distance of the transform F(y) from 1/2."""

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
