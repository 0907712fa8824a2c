"""What a method of intervals is, and the law that means over pairs of rows have in common."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from calibrant.bootstrap import Bootstrap


class Limits(NamedTuple):
    """Confidence limits, what they are about, and why such limits are not known to cover, if so."""

    low: float
    high: float
    quantity: str
    doubt: str = ""


Method: TypeAlias = Callable[[Any, Any, float, Bootstrap, np.random.Generator], Limits]
"""From data, metric, level, bootstrap and generator to limits."""


@dataclass(frozen=True)
class PairLaw:
    r"""The law of an unbiased estimate of a squared error :math:`\theta`, a mean over pairs of rows.

    Attributes
    ----------
    estimate : float
    noise : float
        Variance without any error; it falls with the square of the number of rows.
    slope : float
        Further variance that the observed error brings, for each unit of it; it falls with the number of rows.

    Notes
    -----
    Without error the first variance rules, with it the second, so that :math:`V(\theta) = c + s \theta` holds in both
    cases and between. Without error the predictions themselves say how much the labels scatter, so that c is known,
    and s makes V at the observed error the observed variance.
    """

    estimate: float
    noise: float
    slope: float

    @classmethod
    def of(cls, estimate: float, noise: float, observed: float, typical: float) -> "PairLaw":
        r"""Return the law, given the `observed` variance, and a `typical` value of the slope.

        The slope is :math:`(v - c + s_0 \sqrt c) / (\hat\theta + \sqrt c)`: the observed one, shrunk to the typical one
        as long as chance rules.
        """
        chance = float(np.sqrt(noise))
        if chance == 0 and estimate <= 0:
            return cls(estimate, 0.0, 0.0)
        slope = (max(observed - noise, 0.0) + typical * chance) / (max(estimate, 0.0) + chance)
        return cls(estimate, noise, slope)

    def limits(self, level: float) -> tuple[float, float]:
        r"""Return both :math:`\theta` with :math:`(\hat\theta - \theta)^2 = z^2 V(\theta)`, as in Wilson's interval.

        The variance is that of the error asked about, not of the one that happened to be observed.

        Examples
        --------
        >>> low, high = PairLaw(1.0, 0.25, 0.0).limits(0.95)  # no slope: 1.96 standard errors on either side
        >>> round(low, 2), round(high, 2)
        (0.02, 1.98)
        """
        from scipy.special import ndtri

        z = float(ndtri((1 + level) / 2))
        centre = self.estimate + z**2 * self.slope / 2
        inside = self.noise + self.slope * self.estimate + (z * self.slope / 2) ** 2
        half = z * float(np.sqrt(max(inside, 0.0)))
        return centre - half, centre + half
