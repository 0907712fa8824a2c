"""The law of a sum of scores of forecasts under calibration."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant._border.types import FloatArray
from calibrant._core.laws import normal_tail
from calibrant._core.roots import root
from calibrant.groups.event_sums import saddlepoint_tail

LARGEST_TILT = 300.0
"""Largest tilt, which is enough for any probability that matters."""

MOST_WEIGHTS = 512
"""Largest number of distinct weights; if there are more, neighbours are replaced by their root mean square."""

NODES, NODE_WEIGHTS = (0.5 * np.polynomial.legendre.leggauss(64)[0] + 0.5, 0.5 * np.polynomial.legendre.leggauss(64)[1])
"""Gauss-Legendre quadrature on [0, 1]."""


@dataclass(frozen=True)
class TransformScore:
    """A score of a transform, whose law is known if the transform is uniform.

    Attributes
    ----------
    name : str
    mean, variance : float
        Moments of the score of a uniform transform.
    of : callable
        From transforms to scores.
    """

    name: str
    mean: float
    variance: float
    of: Callable[[FloatArray], FloatArray]

    @cached_property
    def at_nodes(self) -> FloatArray:
        """The centred score at the nodes of the quadrature."""
        return self.of(NODES) - self.mean


BIAS = TransformScore("bias", 1 / 2, 1 / 12, lambda u: u)
"""The transform itself: its mean is above 1/2 if targets are larger than predicted."""

SPREAD = TransformScore("spread", 1 / 3, 4 / 45, lambda u: (2 * u - 1) ** 2)
"""(2 u - 1)^2: its mean is above 1/3 if targets lie farther out than predicted."""


@dataclass(frozen=True, eq=False)
class ScoreSum:
    r"""The law of :math:`T = \sum_i w_i (g(U_i) - E g)` for uniform :math:`U_i`, and the value that was observed.

    Its tail is approximated by the formula of Lugannani and Rice, with the cumulant generating function
    :math:`\sum_i K(w_i s)`, :math:`K(s) = \log \int_0^1 e^{s (g(u) - E g)} du`, integrated with 64 nodes.

    Parameters
    ----------
    score : TransformScore
    weights : ndarray of shape (n,)
    total : float

    References
    ----------
    R. Lugannani, S. Rice, "Saddle point approximation for the distribution of the sum of independent random
    variables", Advances in Applied Probability 12 (1980).

    Examples
    --------
    >>> round(ScoreSum(BIAS, np.ones(12), 1.96).pvalue, 3)  # Twelve uniform numbers: nearly normal, with variance 1.
    0.049
    """

    score: TransformScore
    weights: FloatArray
    total: float

    @property
    def pvalue(self) -> float:
        """Twice the smaller tail, at most 1."""
        upper = self._upper()
        return min(1.0, 2 * min(upper, 1 - upper) if 1e-6 < upper < 1 - 1e-6 else 2 * self._far())

    @cached_property
    def _kinds(self) -> tuple[FloatArray, FloatArray]:
        """Distinct weights, and the number of rows with each."""
        values, counts = np.unique(self.weights, return_counts=True)
        if len(values) <= MOST_WEIGHTS:
            return values, counts.astype(np.float64)
        parts = np.array_split(np.sort(self.weights), MOST_WEIGHTS)
        means = [math.sqrt(float(np.mean(part**2))) for part in parts]
        return np.array(means), np.array([len(part) for part in parts], dtype=np.float64)

    def _cumulants(self, s: float) -> tuple[float, float, float]:
        """Return the generating function and its first two derivatives."""
        values, counts = self._kinds
        exponents = np.outer(values * s, self.score.at_nodes)
        top = exponents.max(axis=1, keepdims=True)
        terms = NODE_WEIGHTS * np.exp(exponents - top)
        mass = terms.sum(axis=1)
        mean = terms @ self.score.at_nodes / mass
        square = terms @ self.score.at_nodes**2 / mass
        return (
            float(counts @ (top[:, 0] + np.log(mass))),
            float(counts @ (values * mean)),
            float(counts @ (values**2 * (square - mean**2))),
        )

    @cached_property
    def _saddle(self) -> float:
        far = LARGEST_TILT / float(self.weights.max())

        def excess(s: float) -> float:
            return self._cumulants(s)[1] - self.total

        if excess(far) <= 0:
            return far
        return -far if excess(-far) >= 0 else root(excess, -far, far, xtol=1e-10 * far)

    def _signed(self) -> tuple[float, float]:
        """Return the signed root of the deviance, and its correction."""
        s = self._saddle
        value, _, curvature = self._cumulants(s)
        omega = math.copysign(math.sqrt(max(2 * (s * self.total - value), 0.0)), s)
        return omega, s * math.sqrt(curvature)

    def _upper(self) -> float:
        """Return the probability of a sum at least this large."""
        omega, upsilon = self._signed()
        if abs(omega) < 1e-4 or upsilon == 0:
            return normal_tail(self.total / math.sqrt(self.score.variance * float(self.weights @ self.weights)))
        return min(max(saddlepoint_tail(omega, upsilon), 0.0), 1.0)

    def _far(self) -> float:
        """Return the smaller tail if it is so small that 1 minus the other would lose its digits."""
        return max(saddlepoint_tail(*map(abs, self._signed())), 0.0)
