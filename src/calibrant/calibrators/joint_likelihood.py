"""The likelihood of a softmax whose logits are linear in shared and in class-specific parameters."""

from collections.abc import Callable

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant._core.blocks import add_blocks
from calibrant._core.softmax import residuals_of
from calibrant.calibrators.softmax import Full, residual_changes

_MOST_KEPT = 1 << 23
"""At most this many numbers (64 MB) are kept from one step of the search to the next."""

_HEIGHT = 256
"""Rows per block, such that products of their features stay in the cache."""

SharedFeatures = Callable[[slice], FloatArray]
"""The features of the shared parameters, (m, n, K), for a slice of rows."""


class JointLikelihood:
    r"""Mean negative log-likelihood of shared parameters a and a matrix X, plus a quadratic penalty.

    .. math:: -\sum_i w_i \ln \mathrm{softmax}\Big(\sum_m a_m s_{mi} + X (v_i, 1)\Big)_{y_i} / \sum_i w_i
              + (x - x_0)^\top P (x - x_0)

    where :math:`x` is a followed by the entries of X. It is convex, because the logits are linear in x.

    Parameters
    ----------
    shared : callable
        Returns s for a slice of rows.
    scores : array of shape (n, K)
        v.
    labels, weights : arrays of shape (n,)
    bends : array of shape (m, m)
        The block of P that belongs to a.
    squares : array of shape (K, K + 1)
        The diagonal of the rest of P; all else is 0.
    target : array of shape (m + K (K + 1),)
    """

    def __init__(
        self,
        shared: SharedFeatures,
        scores: FloatArray,
        labels: IntArray,
        weights: FloatArray,
        *,
        bends: FloatArray,
        squares: FloatArray,
        target: FloatArray,
    ) -> None:
        self.labels, self.bends, self.squares, self.target = labels, bends, squares, target
        self.family = Full(scores.shape[1])
        self.features = self.family.features(scores)
        self.share = (weights / weights.sum())[:, None]
        self.probs = np.empty(scores.shape)
        self.n_shared = len(bends)
        self._make, self._kept = shared, dict[int, FloatArray]()
        self._is_small = self.n_shared * scores.size <= _MOST_KEPT

    def __call__(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return value and gradient."""

        def task(rows: slice) -> FloatArray:
            share, labels, probs = self.share[rows], self.labels[rows], self.probs[rows]
            shared = self.shared(rows)
            residuals, loss = residuals_of(self._logits(x, shared, rows), labels, share, probs)
            return np.append(self._sums(residuals, shared, rows), loss)

        sums = self._add_blocks(task)
        bend = self._penalised(x - self.target)
        return float(sums[-1] + (x - self.target) @ bend), sums[:-1] + 2.0 * bend

    def product(self, v: FloatArray) -> FloatArray:
        """Return the product of the Hessian with a vector."""

        def task(rows: slice) -> FloatArray:
            probs, shared = self.probs[rows], self.shared(rows)
            change = residual_changes(self._logits(v, shared, rows), probs, self.share[rows])
            return self._sums(change, shared, rows)

        return self._add_blocks(task) + 2.0 * self._penalised(v)

    def diagonal(self) -> FloatArray:
        """Return the diagonal of the Hessian."""

        def task(rows: slice) -> FloatArray:
            probs, share, shared = self.probs[rows], self.share[rows], self.shared(rows)
            weighted = shared * probs
            means = weighted.sum(axis=2)
            weighted *= shared
            of_shared = (weighted.sum(axis=2) - means * means) @ share[:, 0]
            return np.append(of_shared, self.family.squares(probs * (1.0 - probs) * share, self.features[rows]))

        return self._add_blocks(task) + 2.0 * np.append(np.diag(self.bends), self.squares)

    def hessian(self) -> FloatArray:
        """Return the Hessian."""
        m, (k, width) = self.n_shared, self.family.shape

        def task(rows: slice) -> FloatArray:
            probs, share, features, shared = self.probs[rows], self.share[rows], self.features[rows], self.shared(rows)
            away = shared - np.einsum("mik,ik->mi", shared, probs)[:, :, None]
            away *= probs * share
            of_shared = away.reshape(m, -1) @ shared.reshape(m, -1).T
            mixed = away.swapaxes(1, 2) @ features
            curvature = self.family.curvature(probs, share, features)
            return np.concatenate([part.ravel() for part in (of_shared, mixed, curvature)])

        of_shared, mixed, curvature = np.split(self._add_blocks(task), [m * m, m * m + m * k * width])
        hessian = np.empty((m + k * width, m + k * width))
        hessian[:m, :m] = of_shared.reshape(m, m)
        hessian[:m, m:] = mixed.reshape(m, -1)
        hessian[m:, :m] = hessian[:m, m:].T
        hessian[m:, m:] = self.family.assembled(curvature.reshape(-1, width * (width + 1) // 2))
        hessian[:m, :m] += 2.0 * self.bends
        hessian[np.arange(m, len(hessian)), np.arange(m, len(hessian))] += 2.0 * self.squares.ravel()
        return hessian

    def shared(self, rows: slice) -> FloatArray:
        """Return the features of the shared parameters, which are kept between steps if they fit into memory."""
        if not self._is_small:
            return self._make(rows)
        if rows.start not in self._kept:
            self._kept[rows.start] = self._make(rows)
        return self._kept[rows.start]

    def _logits(self, x: FloatArray, shared: FloatArray, rows: slice) -> FloatArray:
        return joint_logits(
            x[: self.n_shared], shared, x[self.n_shared :].reshape(self.family.shape), self.features[rows]
        )

    def _sums(self, factors: FloatArray, shared: FloatArray, rows: slice) -> FloatArray:
        """Return for every parameter the sum over rows and classes of the factors times its feature."""
        of_shared = shared.reshape(self.n_shared, -1) @ factors.ravel()
        return np.append(of_shared, self.family.sums(factors, self.features[rows]))

    def _penalised(self, x: FloatArray) -> FloatArray:
        return np.append(self.bends @ x[: self.n_shared], self.squares.ravel() * x[self.n_shared :])

    def _add_blocks(self, task: Callable[[slice], FloatArray]) -> FloatArray:
        return add_blocks(task, self.probs.shape, entries=_HEIGHT * self.family.shape[0])


def joint_logits(parameters: FloatArray, shared: FloatArray, matrix: FloatArray, features: FloatArray) -> FloatArray:
    """Return the logits, (n, K), of shared parameters, (m,), and a matrix, (K, K + 1), for their features."""
    logits = features @ matrix.T
    logits += (parameters @ shared.reshape(len(parameters), -1)).reshape(logits.shape)
    return logits
