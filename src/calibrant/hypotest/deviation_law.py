"""Law of the deviations at test locations if targets are drawn from the predictions."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from calibrant._typing import FloatArray
from calibrant.discrepancy import Data, target_profile, tune
from calibrant.forecasts import Forecasts, target_kernel
from calibrant.kernels.base import unscaled
from calibrant.kernels.joint import TensorProduct, class_gram
from calibrant.metrics.mean_embedding import UCME
from calibrant.predictions import Predictions

BLOCK_CELLS = 2**20
"""Deviations are computed in blocks of rows that hold at most so many numbers."""

MOST_DRAWS, LEAST_DRAWS, ALL_DRAWS = 256, 8, 20_000
"""Draws from each forecast: so many at most, so many at least, and in between so many of all forecasts together."""

STREAM = 0x434D45
"""Sets the draws apart from those of a generator that a caller makes from the same seed, perhaps to draw targets."""


class DeviationLaw(ABC):
    """What the deviations of independent rows are under the hypothesis, by the possible outcomes of each row.

    Those of row i are multiplied by its weight.
    """

    @abstractmethod
    def covariance(self) -> FloatArray:
        """Return the mean over rows of E[d d'], for the deviations d of a row at J locations; of shape (J, J)."""

    @abstractmethod
    def projections(self, directions: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield, for blocks of b rows, probabilities of outcomes, (b, L), and their d' u for each of R directions u.

        Directions are of shape (J, R), the products of shape (b, L, R).
        """


def deviation_law(estimator: UCME, data: Data, weights: FloatArray | float = 1.0) -> DeviationLaw:
    """Return the law of weights times `estimator.deviations`: exact for classes, by draws for forecasts."""
    kernel: Any = tune(estimator.kernel, data)
    places, targets = estimator.locations(data)
    if isinstance(data, Predictions):
        return ClassDeviations(data, kernel.terms, places, targets, weights)
    return DrawnDeviations(data, kernel.terms, places, targets, weights)


class ClassDeviations(DeviationLaw):
    r"""Exact law for classes: the outcomes of a row are its K labels.

    Before its expectation is subtracted, the deviation of row i with label y is :math:`V_i C_y`, where V holds the
    kernel of the predictions at the M distinct places (for each tensor product) and :math:`C_y`, (M, J), the kernel of
    the targets. So no array of shape (n, K, J) is needed. Time O(n K M^2 + n J^2 + K M J^2).
    """

    def __init__(
        self,
        data: Predictions,
        terms: tuple[TensorProduct, ...],
        places: FloatArray,
        targets: Any,
        weights: FloatArray | float = 1.0,
    ) -> None:
        distinct, index = np.unique(places, axis=0, return_inverse=True)
        self.index, self.targets, self.probs = index.ravel(), targets, data.probs
        self.grams = [class_gram(term.targets, data.n_classes) for term in terms]
        factors = np.broadcast_to(weights, len(data.probs))[:, None]
        values = [factors * term.predictions.matrix(data.probs, distinct) for term in terms]
        self.values = np.hstack(values)
        self.means = np.sum(
            [v[:, self.index] * (data.probs @ g)[:, targets] for v, g in zip(values, self.grams, strict=True)], axis=0
        )

    def covariance(self) -> FloatArray:
        """Return the mean over rows of the covariances of the deviations."""
        total = -self.means.T @ self.means
        for label, probs in enumerate(self.probs.T):
            mixing = self._mixing(label)
            total += mixing.T @ ((self.values * probs[:, None]).T @ self.values) @ mixing
        return total / len(self.probs)

    def projections(self, directions: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield probabilities of the labels, and the deviations they would make along the directions."""
        n, n_classes = self.probs.shape
        mixed = np.stack([self._mixing(label) @ directions for label in range(n_classes)], axis=1)  # (M, K, R)
        for rows in _blocks(n, n_classes * directions.shape[1]):
            values = np.tensordot(self.values[rows], mixed, axes=1)
            yield self.probs[rows], values - (self.means[rows] @ directions)[:, None]

    def _mixing(self, label: int) -> FloatArray:
        n_places = self.values.shape[1] // len(self.grams)
        mixing = np.zeros((len(self.grams), n_places, len(self.index)))
        for part, gram in zip(mixing, self.grams, strict=True):
            part[self.index, np.arange(len(self.index))] = gram[label, self.targets]
        return mixing.reshape(-1, len(self.index))


class DrawnDeviations(DeviationLaw):
    """Law for forecasts, by draws from them with a fixed seed: the draws are equally likely outcomes.

    For Monte Carlo forecasts E[d d'] contains, rightly, the variance of their own expectations. Time and random numbers
    O(n L J) for L draws: 256 of each forecast up to 78 rows, then 20 000 of all together, 8 of each above 2500 rows.
    So variances have an error of about 1 %.
    """

    def __init__(
        self,
        data: Forecasts,
        terms: tuple[TensorProduct, ...],
        places: Any,
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
        """Yield equal probabilities of the draws, and the deviations they would make along the directions."""
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
