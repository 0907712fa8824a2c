"""The losses that ensemble temperature scaling minimises."""

import math
from typing import NamedTuple

import numpy as np

from calibrant._typing import FloatArray, IntArray
from calibrant.calibrators.blocks import add_blocks, by_blocks, over_classes
from calibrant.calibrators.scaling import SMALLEST_LOG_PROB, finite
from calibrant.calibrators.simplex import BestWeights, least_nll, least_square


class _Losses:
    """The loss as a function of the logarithm of the inverse temperature."""

    def __init__(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        self.log_probs, self.logits, self.labels = log_probs, finite(log_probs), labels
        self.top = over_classes(np.maximum, self.logits)
        self.shares = weights / weights.sum()
        self.n_calls = 0

    def _tempered(self, rows: slice, beta: float) -> tuple[FloatArray, FloatArray]:
        """Return the logits below the largest one, and the probabilities at an inverse temperature."""
        logits = self.logits[rows] - self.top[rows]
        probs = logits * beta
        np.exp(probs, out=probs)
        probs /= over_classes(np.add, probs)
        return logits, probs


class Likelihood(_Losses):
    """The negative log-likelihood."""

    def alone(self, log_beta: float) -> tuple[float, float]:
        """Return the loss without mixing, and its derivative."""
        tempered, slopes = self._labels(log_beta)
        return -float(self.shares @ tempered), -float(self.shares @ slopes)

    def mixed(self, log_beta: float) -> tuple[float, float]:
        """Return the loss with the best weights, and its derivative."""
        tempered, slopes = self._labels(log_beta)
        members = self._members(tempered)
        found = least_nll(members, self.shares)
        with np.errstate(divide="ignore"):
            terms = members + np.log(found.weights)
        share_of_first = np.exp(terms[:, 0] - np.logaddexp.reduce(terms, axis=1))
        # The weights are the best ones, so that their change does not matter to first order.
        return found.loss, -float(self.shares @ (share_of_first * slopes))

    def best_weights(self, log_beta: float) -> BestWeights:
        """Return the best weights for a temperature."""
        return least_nll(self._members(self._labels(log_beta)[0]), self.shares)

    def _members(self, tempered: FloatArray) -> FloatArray:
        """Return the logarithms of what the three members give to the labels, (n, 3)."""
        unchanged = self.log_probs[np.arange(len(self.labels)), self.labels]
        uniform = np.full(len(self.labels), -math.log(self.log_probs.shape[1]))
        return np.maximum(np.column_stack([tempered, unchanged, uniform]), SMALLEST_LOG_PROB)

    def _labels(self, log_beta: float) -> tuple[FloatArray, FloatArray]:
        """Return the logarithms of the labels' tempered probabilities and their derivatives in ln(beta)."""
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


class _Quadratic(NamedTuple):
    """Inner products of the errors of the three members, (3, 3), and what of them depends on the temperature.

    The loss of weights w is w A w; `slopes` are the derivatives of the products with the first member.
    """

    products: FloatArray
    slopes: FloatArray


class BrierScore(_Losses):
    """The Brier score."""

    def alone(self, log_beta: float) -> tuple[float, float]:
        """Return the loss without mixing, and its derivative."""
        products, slopes = self._at(log_beta)
        return float(products[0, 0]), float(2.0 * slopes[0])

    def mixed(self, log_beta: float) -> tuple[float, float]:
        """Return the loss with the best weights, and its derivative."""
        products, slopes = self._at(log_beta)
        found = least_square(products)
        return found.loss, float(2.0 * found.weights[0] * (found.weights @ slopes))

    def best_weights(self, log_beta: float) -> BestWeights:
        """Return the best weights for a temperature."""
        return least_square(self._at(log_beta).products)

    def _at(self, log_beta: float) -> _Quadratic:
        beta = math.exp(log_beta)
        self.n_calls += 1

        def task(rows: slice) -> FloatArray:
            labels, shares = self.labels[rows], self.shares[rows]
            logits, tempered = self._tempered(rows, beta)
            change = beta * tempered * (logits - over_classes(np.add, tempered * logits))
            members = np.stack([tempered, np.exp(self.log_probs[rows]), np.full(logits.shape, 1.0 / logits.shape[1])])
            members[:, np.arange(len(labels)), labels] -= 1.0
            scaled = members * shares[:, None]
            against = np.concatenate([members, change[None]])
            return scaled.reshape(3, -1) @ against.reshape(4, -1).T

        sums = add_blocks(task, self.logits.shape)
        return _Quadratic((sums[:, :3] + sums[:, :3].T) / 2.0, sums[:, 3])
