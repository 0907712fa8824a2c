"""Scores of conformal prediction: how far a target is outside a reference interval, in some unit."""

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
