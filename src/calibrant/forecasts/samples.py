"""Ensembles: predictive distributions given by draws."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from calibrant._border.convert import convert
from calibrant._border.types import FloatArray, IntArray
from calibrant._core.blocks import slices
from calibrant.exceptions import InputError
from calibrant.forecasts import checks
from calibrant.forecasts.convolution import Profile, kernel_value
from calibrant.forecasts.distribution import Distribution
from calibrant.forecasts.transport import transport_cost

BLOCK_CELLS = 2**21
"""Number of pairs of draws whose kernel values are held in memory at a time."""


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Drawn(Distribution):
    """Base of the laws that are known by draws: expectations are averages over the draws."""

    precedence = 1
    by_row: ClassVar[tuple[str, ...]] = ("draws",)

    draws: FloatArray

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one target."""
        return self.draws.shape[2:]

    @property
    def n_draws(self) -> int:
        """Number of draws of each row."""
        return self.draws.shape[1]

    def mean(self) -> FloatArray:
        """Return the means of the draws, of shape (n,) or (n, d)."""
        return self.draws.mean(axis=1)

    def sd(self) -> FloatArray:
        """Return the standard deviations of the draws (divided by their number), of shape (n,) or (n, d)."""
        return self.draws.std(axis=1)

    def embed(self) -> FloatArray | None:
        """Return the quantiles of laws on the line, divided by the root of their number; None for vectors."""
        return None if self.event_shape else self.quantiles() / np.sqrt(self.n_draws)

    def quantiles(self) -> FloatArray:
        """Return the n_draws equally likely values, in ascending order, of laws on the line."""
        return np.sort(self.draws, axis=1)

    def inverse(self, levels: FloatArray) -> FloatArray:
        """Return the quantiles, (n, q), at levels of shape (q,), or of shape (n, q) if each row has its own."""
        ranks = member_ranks(levels, self.n_draws)
        return np.take_along_axis(np.sort(self.draws, axis=1), np.atleast_2d(ranks) - 1, axis=1)

    def mean_distance(self, y: FloatArray) -> FloatArray:
        """Return the mean distance of the draws of row i from y[i], of shape (n,)."""
        gaps = self.draws - y[:, None]
        return (np.sqrt(np.square(gaps).sum(axis=-1)) if self.event_shape else np.abs(gaps)).mean(axis=1)

    def differences_from(self, other: Distribution) -> FloatArray:
        """Return ``E |Z_i - Z'_i|`` for a partner that does not take precedence."""
        if isinstance(other, Drawn) and not self.event_shape:
            return mean_gap_between(self.draws, other.draws)
        return np.mean([other.mean_distance(self.draws[:, s]) for s in range(self.n_draws)], axis=0)

    def distances_to(self, other: Distribution) -> FloatArray:
        """Return the 2-Wasserstein distances to a partner that does not take precedence."""
        if not isinstance(other, Drawn):
            raise self._no_pair(other, "2-Wasserstein distance")
        if not self.event_shape:
            return _quantile_coupling(self.quantiles(), other.quantiles())
        squares = np.empty((self.n, other.n))
        left, right = (np.full(law.n_draws, 1 / law.n_draws) for law in (self, other))
        for part in self._blocks(other.n * other.n_draws):
            costs = np.square(distances(self.draws[part], other.draws)).transpose(0, 2, 1, 3)
            squares[part] = transport_cost(costs, left, right)
        return np.sqrt(squares)

    def _expect(self, profile: Profile, lengthscale: float, y: FloatArray) -> FloatArray:
        means = np.empty((self.n, len(y)))
        for part in self._blocks(len(y)):
            gaps = distances(self.draws[part], y[:, None])[..., 0]
            means[part] = kernel_value(profile, lengthscale, gaps).mean(axis=1)
        return means

    def expectations_with(self, profile: Profile, lengthscale: float, other: Distribution) -> FloatArray:
        """Return E k(Z_i, Z'_j) for a partner that does not take precedence."""
        means = np.empty((self.n, other.n))
        if isinstance(other, Drawn):
            for part in self._blocks(other.n * other.n_draws):
                gaps = distances(self.draws[part], other.draws)
                means[part] = kernel_value(profile, lengthscale, gaps).mean(axis=(1, 3))
            return means
        for part in self._blocks(other.n):
            points = self.draws[part].reshape(-1, *self.event_shape)
            values = other.expect(profile, lengthscale, points)
            means[part] = values.reshape(other.n, -1, self.n_draws).mean(axis=2).T
        return means

    def _blocks(self, n_partners: int) -> list[slice]:
        """Return slices of rows whose draws have about BLOCK_CELLS pairs with this many partners."""
        return slices(0, self.n, max(1, BLOCK_CELLS // (self.n_draws * n_partners)))


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Samples(Drawn):
    """Ensemble forecasts: each row predicts the law that puts equal mass on each of its draws.

    Parameters
    ----------
    draws : array-like of shape (n, m) or (n, m, d)
        m members of the ensemble per row; members are exchangeable, and not paired across rows.

    Examples
    --------
    >>> predicted = Samples([[0.0, 2.0], [4.0, 2.0]])
    >>> predicted.mean().tolist()
    [1.0, 3.0]
    >>> predicted.cdf([0.0, 3.0]).tolist()
    [0.5, 0.5]
    """

    def __init__(self, draws: object) -> None:
        raw = convert(draws, "draws")
        values = checks.as_numbers(raw, (2, 3), "(n, m) or (n, m, d), with m draws per row")
        if values.shape[2:] == (1,):
            values = values[..., 0]
        self._store(draws=values, source=checks.source_of([raw]))

    def affine(self, offset: FloatArray, factor: FloatArray) -> Self:
        """Return the laws of offset + factor Z: every member is moved."""
        factors = factor.reshape(-1, *(1,) * (self.draws.ndim - 1))
        return self._with(draws=offset[:, None] + factors * self.draws)

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` members of every row, with replacement: (n, size) or (n, size, d)."""
        members = rng.integers(self.n_draws, size=(self.n, size))
        return self.draws[np.arange(self.n)[:, None], members]

    def cdf(self, y: FloatArray) -> FloatArray:
        """Return the share of draws that are at most y; row i at y[i], which may hold one value or several."""
        return self._share(y, np.less_equal)

    def cdf_below(self, y: FloatArray) -> FloatArray:
        """Return the share of draws that are less than y."""
        return self._share(y, np.less)

    def mean_spread(self, *, fair: bool = False) -> FloatArray:
        """Return the mean distance of two draws of a row, (n,), drawn with replacement or, if `fair`, without."""
        if fair and self.n_draws < 2:
            raise InputError(
                'the fair spread of an ensemble needs at least two members, but there is one. Use "empirical".'
            )
        spread = self.differences_from(self) if self.event_shape else mean_gap(self.draws)
        return spread * (self.n_draws / (self.n_draws - 1)) if fair else spread

    def _share(self, y: FloatArray, compare: np.ufunc) -> FloatArray:
        if self.event_shape:
            return super().cdf(y)
        y = np.asarray(y, dtype=np.float64)
        columns = y.reshape(self.n, -1)
        shares = np.stack([compare(self.draws, column[:, None]).mean(axis=1) for column in columns.T], axis=1)
        return shares.reshape(y.shape)


def member_ranks(levels: FloatArray, n_draws: int) -> IntArray:
    """Return the rank, from 1, of the member that is the quantile at each level.

    It is the smallest member such that at least that share of the members is not larger.

    Examples
    --------
    >>> member_ranks(np.array([0.05, 0.5, 0.95]), 20).tolist()
    [1, 10, 19]
    """
    # Rounded first, since 100 * 0.07 is a little more than 7.
    return np.ceil(np.round(levels * n_draws, 9)).astype(np.int64)


def distances(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return all Euclidean distances between draws of shapes (n, m[, d]) and (n', m'[, d]), as (n, m, n', m')."""
    if left.ndim == 2:
        return np.abs(left[:, :, None, None] - right)
    from scipy.spatial.distance import cdist

    flat = cdist(left.reshape(-1, left.shape[2]), right.reshape(-1, right.shape[2]))
    return flat.reshape(*left.shape[:2], *right.shape[:2])


def _quantile_coupling(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the 2-Wasserstein distances of laws on the line with equally likely, ascending values."""
    from scipy.spatial.distance import cdist

    m, k = left.shape[1], right.shape[1]
    # Both quantile functions are constant between the levels i / m and j / k; in units of 1 / (m k) these are whole.
    levels = np.union1d(k * np.arange(m + 1), m * np.arange(k + 1))
    roots = np.sqrt(np.diff(levels) / (m * k))
    return cdist(left[:, levels[:-1] // k] * roots, right[:, levels[:-1] // m] * roots)


def mean_gap(draws: FloatArray) -> FloatArray:
    """Return the mean of |x - x'| over all pairs of draws of a row, a draw with itself included; draws are (n, m)."""
    m = draws.shape[1]
    share = np.arange(1, m) / m
    return np.diff(np.sort(draws, axis=1), axis=1) @ (2 * share * (1 - share))


def mean_gap_between(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the mean of |x - x'| over all pairs of a draw in `left`, (n, m), and one in `right`, (n, k), row by row.

    It is the integral of F (1 - G) + G (1 - F), where F and G are the two distribution functions.
    """
    m, k = left.shape[1], right.shape[1]
    both = np.concatenate([left, right], axis=1)
    order = np.argsort(both, axis=1)
    below = np.cumsum(order < m, axis=1)[:, :-1]
    f, g = below / m, (np.arange(1, m + k) - below) / k
    return (np.diff(np.take_along_axis(both, order, axis=1), axis=1) * (f * (1 - g) + g * (1 - f))).sum(axis=1)
