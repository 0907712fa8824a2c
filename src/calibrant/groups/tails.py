"""How likely a number of events, or a sum of scores of forecasts, is if the predictions are right."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant._border.types import FloatArray
from calibrant._core.laws import expit, normal_tail
from calibrant._core.roots import root

EXACT_ROWS = 500
"""Up to this many rows of equal weight the law of the number of events is computed, above it approximated."""

CERTAIN = 1e-15
"""Probabilities are kept this far from 0 and 1: a label that was impossible is then only very unlikely."""

FARTHEST = 40.0
"""Log-odds are moved by at most this much."""

FARTHEST_TILT = 50.0
"""Log-odds of probabilities kept from 0 and 1, moved by this, lead to expect next to all events, or next to none."""


@dataclass(frozen=True, eq=False)
class EventSum:
    r"""The law of :math:`T = \sum_i w_i Y_i` for independent events, and the value that was observed.

    Parameters
    ----------
    probs : ndarray of shape (n,)
    weights : ndarray of shape (n,) or None
        None if all are 1, so that T is a number of events.
    total : float
        What was observed.

    Notes
    -----
    `upper(d)` is :math:`P(T \ge t)` if all log-odds are larger by :math:`d w_i`. Of at most 500 rows without weights
    it is exact: the law of T is the convolution of the n laws. Otherwise it is the saddlepoint approximation of
    Lugannani and Rice, whose relative error stays small in the tails, where a normal law can be wrong by orders of
    magnitude: with :math:`K(s) = \sum_i \log(1 - p_i + p_i e^{w_i s})`, the root :math:`K'(\hat s) = x`,
    :math:`\omega = \sqrt{2 (\hat s x - K(\hat s))}` and :math:`\upsilon = \hat s \sqrt{K''(\hat s)}`,

    .. math:: P(T \ge t) \approx 1 - \Phi(\omega) + \varphi(\omega) (1 / \upsilon - 1 / \omega),

    where without weights :math:`x = t - 1/2` and :math:`2 \sinh(\hat s / 2)` takes the place of :math:`\hat s` in
    :math:`\upsilon`.

    References
    ----------
    R. Lugannani, S. Rice, "Saddle point approximation for the distribution of the sum of independent random
    variables", Advances in Applied Probability 12 (1980). H. Daniels, "Tail probability approximations",
    International Statistical Review 55 (1987).

    Examples
    --------
    >>> heads = EventSum(np.array([0.5, 0.5]), None, 2.0)
    >>> round(heads.upper(), 12), round(heads.pvalue, 12)
    (0.25, 0.5)
    """

    probs: FloatArray
    weights: FloatArray | None
    total: float

    @property
    def pvalue(self) -> float:
        """Twice the smaller of both tails, at most 1."""
        return min(1.0, 2 * (self.upper() if self.total > self._mean else self._mirrored.upper()))

    def upper(self, shift: float = 0.0) -> float:
        """Return the probability of a sum at least this large, if log-odds are moved by the shift times the weight."""
        if self.weights is None and len(self.probs) <= EXACT_ROWS:
            return self._exact(shift)
        if self.total >= self._most * (1 - 1e-12):  # Every event: the saddlepoint is infinitely far.
            return float(np.exp(-np.logaddexp(0.0, -(self._log_odds + shift * self._w)).sum()))
        return self._saddlepoint(shift)

    def _exact(self, shift: float) -> float:
        r"""Return the upper tail of a count, from one law for every shift.

        A shift of all log-odds by d tilts the law: :math:`P_d(k) \propto P_0(k) e^{dk}`. Kept is the law whose mean is
        about the observed count t, so that no term near t underflows. These decide about every tail: of a law with a
        smaller mean it is the sum from t on, and of one with a larger mean 1 minus the sum below t.
        """
        total = round(self.total)
        if total <= 0:
            return 1.0
        base, logs = self._logs_of_law
        own = np.arange(total, len(logs)) if shift <= base else np.arange(total)
        tail = float(np.exp(logs[own] + shift * own - self._generating(shift)).sum())
        return min(1.0, tail) if shift <= base else max(0.0, 1.0 - tail)

    @cached_property
    def _logs_of_law(self) -> tuple[float, FloatArray]:
        """The shift at which the observed count is expected, and logarithms of the law there, tilted back."""
        expected = min(self.total, len(self.probs) - 0.5)
        base = root(
            lambda d: float(expit(self._log_odds + d).sum()) - expected, -FARTHEST_TILT, FARTHEST_TILT, xtol=0.01
        )
        law = count_law(expit(self._log_odds + base))
        with np.errstate(divide="ignore"):  # What underflowed is far from the observed count.
            return base, np.log(law) - base * np.arange(len(law)) + self._generating(base)

    def shift_limits(self, level: float) -> tuple[float, float]:
        """Return the shifts of the log-odds at which either tail has half of the level: its confidence limits."""
        at = math.log(level / 2)
        low = -FARTHEST if self.total <= 0 else _crossing(self.upper, at)
        high = FARTHEST if self.total >= self._most else -_crossing(self._mirrored.upper, at)
        return low, high

    @cached_property
    def _mirrored(self) -> "EventSum":
        return EventSum(1 - self.probs, self.weights, self._most - self.total)

    @cached_property
    def _log_odds(self) -> FloatArray:
        probs = np.clip(self.probs, CERTAIN, 1 - CERTAIN)
        return np.asarray(np.log(probs) - np.log1p(-probs))

    @cached_property
    def _w(self) -> FloatArray:
        return np.ones(len(self.probs)) if self.weights is None else self.weights

    @cached_property
    def _mean(self) -> float:
        return float(self._w @ self.probs)

    @cached_property
    def _most(self) -> float:
        return float(self._w.sum())

    @cached_property
    def _saddle(self) -> tuple[float, float, float]:
        """The saddlepoint, and K and K'' there; they do not depend on the shift, which only moves the origin."""
        x = self.total - (0.5 if self.weights is None else 0.0)

        def excess(s: float) -> float:
            return float(self._w @ expit(self._log_odds + s * self._w)) - x

        far = FARTHEST / self._w.max()
        s = root(excess, -far, far, xtol=1e-10 * far) if excess(-far) < 0 < excess(far) else math.copysign(far, x)
        tilted = expit(self._log_odds + s * self._w)
        return s, self._generating(s), float((self._w**2) @ (tilted * (1 - tilted)))

    def _generating(self, s: float) -> float:
        """Return K(s), up to a constant that does not depend on s."""
        return float(np.logaddexp(0.0, self._log_odds + s * self._w).sum())

    def _saddlepoint(self, shift: float) -> float:
        s, at_s, curvature = self._saddle
        x, s = self.total - (0.5 if self.weights is None else 0.0), s - shift
        square = 2 * (s * x - at_s + self._generating(shift))
        omega = math.copysign(math.sqrt(max(square, 0.0)), s)
        upsilon = (2 * math.sinh(s / 2) if self.weights is None else s) * math.sqrt(curvature)
        if abs(omega) < 1e-4 or upsilon == 0:
            return 0.5
        density = math.exp(-(omega**2) / 2) / math.sqrt(2 * math.pi)
        found = normal_tail(omega) + density * (1 / upsilon - 1 / omega)
        return min(max(found, 0.0), 1.0)


def _crossing(tail: Callable[[float], float], at: float) -> float:
    """Return the shift at which the logarithm of a rising tail crosses a value."""
    return root(lambda shift: math.log(max(tail(shift), 1e-300)) - at, -FARTHEST, FARTHEST, xtol=1e-5)


def count_law(probs: FloatArray) -> FloatArray:
    """Return the probabilities of 0, 1, ..., n events, which are independent and have these probabilities.

    All terms are positive, so that the smallest of them are as exact as the largest.

    Examples
    --------
    >>> count_law(np.array([0.5, 0.5])).tolist()
    [0.25, 0.5, 0.25]
    """
    laws = np.stack([1 - probs, probs], axis=1)
    while len(laws) > 1 and laws.shape[1] <= 33:  # Many short laws: all pairs at once.
        if len(laws) % 2:
            laws = np.concatenate([laws, np.eye(1, laws.shape[1])])
        laws = _convolved_pairs(laws[::2], laws[1::2])
    rest = list(laws)
    while len(rest) > 1:  # Few long ones.
        rest = [np.convolve(*rest[i : i + 2]) if i + 1 < len(rest) else rest[i] for i in range(0, len(rest), 2)]
    return np.asarray(rest[0][: len(probs) + 1])


def _convolved_pairs(first: FloatArray, second: FloatArray) -> FloatArray:
    width = first.shape[1]
    found = np.zeros((len(first), 2 * width - 1))
    for place in range(width):
        found[:, place : place + width] += first[:, place, None] * second
    return found


LARGEST_TILT = 300.0
"""Largest tilt; a sum that needs more is as unlikely as can be told apart."""

MOST_WEIGHTS = 512
"""Distinct weights that are told apart; of more, neighbours share the root of their mean square."""

NODES, NODE_WEIGHTS = (0.5 * np.polynomial.legendre.leggauss(64)[0] + 0.5, 0.5 * np.polynomial.legendre.leggauss(64)[1])
"""Gauss-Legendre quadrature on [0, 1]."""


@dataclass(frozen=True)
class TransformScore:
    """A score of a transform, of which the law is known if the transform is uniform.

    Attributes
    ----------
    name : str
    mean, variance : float
        If the transform is uniform.
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
r"""The transform itself: its mean is above 1/2 where targets are larger than predicted."""

SPREAD = TransformScore("spread", 1 / 3, 4 / 45, lambda u: (2 * u - 1) ** 2)
r""":math:`(2 u - 1)^2`: its mean is above 1/3 where targets lie farther out than predicted."""


@dataclass(frozen=True, eq=False)
class ScoreSum:
    r"""The law of :math:`T = \sum_i w_i (g(U_i) - E g)` for uniform :math:`U_i`, and the value that was observed.

    Its tail is that of Lugannani and Rice, by the cumulant generating function :math:`\sum_i K(w_i s)` with
    :math:`K(s) = \log \int_0^1 e^{s (g(u) - E g)} du`, an integral by 64 nodes.

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
        """Twice the smaller of both tails, at most 1."""
        upper = self._upper()
        return min(1.0, 2 * min(upper, 1 - upper) if 1e-6 < upper < 1 - 1e-6 else 2 * self._far())

    @cached_property
    def _kinds(self) -> tuple[FloatArray, FloatArray]:
        """Distinct weights, and how many rows have each."""
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
        density = math.exp(-(omega**2) / 2) / math.sqrt(2 * math.pi)
        return min(max(normal_tail(omega) + density * (1 / upsilon - 1 / omega), 0.0), 1.0)

    def _far(self) -> float:
        """Return the smaller tail, of which the other has no digits."""
        omega, upsilon = (abs(number) for number in self._signed())
        density = math.exp(-(omega**2) / 2) / math.sqrt(2 * math.pi)
        return max(normal_tail(omega) + density * (1 / upsilon - 1 / omega), 0.0)
