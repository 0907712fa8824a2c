"""Temperature scaling."""

import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from calibrant._checks import DataWarning
from calibrant._typing import FloatArray, IntArray
from calibrant.calibrators.base import Calibrator
from calibrant.calibrators.blocks import BLOCK, FEW_CLASSES, add_blocks, over_classes
from calibrant.calibrators.scaling import finite

LARGEST_LOG_TEMPERATURE = 16.0
"""Temperatures are searched from exp(-16) to exp(16)."""

_TOLERANCE = 1e-10
_NOTHING = 1e-30
_MANY_ROWS, _FIRST_ROWS = 4000, 1000
"""From this many rows on, the search starts at the temperature of about a thousand of them."""


class TemperatureScaling(Calibrator):
    r"""Divide the logits by one temperature, chosen by maximum likelihood.

    Parameters
    ----------
    scores : {"probs", "logits"}, default="probs"

    Attributes
    ----------
    temperature_ : float
        Above 1 if the predictions were over-confident. It is exp(-16), the end of the search, if the likelihood still
        grows there, as for predictions that are always right. It is exp(16), which means uniform probabilities,
        with a warning, if the scores point away from the labels, so that only a negative temperature would help. It is
        1 if the likelihood does not depend on it, as for rows that are all uniform.
    gradient_norm_ : float
        Absolute derivative of the mean log-likelihood with respect to the logarithm of the temperature.
    converged_ : bool
    n_iter_ : int
        How many times all rows were visited.

    Warns
    -----
    DataWarning
        If the best inverse temperature is not positive.

    Notes
    -----
    With canonical logits :math:`z_i = \ln p_i`, inverse temperature :math:`\beta = 1/T` and
    :math:`q_i = \mathrm{softmax}(\beta z_i)`, the negative log-likelihood is convex in :math:`\beta`, with derivative

    .. math:: g(\beta) = \sum_i w_i \Big(\sum_k q_{ik} z_{ik} - z_{i, y_i}\Big) / \sum_i w_i.

    Its derivatives are the variance and the third central moment of :math:`z_{ik}` under :math:`q_i`, so the root
    is found in :math:`\ln \beta` by Halley's method, inside a bracket. In fitting, a probability 0 counts as the
    smallest normal number; a fitted map leaves it 0.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, "On calibration of modern neural networks", ICML 2017.

    Examples
    --------
    >>> logits = np.array([[4.0, 0.0], [4.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    >>> ts = TemperatureScaling(scores="logits").fit(logits, [0, 0, 0, 0])
    >>> ts.predict_proba(logits)[0].round(3).tolist()  # right in three of four rows
    [0.75, 0.25]
    """

    kind: ClassVar = "parametric"
    preserves_argmax = True
    n_parameters: ClassVar = "1"
    data_efficiency: ClassVar = "high"
    expressiveness: ClassVar = "low"
    use_when: ClassVar = "First of all: it needs few rows and keeps every decision, and repairs over-confidence."

    def __init__(self, scores: Literal["probs", "logits"] = "probs") -> None:
        self.scores = scores

    def _fit(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        found = best_log_beta(finite(log_probs), labels, weights)
        self.temperature_ = math.exp(-found.at)
        self.gradient_norm_ = abs(found.value) * math.exp(found.at)
        self.converged_, self.n_iter_ = found.converged, found.n_calls
        if found.at == -LARGEST_LOG_TEMPERATURE:
            message = (
                "the scores point away from the labels: no positive temperature is best, and the calibrated "
                "probabilities are nearly uniform. Make sure that the columns are in the order of the classes."
            )
            warnings.warn(message, DataWarning, stacklevel=4)

    def _apply(self, log_probs: FloatArray) -> FloatArray:
        return log_probs / self.temperature_


class Root(NamedTuple):
    """Where the search ended, and the value there."""

    at: float
    value: float
    converged: bool
    n_calls: int


def best_log_beta(logits: FloatArray, labels: IntArray, weights: FloatArray) -> Root:
    """Return the logarithm of the inverse temperature of largest likelihood; logits are finite."""
    start = 0.0
    if len(labels) >= _MANY_ROWS:
        some = slice(None, None, len(labels) // _FIRST_ROWS)
        rough = _root(_Slope(logits[some], labels[some], weights[some])).at
        start = 0.0 if abs(rough) == LARGEST_LOG_TEMPERATURE else rough
    return _root(_Slope(logits, labels, weights), start)


class _Slope:
    """The derivative of the negative log-likelihood in beta, and its first two derivatives in ln(beta)."""

    def __init__(self, logits: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        self.logits = logits
        self.top = over_classes(np.maximum, logits)
        self.share = weights / weights.sum()
        self.observed = float(np.sum(self.share * (logits[np.arange(len(labels)), labels] - self.top[:, 0])))

    def __call__(self, log_beta: float) -> tuple[float, float, float]:
        beta = math.exp(log_beta)
        few_classes = self.logits.shape[1] < FEW_CLASSES
        dot: Callable[[FloatArray, FloatArray], FloatArray] = (
            partial(np.einsum, "ki,ki->i") if few_classes else np.vecdot
        )

        def moments(rows: slice) -> FloatArray:
            below_top = self.logits[rows] - self.top[rows]
            if few_classes:
                below_top = np.ascontiguousarray(below_top.T)
            products = below_top * beta
            np.exp(products, out=products)
            total = products.sum(axis=0 if few_classes else 1)
            mean = dot(products, below_top) / total
            products *= below_top
            variance = dot(products, below_top) / total - mean * mean
            products *= below_top
            cube = dot(products, below_top) / total - mean * (3.0 * variance + mean * mean)
            return np.einsum("ji,i->j", np.stack([mean, variance, cube]), self.share[rows])

        mean, variance, cube = add_blocks(moments, self.logits.shape, entries=2 * BLOCK).tolist()
        first = beta * variance
        return mean - self.observed, first, first + beta * beta * cube


def _root(slope: Callable[[float], tuple[float, float, float]], start: float = 0.0) -> Root:
    """Return the root of an increasing function, or the end of the search that is nearest to it."""
    low, high = -LARGEST_LOG_TEMPERATURE, LARGEST_LOG_TEMPERATURE
    ends = (low, high)
    at, value = start, math.inf
    for n_calls in range(1, 200):
        last = value
        value, first, second = slope(at)
        if -_NOTHING < value <= 0 <= first < _NOTHING and n_calls > 1:  # Probabilities are 0 or 1 already, and right.
            return Root(ends[1], value, True, n_calls)
        if value == 0 or (at == ends[0] and value > 0) or (at == ends[1] and value < 0):
            return Root(at, value, True, n_calls)
        low, high = (at, high) if value < 0 else (low, at)
        # Where the function is nearly flat, its derivatives do not tell how far the root is.
        creeps = abs(value) > abs(last) / 2.0
        step = -math.copysign(math.inf, value) if creeps else _halley(value, first, second)
        if abs(step) < _TOLERANCE or high - low < _TOLERANCE:
            return Root(at, value, True, n_calls)
        at = _inside(at + step, low, high, ends)
    return Root(at, value, False, n_calls)


def _halley(value: float, first: float, second: float) -> float:
    """Return the step of Halley's method, or of Newton's where that one would turn round, or infinity."""
    bottom = 2.0 * first * first - value * second
    if bottom > first * first:
        return -2.0 * value * first / bottom
    return -value / first if first > 0 else -math.copysign(math.inf, value)


def _inside(at: float, low: float, high: float, ends: tuple[float, float]) -> float:
    """Return a place strictly inside the bracket, or an end of the search that has not been looked at."""
    if low < at < high:
        return at
    if at <= low == ends[0] or at >= high == ends[1]:
        return ends[0] if at <= low else ends[1]
    return (low + high) / 2.0
