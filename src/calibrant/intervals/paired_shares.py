"""Limits of the difference of two shares of the same rows, valid also if few rows or none differ."""

import math
from typing import NamedTuple, Self

from calibrant._border.types import FloatArray
from calibrant._core.laws import SMALLEST_PVALUE, normal_quantile, normal_tail
from calibrant._core.roots import root
from calibrant.intervals.limits import Limits


class PairedShares(NamedTuple):
    r"""Rows that count for the second of two models only, b, and for the first only, c, of n.

    With weights they are shares of the weight in units of n, Kish's effective number of rows.

    Notes
    -----
    The limits of the difference :math:`\delta` of the shares are where the score statistic

    .. math:: z(\delta) = \frac{b - c - n \delta}{\sqrt{n (2 \tilde q + \delta (1 - \delta))}}

    reaches a quantile of the normal law; :math:`\tilde q` is the most likely probability of c if the difference is
    :math:`\delta`. So the variance is that at the difference in question: if no row differs, the limits are not 0 but
    :math:`\pm z^2 / (n + z^2)`, about 3.8 rows. The p-value is McNemar's, of :math:`z(0) = (b - c) / \sqrt{b + c}`.

    References
    ----------
    T. Tango, "Equivalence test and confidence interval for the difference in proportions for the paired-sample design",
    Statistics in Medicine 17 (1998).

    Examples
    --------
    >>> low, high = PairedShares(0.0, 0.0, 100.0).limits(0.95)
    >>> round(low, 3), round(high, 3)
    (-0.037, 0.037)
    """

    second: float
    first: float
    rows: float

    @classmethod
    def of(cls, differences: FloatArray, weights: FloatArray) -> Self:
        """Count the rows, given differences of 1, 0 and -1."""
        shares = weights / weights.sum()
        rows = 1 / float(shares @ shares)
        return cls(rows * float(shares @ (differences > 0)), rows * float(shares @ (differences < 0)), rows)

    def limits(self, level: float) -> Limits:
        """Return the limits, which contain the observed difference."""
        z, value = normal_quantile((1 + level) / 2), (self.second - self.first) / self.rows
        low = root(lambda d: self._score(d) - z, -1.0, value) if self._score(-1.0) > z else -1.0
        high = root(lambda d: self._score(d) + z, value, 1.0) if self._score(1.0) < -z else 1.0
        return Limits(low, high).around(value)

    def pvalue(self) -> float:
        """Return the two-sided p-value of the hypothesis that the shares are equal."""
        return min(1.0, max(2 * normal_tail(abs(self._score(0.0))), SMALLEST_PVALUE))

    def _score(self, difference: float) -> float:
        b, c, n = self
        linear = (2 * n - b + c) * difference - b - c
        rest = c * difference * (1 - difference)
        q = (math.sqrt(max(linear**2 + 8 * n * rest, 0.0)) - linear) / (4 * n)
        variance, distance = n * (2 * q + difference * (1 - difference)), b - c - n * difference
        if variance > 0:
            return distance / math.sqrt(variance)
        return math.copysign(math.inf, distance) if distance else 0.0
