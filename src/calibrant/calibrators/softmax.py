"""The likelihood of a softmax of linear scores, with its derivatives."""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant._core.blocks import BLOCK, add_blocks, over_classes
from calibrant._core.softmax import pair_sums, residuals_of

_SMALL_PRODUCT = 1 << 18
"""Up to this many multiplications, BLAS libraries multiply matrices on one thread."""

_LEAST_HEIGHT = 256
"""With fewer rows per block, threads wait for each other longer than they work."""

_LARGE_BLOCK = 1 << 20

_HESSIAN_HEIGHT = 1024
"""Least number of rows per block when a Hessian is computed."""


class Family(Protocol):
    """How logits depend on parameters, (K, m): the logit of class k is the inner product of row k with m features.

    Attributes
    ----------
    shape : (K, m)
    entries : int
        Number of scores per block.
    n_threads : int, optional
    """

    shape: tuple[int, int]
    entries: int
    n_threads: int | None

    def features(self, scores: FloatArray) -> FloatArray:
        """Return the features, as the other methods take them, of scores."""

    def logits(self, parameters: FloatArray, features: FloatArray) -> FloatArray:
        """Return logits, (n, K)."""

    def sums(self, factors: FloatArray, features: FloatArray) -> FloatArray:
        """Return for each parameter the sum over rows of its feature times the factor of its class, from (n, K)."""

    def squares(self, factors: FloatArray, features: FloatArray) -> FloatArray:
        """Return the same with squared features."""

    def curvature(self, probs: FloatArray, share: FloatArray, features: FloatArray) -> FloatArray:
        """Return the sums over rows from which `assembled` builds the Hessian of the negative log-likelihood."""

    def assembled(self, curvature: FloatArray) -> FloatArray:
        """Return the Hessian, (K m, K m), from its sums over all rows."""


class Diagonal:
    """Every class has a factor for its own score and an intercept: m = 2."""

    def __init__(self, n_classes: int) -> None:
        self.shape = n_classes, 2
        self.entries = 8 * BLOCK
        self.n_threads: int | None = None

    def features(self, scores: FloatArray) -> FloatArray:
        """Return the scores."""
        return scores

    def logits(self, parameters: FloatArray, features: FloatArray) -> FloatArray:
        """Return logits, (n, K)."""
        logits = features * parameters[:, 0]
        logits += parameters[:, 1]
        return logits

    def sums(self, factors: FloatArray, features: FloatArray) -> FloatArray:
        """Return for each class the sums of factors times scores, and of factors."""
        sums = np.empty(self.shape)
        np.einsum("ik,ik->k", factors, features, out=sums[:, 0])
        factors.sum(axis=0, out=sums[:, 1])
        return sums

    def squares(self, factors: FloatArray, features: FloatArray) -> FloatArray:
        """Return for each class the sums of factors times squared scores, and of factors."""
        squares = np.empty(self.shape)
        factors.sum(axis=0, out=squares[:, 1])
        np.einsum("ik,ik->k", factors * features, features, out=squares[:, 0])
        return squares

    def curvature(self, probs: FloatArray, share: FloatArray, features: FloatArray) -> FloatArray:
        """Return the contribution of some rows to the Hessian."""
        k, m = self.shape
        each = np.stack([probs * features, probs], axis=2).reshape(len(features), -1)
        hessian = -(each.T @ (each * share))
        once, twice = self.sums(probs * share, features), self.squares(probs * share, features)
        own = np.stack([np.column_stack([twice[:, 0], once[:, 0]]), once], axis=1)
        hessian.reshape(k, m, k, m)[np.arange(k), :, np.arange(k)] += own
        return hessian

    def assembled(self, curvature: FloatArray) -> FloatArray:
        """Return the sums, which are the Hessian itself."""
        return curvature


class Full:
    """Every class has a factor for each score and an intercept: m = K + 1."""

    def __init__(self, n_classes: int) -> None:
        self.shape = n_classes, n_classes + 1
        # Small products run on threads of add_blocks; BLAS uses its own threads for large ones.
        height = _SMALL_PRODUCT // (n_classes * (n_classes + 1))
        small = height >= _LEAST_HEIGHT
        self.entries = height * n_classes if small else _LARGE_BLOCK
        self.n_threads = None if small else 1

    def features(self, scores: FloatArray) -> FloatArray:
        """Return the scores and a column of ones."""
        return np.column_stack([scores, np.ones(len(scores))])

    def logits(self, parameters: FloatArray, features: FloatArray) -> FloatArray:
        """Return logits, (n, K)."""
        return features @ parameters.T

    def sums(self, factors: FloatArray, features: FloatArray) -> FloatArray:
        """Return for each class the sums of factors times features."""
        return factors.T @ features

    def squares(self, factors: FloatArray, features: FloatArray) -> FloatArray:
        """Return for each class the sums of factors times squared features."""
        return factors.T @ (features * features)

    def curvature(self, probs: FloatArray, share: FloatArray, features: FloatArray) -> FloatArray:
        """Return the sums of products of two features, times probabilities, or minus products of two of these.

        Each pair of features, and each pair of probabilities, is multiplied only once.
        """
        return pair_sums(probs, share, features)

    def assembled(self, curvature: FloatArray) -> FloatArray:
        """Return the Hessian: the sums for pairs of probabilities, plus those for one on the diagonal blocks."""
        k, m = self.shape
        every = curvature[:, _places(m)]
        hessian = every[k:][_places(k)]
        hessian[np.arange(k), np.arange(k)] += every[:k]
        return hessian.transpose(0, 2, 1, 3).reshape(k * m, k * m)


def _places(n: int) -> IntArray:
    """Return the indices, (n, n), at which `pair_sums` stores the product of each pair of n items."""
    places = np.empty((n, n), dtype=np.int64)
    first, second = np.triu_indices(n)
    places[first, second] = places[second, first] = np.arange(len(first))
    return places


def residual_changes(change: FloatArray, probs: FloatArray, share: FloatArray) -> FloatArray:
    """Return the derivative of the weighted residuals in the direction of a change of logits, which is overwritten."""
    change -= over_classes(np.add, change * probs)
    change *= probs
    change *= share
    return change


class PenalisedLikelihood:
    r"""Mean negative log-likelihood of a softmax, plus weighted squared distances from a target.

    .. math:: -\sum_i w_i \ln \mathrm{softmax}(X \phi_i)_{y_i} / \sum_i w_i + \sum_{kj} c_{kj} (X_{kj} - X^0_{kj})^2

    Parameters
    ----------
    family : Family
    scores : array of shape (n, K)
    labels, weights : arrays of shape (n,)
    penalty, target : arrays of shape (K, m), or numbers
        c and X^0.
    """

    def __init__(
        self,
        family: Family,
        scores: FloatArray,
        labels: IntArray,
        weights: FloatArray,
        *,
        penalty: FloatArray | float = 0.0,
        target: FloatArray | float = 0.0,
    ) -> None:
        self.family, self.features, self.labels = family, family.features(scores), labels
        self.share = (weights / weights.sum())[:, None]
        self.probs = np.empty(scores.shape)
        self.penalty, self.target = np.broadcast_to(penalty, family.shape), np.broadcast_to(target, family.shape)

    def __call__(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return value and gradient."""
        parameters = x.reshape(self.family.shape)

        def task(rows: slice) -> FloatArray:
            features, share, labels, probs = self.features[rows], self.share[rows], self.labels[rows], self.probs[rows]
            residuals, loss = residuals_of(self.family.logits(parameters, features), labels, share, probs)
            return np.append(self.family.sums(residuals, features), loss)

        sums = self._add_blocks(task)
        away = (parameters - self.target).ravel()
        penalty = self.penalty.ravel()
        return float(sums[-1] + np.sum(penalty * away * away)), sums[:-1] + 2.0 * penalty * away

    def product(self, v: FloatArray) -> FloatArray:
        """Return the product of the Hessian with a vector."""
        parameters = v.reshape(self.family.shape)

        def task(rows: slice) -> FloatArray:
            features, probs = self.features[rows], self.probs[rows]
            change = residual_changes(self.family.logits(parameters, features), probs, self.share[rows])
            return self.family.sums(change, features)

        return (self._add_blocks(task) + 2.0 * self.penalty * parameters).ravel()

    def diagonal(self) -> FloatArray:
        """Return the diagonal of the Hessian."""

        def task(rows: slice) -> FloatArray:
            variances = 1.0 - self.probs[rows]
            variances *= self.probs[rows]
            variances *= self.share[rows]
            return self.family.squares(variances, self.features[rows])

        return (self._add_blocks(task) + 2.0 * self.penalty).ravel()

    def hessian(self) -> FloatArray:
        """Return the Hessian."""
        k, m = self.family.shape

        def task(rows: slice) -> FloatArray:
            return self.family.curvature(self.probs[rows], self.share[rows], self.features[rows])

        height = max(_HESSIAN_HEIGHT, _SMALL_PRODUCT // (k * m) ** 2)
        hessian = self.family.assembled(add_blocks(task, self.probs.shape, entries=height * k))
        hessian[np.diag_indices_from(hessian)] += 2.0 * self.penalty.ravel()
        return hessian

    def _add_blocks(self, task: Callable[[slice], FloatArray]) -> FloatArray:
        return add_blocks(task, self.probs.shape, entries=self.family.entries, n_threads=self.family.n_threads)
