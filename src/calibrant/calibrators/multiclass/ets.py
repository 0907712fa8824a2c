"""Ensemble temperature scaling."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant._core.blocks import add_blocks, by_blocks, each_block, log_softmax, over_classes, threads_for
from calibrant.calibrators import operations as ops
from calibrant.calibrators.calibrator import Calibrator
from calibrant.calibrators.fitting.inverse_temperature import LARGEST_LOG_TEMPERATURE, never_wrong
from calibrant.calibrators.fitting.log_odds import SMALLEST_LOG_PROB, finite
from calibrant.calibrators.fitting.mixtures import (
    BestWeights,
    Loss,
    check_loss,
    least_nll,
    least_square,
    mixture,
    warn_unless_converged,
)
from calibrant.calibrators.multiclass.temperature import TemperatureScaling
from calibrant.calibrators.rules import TEMPERATURE, Rule, are_shares

_SMALL_SLOPE = 1e-9
_FIRST_STRIDE, _LAST_STRIDE = 1 / 16, 1e-9
_ROUNDING = 1e-14


@dataclass(eq=False, repr=False)
class EnsembleTemperatureScaling(Calibrator):
    r"""Mix temperature-scaled, unchanged and uniform probabilities.

    Parameters
    ----------
    loss : {"nll", "brier"}, default="nll"
        What temperature and weights minimise. The published method uses "brier", which can raise the log loss.
    joint : bool, default=False
        Whether temperature and weights are optimised together. Otherwise, as published, the temperature is optimal
        without mixing, and the weights are optimal for this temperature.
    scores : {"probs", "logits"}, default="probs"

    Attributes
    ----------
    temperature_ : float
    weights_ : ndarray of shape (3,)
        Weights of the temperature-scaled, the unchanged and the uniform probabilities.
    converged_ : bool
    gradient_norm_ : float
        The larger of two numbers: an upper bound of what other weights could gain, and the absolute derivative of the
        loss with respect to the logarithm of the temperature.
    n_iter_ : int
        Number of passes over all rows.

    Notes
    -----
    .. math:: q = w_1 \mathrm{softmax}(\ln p / T) + w_2 p + w_3 / K.

    With the likelihood it is never worse than temperature scaling, or no change, on the rows of the fit. For a given
    temperature the optimal weights are unique unless members agree, and are found as in `Ensemble`. The joint loss may
    have several minima in T. The search descends from the temperature without `joint`, so the loss is never higher
    than there. If every label was the most probable class, the temperature is that of `TemperatureScaling`.

    References
    ----------
    J. Zhang, B. Kailkhura, T. Y.-J. Han, "Mix-n-Match: ensemble and compositional methods for uncertainty calibration
    in deep learning", ICML 2020.

    Examples
    --------
    >>> rows = [[0.98, 0.01, 0.01]] * 10
    >>> ets = EnsembleTemperatureScaling().fit(rows, [0] * 8 + [1, 2])
    >>> ets.predict_proba(rows[:1]).round(3).tolist()
    [[0.8, 0.1, 0.1]]
    """

    loss: Loss = "nll"
    joint: bool = False
    scores: Literal["probs", "logits"] = "probs"

    kind = "ensemble"
    preserves_argmax = True
    n_parameters = "3"
    data_efficiency = "high"
    expressiveness = "low"
    use_when = "Like temperature scaling, if some labels are wrong for reasons that do not depend on the model."
    sensitive_to_zeros = True
    rules = (
        TEMPERATURE,
        Rule(("weights_",), partial(are_shares, n=3), "must be three shares that sum to 1"),
    )

    def _fit(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        check_loss(self.loss)
        losses = (Likelihood if self.loss == "nll" else BrierScore)(log_probs, labels, weights)
        start = TemperatureScaling().learn(log_probs, labels, weights)
        log_beta, slope = -math.log(start.temperature_), start.gradient_norm_
        converged, n_iter = start.converged_, start.n_iter_
        if never_wrong(losses.logits, labels):  # Neither loss has a minimum in the temperature.
            slope = 0.0
        else:
            if isinstance(losses, BrierScore):  # For the likelihood, that temperature is the best already.
                log_beta, slope, converged = _downhill(losses.alone, log_beta)
            if self.joint:
                log_beta, slope, converged = _downhill(losses.mixed, log_beta)
        found, _ = losses.best_weights(log_beta)
        self.temperature_ = math.exp(-log_beta)
        self.weights_ = found.weights
        self.gradient_norm_ = max(found.gap, abs(slope))
        self.converged_ = converged and found.converged
        self.n_iter_ = n_iter + losses.n_calls
        warn_unless_converged(self.converged_, self.gradient_norm_, "EnsembleTemperatureScaling")

    def _apply(self, log_probs: FloatArray) -> FloatArray:
        result, shape = np.empty(log_probs.shape), log_probs.shape
        each_block(lambda rows: self._mix(log_probs[rows], result[rows]), shape, n_threads=threads_for(shape))
        return result

    def _operations(self, x: ops.Value, k: int) -> ops.Value:
        members: list[Callable[[], ops.Value]] = [
            lambda: ops.log_softmax(x / self.temperature_),
            lambda: x,
            lambda: ops.uniform(x, k),
        ]
        used = np.flatnonzero(self.weights_)
        return ops.mixture(self.weights_[used].tolist(), (members[j]() for j in used))

    def _mix(self, log_probs: FloatArray, out: FloatArray) -> None:
        """Write the logarithm of the mixture of the three members."""
        tempered, unchanged, uniform = self.weights_.tolist()
        mixed = log_probs - over_classes(np.maximum, log_probs)
        mixed /= self.temperature_
        np.exp(mixed, out=mixed)
        mixed *= tempered / over_classes(np.add, mixed)
        if unchanged:
            mixed += unchanged * np.exp(log_probs)
        mixed += uniform / mixed.shape[1]
        with np.errstate(divide="ignore"):
            np.log(mixed, out=out)
        lost = mixed.min(axis=1) < np.finfo(float).tiny
        if lost.any():
            out[lost] = self._logarithms(log_probs[lost])

    def _logarithms(self, log_probs: FloatArray) -> FloatArray:
        """Return the logarithm of the mixture, for rows with probabilities that underflow."""
        uniform = np.full(log_probs.shape, -np.log(log_probs.shape[1]))
        members = (log_softmax(log_probs / self.temperature_), log_probs, uniform)
        used = np.flatnonzero(self.weights_).tolist()
        return mixture(self.weights_[used].tolist(), (members[j] for j in used))


def _downhill(curve: Callable[[float], tuple[float, float]], start: float) -> tuple[float, float, bool]:
    """Return a local minimum that is reached by descent from the start, its derivative, and whether it has converged.

    The curve returns a value and its derivative.
    """
    near, (value, slope) = start, curve(start)
    end = -math.copysign(LARGEST_LOG_TEMPERATURE, slope)
    stride = _FIRST_STRIDE
    while slope and near != end and stride > _LAST_STRIDE:
        far = near + math.copysign(min(stride, abs(end - near)), end)
        lower, steepness = curve(far)
        if steepness * slope < 0:
            return _between(curve, near, far)
        if lower < value:
            near, value, slope, stride = far, lower, steepness, 2.0 * stride
        else:  # The step was too long: beyond a maximum, or onto a plateau.
            stride /= 4.0
    return near, slope, near == end or abs(slope) <= _SMALL_SLOPE


def _between(curve: Callable[[float], tuple[float, float]], near: float, far: float) -> tuple[float, float, bool]:
    """Return a minimum between two points whose derivatives differ in sign, as `_downhill` does."""
    from scipy.optimize import brentq

    found = float(brentq(lambda at: curve(at)[1], near, far, xtol=1e-13))
    (value, slope), (before, slope_before) = curve(found), curve(near)
    if value > before + _ROUNDING:
        return near, slope_before, False
    return found, slope, abs(slope) <= _SMALL_SLOPE


class _Losses(ABC):
    """The loss as a function of the logarithm of the inverse temperature."""

    def __init__(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        self.log_probs, self.logits, self.labels = log_probs, finite(log_probs), labels
        self.top = over_classes(np.maximum, self.logits)
        self.shares = weights / weights.sum()
        self.n_calls = 0

    @abstractmethod
    def best_weights(self, log_beta: float) -> tuple[BestWeights, float]:
        """Return the best weights for a temperature, and the derivative of the loss with the best weights."""

    def mixed(self, log_beta: float) -> tuple[float, float]:
        """Return the loss with the best weights, and its derivative."""
        found, slope = self.best_weights(log_beta)
        return found.loss, slope


class Likelihood(_Losses):
    """The negative log-likelihood."""

    def best_weights(self, log_beta: float) -> tuple[BestWeights, float]:
        """Return the best weights for a temperature, and the derivative of the loss with the best weights."""
        tempered, slopes = self._labels(log_beta)
        unchanged = self.log_probs[np.arange(len(self.labels)), self.labels]
        uniform = np.full(len(self.labels), -math.log(self.log_probs.shape[1]))
        members = np.maximum(np.column_stack([tempered, unchanged, uniform]), SMALLEST_LOG_PROB)
        found = least_nll(members, self.shares)
        with np.errstate(divide="ignore"):
            terms = members + np.log(found.weights)
        share_of_first = np.exp(terms[:, 0] - np.logaddexp.reduce(terms, axis=1))
        # The weights are optimal, so their change does not matter to first order.
        return found, -float(self.shares @ (share_of_first * slopes))

    def _labels(self, log_beta: float) -> tuple[FloatArray, FloatArray]:
        """Return the labels' temperature-scaled log-probabilities and their derivatives in ln(beta)."""
        beta = math.exp(log_beta)
        self.n_calls += 1

        def task(rows: slice) -> FloatArray:
            labels = self.labels[rows]
            logits = self.logits[rows] - self.top[rows]
            powers = np.exp(logits * beta)
            total = over_classes(np.add, powers)
            mean = over_classes(np.add, powers * logits) / total
            own = logits[np.arange(len(labels)), labels]
            return np.stack([beta * own - np.log(total[:, 0]), beta * (own - mean[:, 0])])

        tempered, slopes = np.concatenate(list(by_blocks(task, self.logits.shape)), axis=1)
        return tempered, slopes


class BrierScore(_Losses):
    """The Brier score, which is w A w for weights w."""

    def alone(self, log_beta: float) -> tuple[float, float]:
        """Return the loss without mixing, and its derivative."""
        products, slopes = self._products(log_beta)
        return float(products[0, 0]), float(2.0 * slopes[0])

    def best_weights(self, log_beta: float) -> tuple[BestWeights, float]:
        """Return the best weights for a temperature, and the derivative of the loss with the best weights."""
        products, slopes = self._products(log_beta)
        found = least_square(products)
        return found, float(2.0 * found.weights[0] * (found.weights @ slopes))

    def _products(self, log_beta: float) -> tuple[FloatArray, FloatArray]:
        """Return A, the inner products of the members' errors, and those with the derivative of the first member."""
        beta = math.exp(log_beta)
        self.n_calls += 1

        def task(rows: slice) -> FloatArray:
            labels, shares = self.labels[rows], self.shares[rows]
            logits = self.logits[rows] - self.top[rows]
            tempered = logits * beta
            np.exp(tempered, out=tempered)
            tempered /= over_classes(np.add, tempered)
            change = beta * tempered * (logits - over_classes(np.add, tempered * logits))
            members = np.stack([tempered, np.exp(self.log_probs[rows]), np.full(logits.shape, 1.0 / logits.shape[1])])
            members[:, np.arange(len(labels)), labels] -= 1.0
            scaled = members * shares[:, None]
            against = np.concatenate([members, change[None]])
            return scaled.reshape(3, -1) @ against.reshape(4, -1).T

        sums = add_blocks(task, self.logits.shape)
        return (sums[:, :3] + sums[:, :3].T) / 2.0, sums[:, 3]
