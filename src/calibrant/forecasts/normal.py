"""Normal predictive distributions."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.forecasts.location_scale import Family, LocationScale


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Normal(LocationScale):
    """Normal predictive distributions.

    Parameters
    ----------
    loc : array-like of shape (n,), or float
        Means.
    scale : array-like of shape (n,), or float
        Standard deviations.

    Examples
    --------
    >>> predicted = Normal([0.0, 3.0], scale=[1.0, 5.0])
    >>> predicted.wasserstein(predicted)[0].tolist()
    [0.0, 5.0]
    >>> predicted.cdf([0.0, 3.0]).tolist()
    [0.5, 0.5]
    """

    family: ClassVar[Family] = "normal"
    spread: ClassVar[float] = 2 / math.sqrt(math.pi)

    def sd(self) -> FloatArray:
        """Return the standard deviations, of shape (n,)."""
        return self.scale

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` independent values from the law of every row: (n, size)."""
        return self.loc[:, None] + self.scale[:, None] * rng.standard_normal((self.n, size))

    def cdf(self, y: FloatArray) -> FloatArray:
        """Return P(Z <= y); row i at y[i], which may hold one value or several."""
        from scipy.special import ndtr

        return ndtr(self._standardise(y))

    def standard_quantiles(self, levels: FloatArray) -> FloatArray:
        """Return the quantiles of the standard normal law."""
        from scipy.special import ndtri

        return ndtri(levels)

    def standard_log_density(self, z: FloatArray) -> FloatArray:
        """Return the logarithm of the standard normal density."""
        return -0.5 * (z * z + np.log(2 * np.pi))

    def embed(self) -> FloatArray:
        """Return (mean, standard deviation)."""
        return np.column_stack([self.loc, self.scale])
