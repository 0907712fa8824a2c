"""Confidence limits, the type of the methods that compute them, and the law of means over pairs of rows."""

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
        """Extend the limits to contain the value, which may lie outside due to rounding or few resamples."""
        return Limits(min(self.low, value), max(self.high, value))

    @property
    def has_width(self) -> bool:
        """Whether finite limits differ by more than rounding.

        Examples
        --------
        >>> Limits(0.5, 0.5 + 1e-15).has_width, Limits(0.5, 0.6).has_width
        (False, True)
        """
        return bool(np.isinf(self).any()) or self.high - self.low > 1e-12 * max(1.0, abs(self.low))


NO_WIDTH = "nothing in these rows varies, so they say nothing of how much other rows do"
"""Why there are no limits: those of no width would miss unless all other rows are like these."""


Method: TypeAlias = Callable[[Any, Any, float, Bootstrap, np.random.Generator], Limits]
"""From data, metric, level, bootstrap and generator to limits."""


@dataclass(frozen=True)
class PairLaw:
    r"""The law of an unbiased estimate of a squared error :math:`\theta`, a mean over pairs of rows.

    Attributes
    ----------
    estimate : float
    expected, seen : float
        Variance without any error, which falls with the square of the number of rows: with the scatter of the labels
        that the predictions imply, and with the observed scatter.
    observed : float
        Variance at the observed error.
    typical : float
        A typical value :math:`s_0` of the slope s below.
    rare : float, default=0
        Added to s for the upper limit, for errors that chance hid.

    Notes
    -----
    The variance is modelled as :math:`V(\theta) = c + s \max(\theta, 0)`. The constant c is the variance without error;
    the second term, which falls with the number of rows, dominates with it. The slope makes V at the observed error
    equal to the observed variance v, but is shrunk to the typical one :math:`s_0` while chance dominates:

    .. math:: s = (\max(v - c, 0) + s_0 \sqrt c) / (\max(\hat\theta, 0) + \sqrt c).

    If there is no error, the labels scatter as predicted, so c is the expected variance. This decides whether the
    limits include 0. If they do not, there is an error, and labels may scatter less than predicted. For the lower limit
    c is then the observed variance, but at least half of the expected one, because labels that agree by chance seem not
    to scatter at all.
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
