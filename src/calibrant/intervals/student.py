"""The law of an estimate whose error is a sum over independent rows or clusters."""

from dataclasses import dataclass

import numpy as np

from calibrant._border.types import FloatArray
from calibrant._core.laws import SMALLEST_PVALUE, student_quantile, student_tail
from calibrant.intervals.limits import Limits


@dataclass(frozen=True)
class StudentLaw:
    r"""Student's law of :math:`T = (\hat\theta - \theta) / s`, corrected for skewness.

    Attributes
    ----------
    value : float
        The estimate :math:`\hat\theta`.
    error : float
        Its standard error s.
    freedom : float
        Degrees of freedom.
    skewness : float, default=0
        Of the sum of the errors of all rows, :math:`\kappa = \sum u_i^3 / (\sum u_i^2)^{3/2}`.

    Notes
    -----
    If rows are skewed, the mean and its standard error tend to err in the same direction. Hall's transformation

    .. math:: g(T) = T + \tfrac13 \kappa T^2 + \tfrac1{27} \kappa^2 T^3 + \tfrac16 \kappa
                   = \frac{(1 + \kappa T / 3)^3 - 1}{\kappa} + \frac\kappa6

    removes the first-order effect of this. It increases with T, so limits are found with its inverse.

    References
    ----------
    P. Hall, "On the removal of skewness by transformation", Journal of the Royal Statistical Society B 54 (1992).
    """

    value: float
    error: float
    freedom: float
    skewness: float = 0.0

    def limits(self, level: float) -> Limits:
        """Return the limits, which contain the value.

        Examples
        --------
        >>> low, high = StudentLaw(1.0, 0.5, freedom=1e9).limits(0.95)  # 1.96 standard errors
        >>> round(low, 2), round(high, 2)
        (0.02, 1.98)
        """
        quantile = student_quantile((1 + level) / 2, self.freedom)
        upper, lower = self._deviation(quantile), self._deviation(-quantile)
        # At low levels both may lie on one side.
        return Limits(self.value - self.error * max(upper, 0.0), self.value - self.error * min(lower, 0.0))

    def pvalue(self) -> float:
        """Return the two-sided p-value of the hypothesis that the true value is 0."""
        if self.error == 0:
            return 1.0 if self.value == 0 else SMALLEST_PVALUE
        # Beyond 1e50 standard errors the p-value is the least one, and the cube might overflow.
        deviation, k = float(np.clip(self.value / self.error, -1e50, 1e50)), self.skewness
        transformed = deviation + k * deviation**2 / 3 + k**2 * deviation**3 / 27 + k / 6
        return min(1.0, max(2 * student_tail(abs(transformed), self.freedom), SMALLEST_PVALUE))

    def _deviation(self, quantile: float) -> float:
        """Return the T that Hall's transformation maps to the quantile."""
        shifted = quantile - self.skewness / 6
        grown = self.skewness * shifted
        if abs(grown) > 0.5:
            return float(3 / self.skewness * (np.cbrt(1 + grown) - 1))
        if abs(grown) < 1e-15:  # The quotient below would be rounding error.
            return shifted
        return float(3 * np.expm1(np.log1p(grown) / 3) / self.skewness)  # Without loss of digits.


def law_of_sum(
    value: float, influences: FloatArray, masses: FloatArray, *, skewed: bool, copies: FloatArray | float = 1.0
) -> StudentLaw:
    r"""Return the law of an estimate, given the influence and the weight of each row or cluster.

    Parameters
    ----------
    value : float
    influences : ndarray of shape (m,)
        Contribution of each row or cluster to the error of the value; they sum to 0.
    masses : ndarray of shape (m,)
        Weight of each row or cluster.
    skewed : bool
        Whether to correct for the skewness of the influences. That of a fitted coefficient also depends on the
        curvature of the fit, and the two nearly cancel.
    copies : ndarray of shape (m,), default=1
        Number of equal rows that share each influence and weight.

    Notes
    -----
    With shares :math:`b_g` of the weight, :math:`s^2 = \sum u_g^2 / (1 - \sum b_g^2)`, which is :math:`m / (m - 1)`
    times the sum if all weigh the same. A sum of squares of normal :math:`b_g x_g` has
    :math:`(\sum b_g^2)^2 / \sum b_g^4` degrees of freedom by Satterthwaite's rule. This number is halved, because
    scores and residuals have heavier tails.
    """
    shares = masses / masses.sum()
    squares = shares**2 / copies
    spread, kept = float((influences**2 / copies).sum()), 1 - float(squares.sum())
    freedom = max(float(squares.sum() ** 2 / (squares**2 / copies).sum()) / 2, 1.0)
    if spread == 0 or kept <= 0:
        return StudentLaw(value, 0.0, freedom)
    # A product: NumPy takes twenty times as long for a third power.
    skewness = float(np.sum(influences * influences * influences / copies**2) / spread**1.5) if skewed else 0.0
    return StudentLaw(value, float(np.sqrt(spread / kept)), freedom, skewness)
