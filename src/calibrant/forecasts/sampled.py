"""Distributions known by random draws, by Monte Carlo."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from calibrant._border.numerals import as_given
from calibrant._border.types import BoolArray, FloatArray, IntArray
from calibrant.exceptions import InputError
from calibrant.forecasts.checks import LARGEST, fail_at
from calibrant.forecasts.convolution import Profile, kernel_value
from calibrant.forecasts.distribution import Distribution
from calibrant.forecasts.samples import Drawn, Samples, distances

STREAM = 0x466F7265
"""Keeps the draws apart from those of a caller's generator with the same seed, for example one that draws targets."""


@dataclass(frozen=True, eq=False, repr=False, init=False)
class MonteCarlo(Drawn):
    """Predictive distributions known by their random draws, such as a frozen distribution of scipy.stats.

    Parameters
    ----------
    dist : object
        Has `rvs(size, random_state)`, with parameters of length n or common to all rows. If it has `cdf` and `ppf`,
        the distribution function and Wasserstein distances use them.
    n_draws : int, default=256
        Even number of draws of each row.
    seed : int, default=0
        The same seed gives the same draws.
    n : int, optional
        Number of rows; by default as many as `dist.rvs()` returns numbers. `Forecasts` passes the number of targets.

    Notes
    -----
    The draws are independent of each other and of the targets. For pairs of rows, draw s of one row meets draw
    s + n_draws / 2 of the other, cyclically. So every expectation is unbiased, even for a row with itself. The draws
    are part of the row: tests of calibration keep their level and only lose power. `batches` gives standard errors.

    Examples
    --------
    >>> from scipy.stats import t
    >>> predicted = MonteCarlo(t(df=5, loc=[0.0, 1.0, 2.0]))
    >>> predicted.n, predicted.is_exact
    (3, False)
    >>> predicted.cdf([0.0, 1.0, 2.0]).tolist()
    [0.5, 0.5, 0.5]
    """

    precedence = 2
    by_row = ("draws", "rows")
    is_exact = False

    dist: Any
    rows: IntArray
    n_laws: int

    def __init__(self, dist: object, n_draws: int = 256, seed: int = 0, n: int | None = None) -> None:
        if not callable(getattr(dist, "rvs", None)):
            raise TypeError(
                f"dist must have a method rvs(size, random_state), but is a {type(dist).__name__}. Pass a frozen "
                "distribution of scipy.stats, or your own draws as Samples(draws)."
            )
        if isinstance(n_draws, bool) or not isinstance(n_draws, (int, np.integer)) or n_draws < 2 or n_draws % 2:
            raise InputError(f"n_draws must be an even number of at least 2, but is {n_draws!r}.")
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
            raise InputError(f"seed must be a whole number of at least 0, but is {seed!r}.")
        n = _count_rows(dist) if n is None else n
        # Separate streams, so that draws that meet are independent even if two distributions share a seed.
        streams = [np.random.SeedSequence(seed, spawn_key=(STREAM, half)) for half in (0, 1)]
        halves = [_draw(dist, (n_draws // 2, n), np.random.default_rng(stream)) for stream in streams]
        draws = np.ascontiguousarray(np.concatenate(halves).swapaxes(0, 1))
        bad = ~(np.abs(draws) <= LARGEST)
        if bad.any():
            fail_at(
                "draws of dist", draws, bad, f"must be finite and at most {as_given(LARGEST)}", "Check its parameters."
            )
        self._store(dist=dist, draws=draws, rows=np.arange(n), n_laws=n)

    def batches(self, n_batches: int) -> list[Self]:
        """Split the draws into disjoint shares of equal size: the same laws, `n_batches` times."""
        half = self.n_draws // 2
        if n_batches < 1 or half % n_batches:
            raise InputError(f"n_batches must divide n_draws / 2, which is {half}, but is {n_batches}.")
        shares = np.arange(half).reshape(n_batches, -1)
        return [self._with(draws=self.draws[:, np.concatenate([part, part + half])]) for part in shares]

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` fresh values from the law of every row: (n, size) or (n, size, d)."""
        values = np.empty((self.n, size, *self.event_shape))
        for some, rows in self._distinct():
            values[some] = _draw(self.dist, (size, self.n_laws), rng)[:, rows].swapaxes(0, 1)
        return values

    def cdf(self, y: FloatArray) -> FloatArray:
        """Return P(Z <= y) by `dist.cdf`; row i at y[i], which may hold one value or several."""
        if not self.has_cdf:
            return super().cdf(y)
        return self._by_row(self.dist.cdf, y)

    def cdf_below(self, y: FloatArray) -> FloatArray:
        """Return P(Z < y), which differs from `cdf` for discrete laws."""
        return self.cdf(np.nextafter(y, -np.inf))

    @property
    def has_cdf(self) -> bool:
        """Whether the laws are on the line and `dist` has `cdf`."""
        return not self.event_shape and hasattr(self.dist, "cdf")

    @property
    def has_density(self) -> bool:
        """Whether the laws are on the line and `dist` has `logpdf`."""
        return not self.event_shape and hasattr(self.dist, "logpdf")

    def log_density(self, y: FloatArray) -> FloatArray:
        """Return the logarithm of the density by `dist.logpdf`; row i at y[i], which may hold one value or several."""
        if not self.has_density:
            return super().log_density(y)
        return self._by_row(self.dist.logpdf, y)

    def inverse(self, levels: FloatArray) -> FloatArray:
        """Return the quantiles, (n, q), at levels of shape (q,) or (n, q), by `dist.ppf` or else from the draws."""
        if not hasattr(self.dist, "ppf"):
            return super().inverse(levels)
        return self._by_row(self.dist.ppf, np.broadcast_to(levels, (self.n, levels.shape[-1])))

    def differences_from(self, other: Distribution) -> FloatArray:
        """Return ``E |Z_i - Z'_i|`` for a partner that does not take precedence, from independent draws."""
        if not isinstance(other, MonteCarlo):
            return super().differences_from(other)
        halves = [Samples._trusted(draws=half) for law in (self, other) for half in np.split(law.draws, 2, axis=1)]  # noqa: SLF001 (checked)
        first, second, third, fourth = halves
        return (fourth.mean_difference(first) + third.mean_difference(second)) / 2

    def quantiles(self) -> FloatArray:
        """Return the midpoints of n_draws equally likely parts by `dist.ppf`, or else the sorted draws."""
        if not hasattr(self.dist, "ppf"):
            return super().quantiles()
        levels = (np.arange(self.n_draws) + 0.5) / self.n_draws
        return self._by_row(self.dist.ppf, np.broadcast_to(levels, self.draws.shape))

    def expectations_with(self, profile: Profile, lengthscale: float, other: Distribution) -> FloatArray:
        """Return E k(Z_i, Z'_j) for a partner that does not take precedence."""
        if not isinstance(other, MonteCarlo):
            return super().expectations_with(profile, lengthscale, other)
        if self.n_draws != other.n_draws:
            raise InputError(
                f"both distributions must have the same number of draws, but have {self.n_draws} and {other.n_draws}."
            )
        total = np.zeros((self.n, other.n))
        for s in range(self.n_draws):
            mine, theirs = self.draws[:, s], other.draws[:, s - self.n_draws // 2]
            total += kernel_value(profile, lengthscale, distances(mine[:, None], theirs[:, None])[:, 0, :, 0])
        return total / self.n_draws

    def _by_row(self, function: Callable[[FloatArray], object], arguments: FloatArray) -> FloatArray:
        """Apply a method of `dist` to arguments of shape (n,) or (n, m), each row with its own parameters."""
        given = np.asarray(arguments, dtype=np.float64)
        columns = given.reshape(self.n, -1)
        values = np.empty(columns.shape)
        for some, rows in self._distinct():
            grid = np.full((columns.shape[1], self.n_laws), columns[0, 0])
            grid[:, rows] = columns[some].T
            values[some] = np.asarray(function(grid))[:, rows].T
        return values.reshape(given.shape)

    def _distinct(self) -> Iterator[tuple[BoolArray, IntArray]]:
        """Yield masks that divide the rows into sets without repeated laws, and the laws in each set.

        The parameters of `dist` cannot be sliced, so it is always called for all of its laws at once.
        """
        order = np.argsort(self.rows, kind="stable")
        ascending = self.rows[order]
        copy = np.empty(self.n, dtype=np.int64)
        copy[order] = np.arange(self.n) - np.searchsorted(ascending, ascending)
        for c in range(copy.max() + 1):
            yield copy == c, self.rows[copy == c]


def _count_rows(dist: Any) -> int:
    shape = np.shape(dist.rvs(random_state=np.random.default_rng(0)))
    if len(shape) != 1:
        raise InputError(
            f"dist must have parameters of length n, but dist.rvs() has the shape {shape}. Pass n, the number of rows, "
            "if all rows have the same distribution."
        )
    return int(shape[0])


def _draw(dist: Any, size: tuple[int, int], rng: np.random.Generator) -> FloatArray:
    """Draw an array of shape `size`, or with a further axis of coordinates."""
    try:
        drawn = np.asarray(dist.rvs(size=size, random_state=rng), dtype=np.float64)
    except ValueError as error:
        raise InputError(
            f"dist must have parameters of length {size[1]}, one entry per row, but "
            f"dist.rvs(size={size}) fails: {error}"
        ) from error
    dim, rest = divmod(drawn.size, size[0] * size[1])
    # Multivariate distributions of scipy.stats drop axes of length 1.
    if rest or _squeezed(drawn.shape) != _squeezed((*size, dim)):
        raise InputError(f"dist.rvs(size={size}) must return this shape, or (..., d), but returned {drawn.shape}.")
    return drawn.reshape(size if dim == 1 else (*size, dim))


def _squeezed(shape: tuple[int, ...]) -> list[int]:
    return [length for length in shape if length != 1]
