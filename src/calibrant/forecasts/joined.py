"""Distributions whose rows are laws of several kinds."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant.forecasts.convolution import Profile
from calibrant.forecasts.distribution import Distribution
from calibrant.forecasts.location_scale import Laplace, Normal
from calibrant.forecasts.mixture import Composed
from calibrant.forecasts.quantile_columns import Quantiles
from calibrant.forecasts.samples import Samples
from calibrant.forecasts.student import Student

PLAIN = (Normal, Laplace, Student, Samples)
"""Laws all of whose fields have one entry per row."""


def join(laws: Sequence[Distribution], places: Sequence[IntArray]) -> Distribution:
    """Return one distribution of the rows of several.

    Parameters
    ----------
    laws : sequence of Distribution
        On the same space.
    places : sequence of arrays of int
        For each of the laws, the indices of its rows in the result. Together they are 0 to n - 1.

    Examples
    --------
    >>> both = join([Normal([1.0, 3.0], 1.0), Normal([2.0], 5.0)], [np.array([0, 2]), np.array([1])])
    >>> both.mean().tolist()
    [1.0, 2.0, 3.0]
    """
    order = np.argsort(np.concatenate(places))
    first = laws[0]
    if isinstance(first, PLAIN) and all(type(law) is type(first) for law in laws):
        columns = {name: [getattr(law, name) for law in laws] for name in first.by_row}
        if all({part.shape[1:] for part in parts} == {parts[0].shape[1:]} for parts in columns.values()):
            whole = {name: np.concatenate(parts)[order] for name, parts in columns.items()}
            return first._trusted(**whole)  # noqa: SLF001 (rows of checked laws)
    if isinstance(first, Quantiles) and all(_has_columns_of(first, law) for law in laws):
        return first.with_values(np.concatenate([law.values for law in laws])[order])  # type: ignore[attr-defined]
    owner = np.concatenate([np.full(len(rows), k) for k, rows in enumerate(places)])[order]
    index = np.concatenate([np.arange(len(rows)) for rows in places])[order]
    return Joined._trusted(parts=tuple(laws), owner=owner, index=index)  # noqa: SLF001 (as above)


def _has_columns_of(first: Quantiles, law: Distribution) -> bool:
    """Return whether a law is given by quantiles at the same levels, with the same tails."""
    return isinstance(law, Quantiles) and np.array_equal(law.levels, first.levels) and law.tails == first.tails


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Joined(Composed):
    """Laws whose rows come from several distributions; made by `join`."""

    precedence = 4
    by_row = ("owner", "index")

    owner: IntArray
    index: IntArray

    @property
    def has_sd(self) -> bool:
        """Whether all parts have standard deviations."""
        return all(part.has_sd for part in self.parts)

    def affine(self, offset: FloatArray, factor: FloatArray) -> Distribution:
        """Return the laws of offset + factor Z."""
        found = [(law.affine(offset[rows], factor[rows]), rows) for rows, law in self._parts()]
        return join([law for law, _ in found], [rows for _, rows in found])

    def mean(self) -> FloatArray:
        """Return the means, of shape (n,) or (n, d)."""
        return self._by_part(lambda law, _: law.mean())

    def sd(self) -> FloatArray:
        """Return the standard deviations of each coordinate, of shape (n,) or (n, d)."""
        return self._by_part(lambda law, _: law.sd())

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` independent values from the law of every row: (n, size) or (n, size, d)."""
        return self._by_part(lambda law, _: law.sample(rng, size))

    def cdf(self, y: FloatArray) -> FloatArray:
        """Return P(Z <= y) for laws on the line; row i at y[i], which may hold one value or several."""
        y = np.asarray(y, dtype=np.float64)
        return self._by_part(lambda law, rows: law.cdf(y[rows]))

    def cdf_below(self, y: FloatArray) -> FloatArray:
        """Return P(Z < y)."""
        y = np.asarray(y, dtype=np.float64)
        return self._by_part(lambda law, rows: law.cdf_below(y[rows]))

    def inverse(self, levels: FloatArray) -> FloatArray:
        """Return the quantiles, (n, q), at levels of shape (q,), or of shape (n, q) if each row has its own."""
        return self._by_part(lambda law, rows: law.inverse(levels[rows] if levels.ndim == 2 else levels))

    def log_density(self, y: FloatArray) -> FloatArray:
        """Return the logarithm of the density; row i at y[i]."""
        y = np.asarray(y, dtype=np.float64)
        return self._by_part(lambda law, rows: law.log_density(y[rows]))

    def mean_distance(self, y: FloatArray) -> FloatArray:
        """Return ``E |Z_i - y_i|``, of shape (n,)."""
        return self._by_part(lambda law, rows: law.mean_distance(y[rows]))

    def mean_spread(self, *, fair: bool = False) -> FloatArray:
        """Return ``E |Z_i - Z'_i|`` for two independent draws from row i, of shape (n,)."""
        return self._by_part(lambda law, _: law.mean_spread(fair=fair))

    def differences_from(self, other: Distribution) -> FloatArray:
        """Return ``E |Z_i - Z'_i|`` for a partner that does not take precedence."""
        return self._by_part(lambda law, rows: law.mean_difference(other.take(rows)))

    def distances_to(self, other: Distribution) -> FloatArray:
        """Return the 2-Wasserstein distances to a partner that does not take precedence."""
        return self._by_part(lambda law, _: law.wasserstein(other))

    def _expect(self, profile: Profile, lengthscale: float, y: FloatArray) -> FloatArray:
        return self._by_part(lambda law, _: law.expect(profile, lengthscale, y))

    def expectations_with(self, profile: Profile, lengthscale: float, other: Distribution) -> FloatArray:
        """Return E k(Z_i, Z'_j) for a partner that does not take precedence."""
        return self._by_part(lambda law, _: law.expect_pair(profile, lengthscale, other))

    def _parts(self) -> Iterator[tuple[IntArray, Distribution]]:
        """Yield the rows that belong to each part, and their laws."""
        for k, part in enumerate(self.parts):
            rows = np.flatnonzero(self.owner == k)
            if len(rows):
                yield rows, part.take(self.index[rows])

    def _by_part(self, function: Callable[[Distribution, IntArray], FloatArray]) -> FloatArray:
        """Apply a function to the rows of each part, and return the results in the order of the rows."""
        found = [(rows, np.asarray(function(law, rows))) for rows, law in self._parts()]
        result = np.empty((self.n, *found[0][1].shape[1:]))
        for rows, values in found:
            result[rows] = values
        return result
