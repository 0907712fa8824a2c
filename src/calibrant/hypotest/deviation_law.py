"""Law of the deviations at test locations under calibration, when targets are drawn from the predictions."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant.forecasts import Distribution, Forecasts, target_kernel
from calibrant.kernels.algebra import TensorProduct, unscaled
from calibrant.kernels.discrepancy import Data, target_profile
from calibrant.kernels.targets import gram_of
from calibrant.metrics.ucme import UCME
from calibrant.predictions import Predictions

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

BLOCK_CELLS = 2**20
"""Deviations are computed in blocks of rows that hold at most this many numbers."""

MOST_DRAWS, LEAST_DRAWS, ALL_DRAWS = 256, 8, 20_000
"""Draws per forecast, at most and at least; between these limits, the total over all forecasts."""

CANCELLATION = 1e-14
"""Rounding error of a difference, relative to its terms."""

STREAM = 0x434D45
"""Keeps the draws different from those of a generator that a caller builds from the same seed, say for targets."""


class DeviationLaw(ABC):
    """Law of the deviations of independent rows under calibration, given by the possible outcomes of each row.

    The deviations of row i are multiplied by its weight.
    """

    targets: FloatArray | IntArray

    @property
    def n_locations(self) -> int:
        """Number J of test locations."""
        return len(self.targets)

    @abstractmethod
    def covariance(self) -> FloatArray:
        """Return the mean over rows of E[d d'], for the deviations d of a row at J locations; of shape (J, J)."""

    @property
    def rounding(self) -> float:
        """Variances up to this are rounding."""
        return 0.0

    def operator(self) -> "FloatArray | LinearOperator":
        """Return the covariance in the form that multiplies vectors, (J,), fastest: a matrix or a linear operator."""
        return self.covariance()

    @abstractmethod
    def projections(self, directions: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield, for blocks of b rows, probabilities of outcomes, (b, L), and their d' u for each of R directions u.

        Directions are of shape (J, R), the products of shape (b, L, R).
        """


def deviation_law(estimator: UCME, data: Data, weights: FloatArray | float = 1.0) -> DeviationLaw:
    """Return the law of weights times `estimator.deviations`: exact for classes, by draws for forecasts."""
    terms = estimator.terms(data)
    if isinstance(data, Predictions):
        return ClassDeviations(data, terms, *estimator.class_locations(data), weights)
    places, targets = estimator.forecast_locations(data)
    return DrawnDeviations(data, terms, places, targets, weights)


class ClassDeviations(DeviationLaw):
    r"""Exact law for classes: the outcomes of a row are its K labels.

    Before its expectation is subtracted, the deviation of row i with label y is :math:`V_i C_y`, where V holds the
    kernel of the predictions at the M distinct places (for each tensor product) and :math:`C_y`, (M, J), the kernel of
    the targets, with one entry per column. So no array of shape (n, K, J) is needed. The covariance takes
    O(n K M^2 + n J^2), and O(K J^2) more unless the kernel of the targets is white; a product with it O(n K M).
    """

    targets: IntArray

    def __init__(
        self,
        data: Predictions,
        terms: tuple[TensorProduct, ...],
        places: FloatArray,
        index: IntArray,
        targets: IntArray,
        weights: FloatArray | float = 1.0,
    ) -> None:
        self.index, self.targets, self.probs = index, targets, data.probs
        self.grams = [gram_of(term.targets, data.n_classes) for term in terms]
        factors = np.broadcast_to(weights, len(data.probs))[:, None]
        values = [factors * term.predictions.matrix(data.probs, places) for term in terms]
        self.values = np.hstack(values)
        self.means = np.sum(
            [v[:, index] * g.times(data.probs)[:, targets] for v, g in zip(values, self.grams, strict=True)], axis=0
        )

    @property
    def n_places(self) -> int:
        """Number M of distinct places."""
        return self.values.shape[1] // len(self.grams)

    @property
    def rounding(self) -> float:
        """Rounding error of the variances, which are differences of squared means."""
        return CANCELLATION * float(np.abs(self.means).max()) ** 2

    def covariance(self) -> FloatArray:
        """Return the mean over rows of the covariances of the deviations."""
        total = -self.means.T @ self.means
        for label, probs in enumerate(self.probs.T):
            products = (self.values * probs[:, None]).T @ self.values
            parts = [
                (gram.row(label, self.targets), self.n_places * t + self.index) for t, gram in enumerate(self.grams)
            ]
            for (left, rows), (right, columns) in product(parts, parts):
                i, j = np.flatnonzero(left), np.flatnonzero(right)  # One location in K for a white kernel.
                total[np.ix_(i, j)] += left[i, None] * products[np.ix_(rows[i], columns[j])] * right[j]
        return total / len(self.probs)

    def operator(self) -> "FloatArray | LinearOperator":
        """Return the matrix if there are more rows than locations, else an operator that sums over rows."""
        from scipy.sparse.linalg import LinearOperator

        size = len(self.targets)
        return self.covariance() if len(self.probs) > size else LinearOperator((size, size), self._times, dtype=float)

    def _times(self, vector: FloatArray) -> FloatArray:
        """Return the product of the covariance with a vector, (J,)."""
        n, n_classes = self.probs.shape
        spread = np.zeros((self.n_places, n_classes))
        np.add.at(spread, (self.index, self.targets), vector.ravel())
        by_label = self.values @ np.vstack([gram.times(spread) for gram in self.grams])
        by_label -= np.einsum("nk,nk->n", self.probs, by_label)[:, None]
        sums = np.split(self.values.T @ (self.probs * by_label), len(self.grams))
        total = np.sum([gram.times(part) for part, gram in zip(sums, self.grams, strict=True)], axis=0)
        return total[self.index, self.targets] / n

    def projections(self, directions: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield probabilities of the labels, and their deviations along the directions."""
        n, n_classes = self.probs.shape
        mixed = self._mixed(directions)
        for rows in _blocks(n, n_classes * directions.shape[1]):
            values = np.tensordot(self.values[rows], mixed, axes=1)
            yield self.probs[rows], values - (self.means[rows] @ directions)[:, None]

    def _mixed(self, directions: FloatArray) -> FloatArray:
        """Return the kernel of the targets along the directions, by place and label, (M, K, R)."""
        n_classes = self.probs.shape[1]
        if any(gram.matrix is not None for gram in self.grams):
            return np.stack([self._mixing(label) @ directions for label in range(n_classes)], axis=1)
        spread = np.zeros((self.n_places, n_classes, directions.shape[1]))
        np.add.at(spread, (self.index, self.targets), directions)
        return np.vstack([gram.scale * spread for gram in self.grams])

    def _mixing(self, label: int) -> FloatArray:
        mixing = np.zeros((len(self.grams), self.n_places, len(self.index)))
        for part, gram in zip(mixing, self.grams, strict=True):
            part[self.index, np.arange(len(self.index))] = gram.row(label, self.targets)
        return mixing.reshape(-1, len(self.index))


class DrawnDeviations(DeviationLaw):
    """Law for forecasts, by draws from them with a fixed seed: the draws are equally likely outcomes.

    For Monte Carlo forecasts E[d d'] contains, rightly, the variance of their own expectations. Time and random numbers
    O(n L J) for L draws per forecast: 256 up to 78 rows, then 20 000 in total, and 8 above 2500 rows. So variances have
    an error of about 1%.
    """

    targets: FloatArray

    def __init__(
        self,
        data: Forecasts,
        terms: tuple[TensorProduct, ...],
        places: Distribution,
        targets: FloatArray,
        weights: FloatArray | float = 1.0,
    ) -> None:
        n_draws = min(MOST_DRAWS, max(LEAST_DRAWS, ALL_DRAWS // data.n_samples))
        rng = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(STREAM,)))
        self.draws, self.targets = data.distribution.sample(rng, n_draws), targets
        self.parts = []
        for term in terms:
            scale, kernel = unscaled(term.targets)
            profile, lengthscale = target_profile(kernel)
            expected = data.distribution.expect(profile, lengthscale, targets)
            values = scale * term.predictions.matrix(data.distribution, places)
            values *= np.broadcast_to(weights, len(values))[:, None]
            self.parts.append((values, expected, profile, lengthscale))

    def covariance(self) -> FloatArray:
        """Return the mean of d d' over rows and draws."""
        n, n_draws = self.draws.shape[:2]
        total = np.zeros((len(self.targets),) * 2)
        for rows in _blocks(n, n_draws * len(self.targets)):
            deviations = self._deviations(rows).reshape(-1, len(self.targets))
            total += deviations.T @ deviations
        return total / (n * n_draws)

    def projections(self, directions: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield equal probabilities of the draws, and their deviations along the directions."""
        n, n_draws = self.draws.shape[:2]
        for rows in _blocks(n, n_draws * len(self.targets)):
            values = self._deviations(rows) @ directions
            yield np.full(values.shape[:2], 1 / n_draws), values

    def _deviations(self, rows: slice) -> FloatArray:
        """Return the deviations of all draws of some rows, (b, L, J)."""
        draws = self.draws[rows]
        flat = draws.reshape(-1, *draws.shape[2:])
        total = np.zeros((*draws.shape[:2], len(self.targets)))
        for values, expected, profile, lengthscale in self.parts:
            kernel = target_kernel(profile, lengthscale, flat, self.targets).reshape(total.shape)
            total += values[rows, None] * (kernel - expected[rows, None])
        return total


def _blocks(n: int, cells: int) -> Iterator[slice]:
    step = max(1, BLOCK_CELLS // cells)
    return (slice(start, min(start + step, n)) for start in range(0, n, step))
