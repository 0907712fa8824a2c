"""What normal and Laplace predictive distributions have in common."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from calibrant._typing import FloatArray
from calibrant.forecasts.base import Distribution
from calibrant.forecasts.checks import as_columns, check_positive
from calibrant.forecasts.convolution import Profile, expected_kernel

Family = Literal["normal", "laplace"]

CROSS_MOMENT = 1.387830109602080355
"""Covariance of a standard normal and a standard Laplace variable that increase together: the integral of the product
of their quantile functions."""


@dataclass(frozen=True, eq=False, repr=False, init=False)
class LocationScale(Distribution):
    """Base of `Normal` and `Laplace`: all expectations between the two are in closed form."""

    loc: FloatArray
    scale: FloatArray

    family: ClassVar[Family]

    def __init__(self, loc: Any, scale: Any) -> None:
        (loc, scale), source = as_columns(loc=loc, scale=scale)
        check_positive("scale", scale)
        self._store(loc=loc, scale=scale, source=source)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.loc)

    def take(self, rows: Any) -> Self:
        """Return the laws of these rows (indices, a slice or a mask), in this order."""
        return self._trusted(loc=self.loc[rows], scale=self.scale[rows])

    def mean(self) -> FloatArray:
        """Return the means, of shape (n,)."""
        return self.loc

    def _standardise(self, y: FloatArray) -> FloatArray:
        """Return (y - loc) / scale, row by row."""
        y = np.asarray(y, dtype=np.float64)
        column = (slice(None), *(None,) * (y.ndim - 1))
        return (y - self.loc[column]) / self.scale[column]

    def _expect(self, profile: Profile, lengthscale: float, y: FloatArray) -> FloatArray:
        scales = self._by_family([(self, self.scale[:, None])])
        return expected_kernel(profile, lengthscale, self.loc[:, None] - y, *scales)

    def expectations_with(self, profile: Profile, lengthscale: float, other: Distribution) -> FloatArray:
        """Return E k(Z_i, Z'_j) for a partner that does not take precedence."""
        if not isinstance(other, LocationScale):
            raise self._no_pair(other, "closed form")
        scales = self._by_family([(self, self.scale[:, None]), (other, other.scale[None])])
        return expected_kernel(profile, lengthscale, self.loc[:, None] - other.loc, *scales)

    def distances_to(self, other: Distribution) -> FloatArray:
        """Return the 2-Wasserstein distances to a partner that does not take precedence."""
        if not isinstance(other, LocationScale) or type(other) is type(self):
            return super().distances_to(other)
        from scipy.spatial.distance import cdist

        return cdist(self.joint_points(), other.joint_points())

    def joint_points(self) -> FloatArray:
        """Return points whose distances are right between the two families as well as within each."""
        if self.family == "normal":
            return np.column_stack([self.loc, self.scale, np.zeros(self.n)])
        return np.column_stack([self.loc, CROSS_MOMENT * self.scale, np.sqrt(2 - CROSS_MOMENT**2) * self.scale])

    @staticmethod
    def _by_family(
        laws: Sequence[tuple["LocationScale", FloatArray]],
    ) -> tuple[list[FloatArray], list[FloatArray]]:
        """Return the scales of the normals and those of the Laplace laws."""
        normals = [scale for law, scale in laws if law.family == "normal"]
        return normals, [scale for law, scale in laws if law.family == "laplace"]
