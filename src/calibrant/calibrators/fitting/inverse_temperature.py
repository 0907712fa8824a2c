"""The search for the best inverse temperature."""

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant._core.blocks import BLOCK, FEW_CLASSES, add_blocks, over_classes, threads_for
from calibrant._core.progress import tell

LARGEST_LOG_TEMPERATURE = 16.0
"""Temperatures are searched from exp(-16) to exp(16)."""

_TOLERANCE, _ROUGH = 1e-8, 1e-3
"""A step below this is the last one: the remaining distance is smaller by orders of magnitude."""

_SMALL_STEP = 0.1
"""After a step below this, the derivatives are extrapolated instead of computed again."""

_MANY_ROWS, _FIRST_ROWS = 4000, 1000
"""With at least 4000 rows, the search starts at the optimum of about 1000 of them."""

_SMALLEST_BRACKET = 1e-12

_SAFE_EXPONENT = 600.0
"""Up to this number x, exp(-x) is far from underflow."""


class Root(NamedTuple):
    """Where the search ended, and the value of the function one small step before."""

    at: float
    value: float
    converged: bool
    n_calls: int


def best_log_beta(logits: FloatArray, labels: IntArray, weights: FloatArray, near: float | None = None) -> Root:
    """Return the logarithm of the inverse temperature that maximises the likelihood of finite logits.

    The search starts at `near`, or chooses a start itself. If every label has the largest logit of its row, the
    likelihood has no maximum; see `TemperatureScaling` for what is returned then.
    """
    slope = _Slope(logits, labels, weights)
    if slope.never_wrong:
        return _succession(slope, float(weights.sum()))
    start = near if near is not None and abs(near) < LARGEST_LOG_TEMPERATURE else 0.0
    if near is None and len(labels) >= _MANY_ROWS:
        some = slice(None, None, len(labels) // _FIRST_ROWS)
        rough = _root(_Slope(logits[some], labels[some], weights[some]), tolerance=_ROUGH).at
        start = 0.0 if abs(rough) == LARGEST_LOG_TEMPERATURE else rough
    return _root(slope, start)


def never_wrong(logits: FloatArray, labels: IntArray) -> bool:
    """Return whether every label has the largest logit of its row, ties included."""
    return bool(np.all(logits[np.arange(len(labels)), labels] == over_classes(np.maximum, logits)[:, 0]))


class _Slope:
    """The derivative of the negative log-likelihood in beta, and its first two derivatives in ln(beta)."""

    def __init__(self, logits: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        self.logits = logits
        self.top = over_classes(np.maximum, logits)
        self.share = weights / weights.sum()
        self.observed = logits[np.arange(len(labels)), labels]
        self.farthest = float(np.abs(self.top).max())
        self.never_wrong = bool(np.all(self.observed == self.top[:, 0]))

    def __call__(self, log_beta: float) -> tuple[float, float, float]:
        """Return all three."""
        value, variance, cube = self._moments(log_beta, 3)
        beta = math.exp(log_beta)
        first = beta * variance
        return value, first, first + beta * beta * cube

    def alone(self, log_beta: float) -> float:
        """Return only the derivative, which takes half the time."""
        return self._moments(log_beta, 1)[0]

    def of_tops(self, log_beta: float) -> float:
        """Return the mean of the largest probability."""
        beta = math.exp(log_beta)

        def task(rows: slice) -> FloatArray:
            powers = np.exp((self.logits[rows] - self.top[rows]) * beta)
            return np.sum(self.share[rows, None] / over_classes(np.add, powers), keepdims=True)

        return float(add_blocks(task, self.logits.shape)[0, 0])

    def _moments(self, log_beta: float, n_moments: int) -> list[float]:
        """Return the mean logit minus the observed one, the variance and the third central moment of the logits.

        Moments are over the classes of a row, by their probabilities, and are averaged over the rows.
        """
        beta = math.exp(log_beta)
        few_classes = self.logits.shape[1] < FEW_CLASSES
        # Log-probabilities need no shift, unless all exponentials of a row could underflow.
        shifted = beta * self.farthest > _SAFE_EXPONENT
        dot = partial(np.einsum, "ki,ki->i") if few_classes else np.vecdot
        ones = np.ones(self.logits.shape[1])

        def task(rows: slice) -> FloatArray:
            logits = self.logits[rows] - self.top[rows] if shifted else self.logits[rows]
            if few_classes:
                logits = np.ascontiguousarray(logits.T)
            powers = logits * beta
            np.exp(powers, out=powers)
            total = powers.sum(axis=0) if few_classes else powers @ ones
            raw = [dot(powers, logits) / total]
            for _ in range(n_moments - 1):
                powers *= logits
                raw.append(dot(powers, logits) / total)
            moments = _central(raw)
            moments[0] -= self.observed[rows] - self.top[rows, 0] if shifted else self.observed[rows]
            return np.einsum("ji,i->j", moments, self.share[rows])

        shape = self.logits.shape
        return add_blocks(task, shape, entries=4 * BLOCK, n_threads=threads_for(shape)).tolist()


def _central(raw: list[FloatArray]) -> FloatArray:
    """Return the mean or, given three raw moments, the mean, variance and third central moment."""
    if len(raw) == 1:
        return np.stack(raw)
    mean, square, cube = raw
    variance = square - mean * mean
    return np.stack([mean, variance, cube - mean * (3.0 * variance + mean * mean)])


def _root(slope: _Slope, start: float = 0.0, tolerance: float = _TOLERANCE) -> Root:
    """Return the root of an increasing function, or the end of the search interval that is nearest to it."""
    low, high = ends = (-LARGEST_LOG_TEMPERATURE, LARGEST_LOG_TEMPERATURE)
    at, value, step = start, math.inf, math.inf
    first = second = 0.0
    for n_calls in range(1, 200):
        tell(n_calls)
        last = value
        if abs(step) < _SMALL_STEP:
            value, first = slope.alone(at), first + second * step
        else:
            value, first, second = slope(at)
        if value == 0 or (at == ends[0] and value > 0) or (at == ends[1] and value < 0):
            return Root(at, value, True, n_calls)
        low, high = (at, high) if value < 0 else (low, at)
        # Where the function is nearly flat, its derivatives do not show how far away the root is.
        creeps = abs(value) > abs(last) / 2.0
        wanted = -math.copysign(math.inf, value) if creeps else _halley(value, first, second)
        if abs(wanted) < tolerance:
            return Root(at + wanted, value, True, n_calls)
        if high - low < _SMALLEST_BRACKET:
            return Root(at, value, True, n_calls)
        there = _inside(at + wanted, low, high, ends)
        at, step = there, there - at
    return Root(at, value, False, n_calls)


def _halley(value: float, first: float, second: float) -> float:
    """Return the step of Halley's method, or of Newton's if Halley's has the wrong sign, or infinity."""
    bottom = 2.0 * first * first - value * second
    if bottom > first * first:
        return -2.0 * value * first / bottom
    return -value / first if first > 0 else -math.copysign(math.inf, value)


def _inside(at: float, low: float, high: float, ends: tuple[float, float]) -> float:
    """Return a point strictly inside the bracket, or an end of the search interval that was not evaluated yet."""
    if low < at < high:
        return at
    if at <= low == ends[0] or at >= high == ends[1]:
        return ends[0] if at <= low else ends[1]
    return (low + high) / 2.0


def _succession(slope: _Slope, n: float) -> Root:
    """Return where the mean of the largest probability is (n + 1) / (n + 2) of the largest value that it can have."""
    from scipy.optimize import brentq

    calls = 0

    def missing(log_beta: float) -> float:
        nonlocal calls
        calls += 1
        return slope.of_tops(log_beta) - wanted

    ties = np.sum(slope.logits == slope.top, axis=1)
    wanted = float(np.sum(slope.share / ties)) * (n + 1) / (n + 2)
    if missing(0.0) >= 0:
        at = 0.0
    elif missing(LARGEST_LOG_TEMPERATURE) <= 0:
        at = LARGEST_LOG_TEMPERATURE
    else:
        at = float(brentq(missing, 0.0, LARGEST_LOG_TEMPERATURE, xtol=_SMALLEST_BRACKET))
    return Root(at, slope.alone(at), True, calls + 1)
