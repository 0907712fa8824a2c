"""Laplace predictive distributions."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.forecasts.location_scale import Family, LocationScale


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Laplace(LocationScale):
    """Laplace (double exponential) predictive distributions.

    Parameters
    ----------
    loc : array-like of shape (n,), or float
        Means, which are also the medians.
    scale : array-like of shape (n,), or float
        Mean absolute deviations; the standard deviations are sqrt(2) times as large.

    Examples
    --------
    >>> predicted = Laplace([0.0, 3.0], scale=1.0)
    >>> predicted.wasserstein(predicted)[0].tolist()
    [0.0, 3.0]
    """

    family: ClassVar[Family] = "laplace"
    spread: ClassVar[float] = 1.5

    def sd(self) -> FloatArray:
        """Return the standard deviations, of shape (n,)."""
        return np.sqrt(2) * self.scale

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` independent values from the law of every row: (n, size)."""
        return self.loc[:, None] + self.scale[:, None] * rng.laplace(size=(self.n, size))

    @np.errstate(all="ignore")  # The tails may underflow.
    def cdf(self, y: FloatArray) -> FloatArray:
        """Return P(Z <= y); row i at y[i], which may hold one value or several."""
        z = self._standardise(y)
        tail = np.exp(-np.abs(z)) / 2
        return np.where(z < 0, tail, 1 - tail)

    def standard_quantiles(self, levels: FloatArray) -> FloatArray:
        """Return the quantiles of the Laplace law with mean 0 and scale 1."""
        return np.sign(levels - 0.5) * -np.log(2 * np.minimum(levels, 1 - levels))

    def standard_log_density(self, z: FloatArray) -> FloatArray:
        """Return the logarithm of the density of the Laplace law with mean 0 and scale 1."""
        return -np.abs(z) - np.log(2)

    def embed(self) -> FloatArray:
        """Return (mean, standard deviation)."""
        return np.column_stack([self.loc, self.sd()])
