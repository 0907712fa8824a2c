"""The likelihood of a softmax of linear scores, with its derivatives."""

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

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


Features = TypeVar("Features")


class Family(Protocol[Features]):
    """How logits depend on a vector of parameters: linearly, with features that depend on the scores of a row."""

    n_classes: int
    size: int
    """Number of parameters."""
    entries: int
    hessian_entries: int
    """Number of scores per block, and per block of a Hessian."""
    n_threads: int | None

    def features(self, rows: slice) -> Features:
        """Return the features of some rows, as the other methods take them."""

    def logits(self, parameters: FloatArray, features: Features) -> FloatArray:
        """Return logits, (n, K)."""

    def sums(self, factors: FloatArray, features: Features) -> FloatArray:
        """Return for each parameter the sum over rows and classes of its feature times a factor, from (n, K)."""

    def diagonal(self, probs: FloatArray, share: FloatArray, features: Features) -> FloatArray:
        """Return the contribution of some rows to the diagonal of the Hessian of the negative log-likelihood."""

    def curvature(self, probs: FloatArray, share: FloatArray, features: Features) -> FloatArray:
        """Return the sums over rows from which `assembled` builds that Hessian."""

    def assembled(self, curvature: FloatArray) -> FloatArray:
        """Return the Hessian, (size, size), from its sums over all rows."""


def _hessian_entries(n_classes: int, size: int) -> int:
    return max(_HESSIAN_HEIGHT, _SMALL_PRODUCT // size**2) * n_classes


def _variances(probs: FloatArray, share: FloatArray) -> FloatArray:
    """Return the weighted variances of the classes, (n, K)."""
    variances = 1.0 - probs
    variances *= probs
    variances *= share
    return variances


class Diagonal:
    """Every class has a factor for its own score, (n, K), and an intercept: the parameters are (K, 2), row by row."""

    def __init__(self, scores: FloatArray) -> None:
        self.scores, self.n_classes = scores, scores.shape[1]
        self.shape, self.size = (self.n_classes, 2), 2 * self.n_classes
        self.entries = 8 * BLOCK
        self.n_threads: int | None = None
        self.hessian_entries = _hessian_entries(self.n_classes, self.size)

    def features(self, rows: slice) -> FloatArray:
        """Return the scores."""
        return self.scores[rows]

    def logits(self, parameters: FloatArray, features: FloatArray) -> FloatArray:
        """Return logits, (n, K)."""
        factors, intercepts = parameters.reshape(self.shape).T
        logits = features * factors
        logits += intercepts
        return logits

    def sums(self, factors: FloatArray, features: FloatArray) -> FloatArray:
        """Return for each class the sums of factors times scores, and of factors."""
        return np.column_stack([np.einsum("ik,ik->k", factors, features), factors.sum(axis=0)]).ravel()

    def diagonal(self, probs: FloatArray, share: FloatArray, features: FloatArray) -> FloatArray:
        """Return the contribution of some rows to the diagonal of the Hessian."""
        variances = _variances(probs, share)
        squares = np.einsum("ik,ik->k", variances * features, features)
        return np.column_stack([squares, variances.sum(axis=0)]).ravel()

    def curvature(self, probs: FloatArray, share: FloatArray, features: FloatArray) -> FloatArray:
        """Return the contribution of some rows to the Hessian."""
        k, m = self.shape
        each = np.stack([probs * features, probs], axis=2).reshape(len(features), -1)
        hessian = -(each.T @ (each * share))
        weighted = probs * share
        once = self.sums(weighted, features).reshape(k, m)
        twice = np.einsum("ik,ik->k", weighted * features, features)
        own = np.stack([np.column_stack([twice, once[:, 0]]), once], axis=1)
        hessian.reshape(k, m, k, m)[np.arange(k), :, np.arange(k)] += own
        return hessian

    def assembled(self, curvature: FloatArray) -> FloatArray:
        """Return the sums, which are the Hessian itself."""
        return curvature


class Full:
    """Every class has a factor for each score, (n, K), and an intercept: the parameters are (K, K + 1), row by row."""

    def __init__(self, scores: FloatArray) -> None:
        self.n_classes = k = scores.shape[1]
        self.scores = np.column_stack([scores, np.ones(len(scores))])
        self.shape, self.size = (k, k + 1), k * (k + 1)
        # Small products run on threads of add_blocks; BLAS uses its own threads for large ones.
        height = _SMALL_PRODUCT // self.size
        small = height >= _LEAST_HEIGHT
        self.entries = height * k if small else _LARGE_BLOCK
        self.n_threads = None if small else 1
        self.hessian_entries = _hessian_entries(k, self.size)

    def features(self, rows: slice) -> FloatArray:
        """Return the scores and a column of ones."""
        return self.scores[rows]

    def logits(self, parameters: FloatArray, features: FloatArray) -> FloatArray:
        """Return logits, (n, K)."""
        return features @ parameters.reshape(self.shape).T

    def sums(self, factors: FloatArray, features: FloatArray) -> FloatArray:
        """Return for each class the sums of factors times features."""
        return (factors.T @ features).ravel()

    def diagonal(self, probs: FloatArray, share: FloatArray, features: FloatArray) -> FloatArray:
        """Return the contribution of some rows to the diagonal of the Hessian."""
        return (_variances(probs, share).T @ (features * features)).ravel()

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


class PenalisedLikelihood(Generic[Features]):
    r"""Mean negative log-likelihood of a softmax, plus a quadratic penalty: a convex function.

    .. math:: -\sum_i w_i \ln \mathrm{softmax}(z_i(x))_{y_i} / \sum_i w_i + \sum_j c_j (x_j - x^0_j)^2
              + (a - a^0)^\top B (a - a^0)

    where :math:`z_i(x)` are the logits of row i, and a are the first m parameters in x. In the code, c is `penalty`,
    :math:`x^0` is `target`, and B, (m, m), is `bends`.
    """

    def __init__(
        self,
        family: Family[Features],
        labels: IntArray,
        weights: FloatArray,
        *,
        penalty: FloatArray | float = 0.0,
        target: FloatArray | float = 0.0,
        bends: FloatArray | None = None,
    ) -> None:
        self.family, self.labels = family, labels
        self.share = (weights / weights.sum())[:, None]
        self.probs = np.empty((len(labels), family.n_classes))
        self.penalty, self.target = (np.broadcast_to(np.ravel(one), family.size) for one in (penalty, target))
        self.bends = np.empty((0, 0)) if bends is None else bends

    def __call__(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return value and gradient."""

        def task(rows: slice) -> FloatArray:
            features, share, labels, probs = self._rows(rows)
            residuals, loss = residuals_of(self.family.logits(x, features), labels, share, probs)
            return np.append(self.family.sums(residuals, features), loss)

        sums = self._add_blocks(task)
        away = x - self.target
        bent = away[: len(self.bends)]
        value = sums[-1] + np.sum(self.penalty * away * away) + bent @ self.bends @ bent
        return float(value), sums[:-1] + self._pull(away)

    def product(self, v: FloatArray) -> FloatArray:
        """Return the product of the Hessian with a vector."""

        def task(rows: slice) -> FloatArray:
            features, share, _, probs = self._rows(rows)
            change = self.family.logits(v, features)
            change -= over_classes(np.add, change * probs)
            change *= probs
            change *= share
            return self.family.sums(change, features)

        return self._add_blocks(task) + self._pull(v)

    def diagonal(self) -> FloatArray:
        """Return the diagonal of the Hessian."""

        def task(rows: slice) -> FloatArray:
            features, share, _, probs = self._rows(rows)
            return self.family.diagonal(probs, share, features)

        diagonal = self._add_blocks(task) + 2.0 * self.penalty
        diagonal[: len(self.bends)] += 2.0 * np.diag(self.bends)
        return diagonal

    def hessian(self) -> FloatArray:
        """Return the Hessian."""

        def task(rows: slice) -> FloatArray:
            features, share, _, probs = self._rows(rows)
            return self.family.curvature(probs, share, features)

        m = len(self.bends)
        hessian = self.family.assembled(add_blocks(task, self.probs.shape, entries=self.family.hessian_entries))
        hessian[:m, :m] += 2.0 * self.bends
        hessian[np.diag_indices_from(hessian)] += 2.0 * self.penalty
        return hessian

    def _rows(self, rows: slice) -> tuple[Features, FloatArray, IntArray, FloatArray]:
        return self.family.features(rows), self.share[rows], self.labels[rows], self.probs[rows]

    def _pull(self, away: FloatArray) -> FloatArray:
        """Return the gradient of the penalty at a distance from the target."""
        pull = 2.0 * self.penalty * away
        pull[: len(self.bends)] += 2.0 * (self.bends @ away[: len(self.bends)])
        return pull

    def _add_blocks(self, task: Callable[[slice], FloatArray]) -> FloatArray:
        return add_blocks(task, self.probs.shape, entries=self.family.entries, n_threads=self.family.n_threads)
