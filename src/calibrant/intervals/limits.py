"""What a method of intervals is, and the law that means over pairs of rows have in common."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from calibrant._core.laws import normal_quantile
from calibrant.resampling.bootstrap import Bootstrap


class Limits(NamedTuple):
    """Confidence limits of a metric."""

    low: float
    high: float

    def roots(self) -> "Limits":
        """Return the limits of the root of a squared error, which is not negative."""
        return Limits(*(float(np.sqrt(max(limit, 0.0))) for limit in self))

    def around(self, value: float) -> "Limits":
        """Return limits that contain the value, which few resamples, or rounding, may leave beside them."""
        return Limits(min(self.low, value), max(self.high, value))


Method: TypeAlias = Callable[[Any, Any, float, Bootstrap, np.random.Generator], Limits]
"""From data, metric, level, bootstrap and generator to limits."""


@dataclass(frozen=True)
class PairLaw:
    r"""The law of an unbiased estimate of a squared error :math:`\theta`, a mean over pairs of rows.

    Attributes
    ----------
    estimate : float
    expected, seen : float
        Variance without any error, which falls with the square of the number of rows: if the labels scatter as the
        predictions say, and as they do.
    observed : float
        Variance with the error that was observed.
    typical : float
        A typical value of the slope s below.
    rare : float, default=0
        What errors that chance hid may add to it.

    Notes
    -----
    Without error one variance rules, which is c, with it another, which falls with the number of rows, so that
    :math:`V(\theta) = c + s \max(\theta, 0)` holds in both cases and between. The slope makes V at the observed error
    the observed variance v, and is shrunk to the typical one :math:`s_0` as long as chance rules:

    .. math:: s = (\max(v - c, 0) + s_0 \sqrt c) / (\max(\hat\theta, 0) + \sqrt c).

    If there is no error, the predictions are right about the scatter, so that c is the expected one. That decides
    whether 0 is among the limits. If it is not, there is an error, which may consist in labels that scatter less than
    is predicted: then c is what is seen for the lower limit, but not less than half of the expected one, because
    labels that agree by chance are seen not to scatter at all.
    """

    estimate: float
    expected: float
    seen: float
    observed: float
    typical: float
    rare: float = 0.0

    def slope(self, noise: float) -> float:
        """Return s, given c."""
        chance = float(np.sqrt(noise))
        if chance == 0 and self.estimate <= 0:
            return 0.0
        return (max(self.observed - noise, 0.0) + self.typical * chance) / (max(self.estimate, 0.0) + chance)

    def limits(self, level: float) -> tuple[float, float]:
        r"""Return the :math:`\theta` with :math:`(\hat\theta - \theta)^2 = z^2 V(\theta)`, as in Wilson's interval.

        The variance is that at the error in question, not at the one that happened to be observed.

        Examples
        --------
        >>> low, high = PairLaw(1.0, 0.25, 0.25, 0.25, 0.0).limits(0.95)  # no slope: 1.96 standard errors
        >>> round(low, 2), round(high, 2)
        (0.02, 1.98)
        """
        z = normal_quantile((1 + level) / 2)
        low, high = self._limit(-z, self.expected), self._limit(z, self.expected, self.rare)
        if low > 0:
            low = max(low, self._limit(-z, min(self.expected, max(self.seen, self.expected / 2))))
        return low, high

    def _limit(self, z: float, noise: float, rare: float = 0.0) -> float:
        level = self.estimate + z * float(np.sqrt(noise))
        if level <= 0:  # There are no negative errors, so that V is c below 0.
            return level
        slope = self.slope(noise) + rare
        inside = noise + slope * self.estimate + (z * slope / 2) ** 2
        return self.estimate + z**2 * slope / 2 + z * float(np.sqrt(max(inside, 0.0)))
