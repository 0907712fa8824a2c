"""The law of the number of events, or of a weighted sum of events, under calibration."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant._border.types import FloatArray
from calibrant._core.laws import expit, logit, normal_tail
from calibrant._core.roots import root

EXACT_ROWS = 500
"""Up to this many rows of equal weight the law of the number of events is exact; above, it is approximated."""

CERTAIN = 1e-15
"""Probabilities are kept this far from 0 and 1, so that an impossible label becomes a very unlikely one."""

FARTHEST = 40.0
"""Largest shift of the log-odds."""

TINY = 1e-300
"""A smaller probability counts as this one, so that its logarithm is finite."""

FARTHEST_TILT = 50.0
"""A shift of the log-odds after which nearly all events, or nearly none, are expected."""


def clipped_log_odds(probs: FloatArray) -> FloatArray:
    """Return the log-odds of probabilities, of those near 0 or 1 those of `CERTAIN`."""
    return logit(np.clip(probs, CERTAIN, 1 - CERTAIN))


def saddlepoint_tail(omega: float, upsilon: float) -> float:
    r"""Return the upper tail by the formula of Lugannani and Rice.

    It is :math:`1 - \Phi(\omega) + \varphi(\omega) (1 / \upsilon - 1 / \omega)`. Here :math:`\omega` is the signed root
    of the deviance at the saddlepoint, and :math:`\upsilon` the saddlepoint times the standard deviation there.
    """
    density = math.exp(-(omega**2) / 2) / math.sqrt(2 * math.pi)
    return normal_tail(omega) + density * (1 / upsilon - 1 / omega)


@dataclass(frozen=True, eq=False)
class EventSum:
    r"""The law of :math:`T = \sum_i w_i Y_i` for independent events, and the value that was observed.

    Parameters
    ----------
    probs : ndarray of shape (n,)
    weights : ndarray of shape (n,) or None
        None if all are 1, so that T is a number of events.
    total : float
        The observed value t of T.

    Notes
    -----
    `upper(d)` is :math:`P(T \ge t)` if all log-odds are larger by :math:`d w_i`. For at most 500 rows without weights
    it is exact: the law of T is the convolution of the n laws. Otherwise it is the saddlepoint approximation of
    Lugannani and Rice, whose relative error stays small in the tails, where a normal law can be wrong by orders of
    magnitude: with :math:`K(s) = \sum_i \log(1 - p_i + p_i e^{w_i s})`, x = t, the root :math:`K'(\hat s) = x`,
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
        """Twice the smaller tail, at most 1."""
        return min(1.0, 2 * (self.upper() if self.total > self._mean else self._mirrored.upper()))

    def upper(self, shift: float = 0.0) -> float:
        """Return the probability of a sum at least this large, if log-odds are moved by the shift times the weight."""
        if self.weights is None and len(self.probs) <= EXACT_ROWS:
            return self._exact(shift)
        if self.total >= self._most * (1 - 1e-12):  # All events happened: the saddlepoint is infinite.
            return float(np.exp(-np.logaddexp(0.0, -(self._log_odds + shift * self._w)).sum()))
        return self._saddlepoint(shift)

    def _exact(self, shift: float) -> float:
        r"""Return the upper tail of a count, from one law for all shifts.

        A shift of all log-odds by d tilts the law: :math:`P_d(k) \propto P_0(k) e^{dk}`. The law whose mean is about
        the observed count t is kept, so that no term near t underflows. These terms determine every tail: the sum from
        t on for a law with a smaller mean, and 1 minus the sum below t for one with a larger mean.
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
        """The shift at which the observed count is expected, and the logarithms of the law there, tilted back to 0."""
        expected = min(self.total, len(self.probs) - 0.5)
        base = root(
            lambda d: float(expit(self._log_odds + d).sum()) - expected, -FARTHEST_TILT, FARTHEST_TILT, xtol=0.01
        )
        law = count_law(expit(self._log_odds + base))
        with np.errstate(divide="ignore"):  # What underflowed is far from the observed count.
            return base, np.log(law) - base * np.arange(len(law)) + self._generating(base)

    def shift_limits(self, level: float) -> tuple[float, float]:
        """Return confidence limits of the shift of the log-odds, at which either tail has probability level / 2."""
        at = math.log(max(level / 2, TINY))
        low = -math.inf if self.total <= 0 else _crossing(self.upper, at)
        high = math.inf if self.total >= self._most else -_crossing(self._mirrored.upper, at)
        return low, high

    @property
    def curvature(self) -> float:
        """The variance of T under the shift that makes t its mean."""
        return self._saddle[2]

    @cached_property
    def _mirrored(self) -> "EventSum":
        return EventSum(1 - self.probs, self.weights, self._most - self.total)

    @cached_property
    def _log_odds(self) -> FloatArray:
        return clipped_log_odds(self.probs)

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
        """The saddlepoint, and K and K'' there; a shift only moves the origin, so they do not depend on it."""
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
        return min(max(saddlepoint_tail(omega, upsilon), 0.0), 1.0)


def _crossing(tail: Callable[[float], float], at: float) -> float:
    """Return the shift at which the logarithm of a rising tail crosses a value, or a lower one if that is too far."""

    def excess(shift: float) -> float:
        return math.log(max(tail(shift), TINY)) - at

    # Certain predictions that are wrong, and small weights, need more than the largest shift.
    if excess(-FARTHEST) >= 0:
        return -math.inf
    return FARTHEST if excess(FARTHEST) <= 0 else root(excess, -FARTHEST, FARTHEST, xtol=1e-5)


def count_law(probs: FloatArray) -> FloatArray:
    """Return the probabilities that 0, 1, ..., n of n independent events with these probabilities happen.

    All terms are positive, so that the smallest ones are as accurate as the largest.

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
