"""Predictive distributions that differ by location and scale: normal, Laplace, and their bases."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.forecasts.checks import as_columns, check_positive
from calibrant.forecasts.convolution import Profile, expected_kernel, mean_absolute
from calibrant.forecasts.distribution import Distribution

Family = Literal["normal", "laplace"]

CROSS_MOMENT = 1.387830109602080355
"""Covariance of a standard normal and a standard Laplace variable that increase together: the integral of the product
of their quantile functions."""


@dataclass(frozen=True, eq=False, repr=False, init=False)
class LocationScale(Distribution):
    """Base of the laws with a location, which is their mean, and a scale."""

    by_row: ClassVar[tuple[str, ...]] = ("loc", "scale")
    has_density = True

    loc: FloatArray
    scale: FloatArray

    def affine(self, offset: FloatArray, factor: FloatArray) -> Self:
        """Return the laws of offset + factor Z."""
        return self._with(loc=offset + factor * self.loc, scale=factor * self.scale)

    def mean(self) -> FloatArray:
        """Return the means, of shape (n,)."""
        return self.loc

    def _standardise(self, y: FloatArray) -> FloatArray:
        """Return (y - loc) / scale, row by row."""
        y = np.asarray(y, dtype=np.float64)
        return (y - as_column(self.loc, y.ndim)) / as_column(self.scale, y.ndim)

    @np.errstate(all="ignore")  # Far in the tails the square may overflow, and the density is 0.
    def log_density(self, y: FloatArray) -> FloatArray:
        """Return the logarithm of the density; row i at y[i], which may hold one value or several."""
        return self.standard_log_density(self._standardise(y)) - np.log(as_column(self.scale, np.ndim(y)))

    @abstractmethod
    def standard_log_density(self, z: FloatArray) -> FloatArray:
        """Return the logarithm of the density of the law with loc 0 and scale 1."""

    def inverse(self, levels: FloatArray) -> FloatArray:
        """Return the quantiles, (n, q), at levels of shape (q,), or of shape (n, q) if each row has its own."""
        return self.loc[:, None] + self.scale[:, None] * self.standard_quantiles(levels)

    @abstractmethod
    def standard_quantiles(self, levels: FloatArray) -> FloatArray:
        """Return the quantiles of the law with loc 0 and scale 1."""


@dataclass(frozen=True, eq=False, repr=False, init=False)
class ClosedForm(LocationScale):
    """Base of `Normal` and `Laplace`: all expectations between the two are in closed form."""

    family: ClassVar[Family]
    spread: ClassVar[float]
    """Mean absolute difference of two draws at scale 1."""

    def __init__(self, loc: object, scale: object) -> None:
        (loc, scale), source = as_columns(loc=loc, scale=scale)
        check_positive("scale", scale)
        self._store(loc=loc, scale=scale, source=source)

    def mean_distance(self, y: FloatArray) -> FloatArray:
        """Return ``E |Z_i - y_i|``, of shape (n,)."""
        return mean_absolute(self.loc - y, *self._by_family([(self, self.scale)]))

    def mean_spread(self, *, fair: bool = False) -> FloatArray:  # noqa: ARG002 (matters for ensembles)
        """Return ``E |Z_i - Z'_i|`` for two independent draws from row i, of shape (n,)."""
        return self.spread * self.scale

    def differences_from(self, other: Distribution) -> FloatArray:
        """Return ``E |Z_i - Z'_i|`` for a partner that does not take precedence."""
        if not isinstance(other, ClosedForm):
            raise self._no_pair(other, "mean difference")
        return mean_absolute(self.loc - other.loc, *self._by_family([(self, self.scale), (other, other.scale)]))

    def _expect(self, profile: Profile, lengthscale: float, y: FloatArray) -> FloatArray:
        scales = self._by_family([(self, self.scale[:, None])])
        return expected_kernel(profile, lengthscale, self.loc[:, None] - y, *scales)

    def expectations_with(self, profile: Profile, lengthscale: float, other: Distribution) -> FloatArray:
        """Return E k(Z_i, Z'_j) for a partner that does not take precedence."""
        if not isinstance(other, ClosedForm):
            raise self._no_pair(other, "closed form")
        scales = self._by_family([(self, self.scale[:, None]), (other, other.scale[None])])
        return expected_kernel(profile, lengthscale, self.loc[:, None] - other.loc, *scales)

    def distances_to(self, other: Distribution) -> FloatArray:
        """Return the 2-Wasserstein distances to a partner that does not take precedence."""
        if not isinstance(other, ClosedForm) or type(other) is type(self):
            return super().distances_to(other)
        from scipy.spatial.distance import cdist

        return cdist(self.joint_points(), other.joint_points())

    def joint_points(self) -> FloatArray:
        """Return points whose distances are the 2-Wasserstein distances, within and between the two families."""
        if self.family == "normal":
            return np.column_stack([self.loc, self.scale, np.zeros(self.n)])
        return np.column_stack([self.loc, CROSS_MOMENT * self.scale, np.sqrt(2 - CROSS_MOMENT**2) * self.scale])

    @staticmethod
    def _by_family(laws: Sequence[tuple["ClosedForm", FloatArray]]) -> tuple[list[FloatArray], list[FloatArray]]:
        """Return the scales of the normals and those of the Laplace laws."""
        normals = [scale for law, scale in laws if law.family == "normal"]
        return normals, [scale for law, scale in laws if law.family == "laplace"]


def as_column(values: FloatArray, ndim: int) -> FloatArray:
    """Return one value per row as an array of `ndim` axes, all but the first of length 1."""
    return values.reshape(-1, *(1,) * (ndim - 1))


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Normal(ClosedForm):
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

    family = "normal"
    spread = 2 / math.sqrt(math.pi)

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


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Laplace(ClosedForm):
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

    family = "laplace"
    spread = 1.5

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
