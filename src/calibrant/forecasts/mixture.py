"""Mixtures of predictive distributions, and the base of all laws that are made of others."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from calibrant._border.types import BoolArray, FloatArray, RowIndex
from calibrant.exceptions import InputError
from calibrant.forecasts.checks import as_mixture_weights, source_of
from calibrant.forecasts.convolution import Profile
from calibrant.forecasts.distribution import Distribution


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Composed(Distribution):
    """Base of laws that are made of others: they have a density, for example, if all parts do."""

    parts: tuple[Distribution, ...]

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one target."""
        return self.parts[0].event_shape

    @property
    def is_exact(self) -> bool:
        """Whether expectations of all parts are exact."""
        return all(part.is_exact for part in self.parts)

    @property
    def has_cdf(self) -> bool:
        """Whether all parts have a distribution function."""
        return all(part.has_cdf for part in self.parts)

    @property
    def has_density(self) -> bool:
        """Whether all parts have a density."""
        return all(part.has_density for part in self.parts)

    def for_pairs(self) -> Self:
        """Return the same laws, made of parts for pairs."""
        return self._with(parts=tuple(part.for_pairs() for part in self.parts))

    def batches(self, n_batches: int) -> list[Self]:
        """Split the draws of Monte Carlo parts into disjoint shares: the same laws, `n_batches` times."""
        shares = zip(*(part.batches(n_batches) for part in self.parts), strict=True)
        return [self._with(parts=share) for share in shares]


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Mixture(Composed):
    """Mixtures of predictive distributions, such as a deep ensemble of normals.

    Parameters
    ----------
    weights : array-like of shape (M,) or (n, M)
        Probabilities of the components, common to all rows or one row each.
    components : sequence of M distributions
        Each has n rows. They may be of different kinds; distances exist between normals and Laplace laws.

    Examples
    --------
    >>> from calibrant.forecasts import Normal
    >>> predicted = Mixture([0.5, 0.5], [Normal([0.0, 5.0], 1.0), Normal([2.0, 7.0], 1.0)])
    >>> predicted.mean().tolist()
    [1.0, 6.0]
    >>> predicted.mixture_wasserstein(predicted)[0].tolist()
    [0.0, 5.0]
    """

    precedence = 3
    by_row = ("weights",)

    weights: FloatArray

    def __init__(self, weights: object, components: Sequence[Distribution]) -> None:
        parts = _as_parts(components)
        matrix, raw = as_mixture_weights(weights, parts[0].n, len(parts))
        sources = [source_of([raw]), *(part.source for part in parts)]
        self._store(weights=matrix, parts=parts, source=next(filter(None, sources), None))

    @property
    def components(self) -> tuple[Distribution, ...]:
        """The laws that are mixed."""
        return self.parts

    @property
    def component_weights(self) -> FloatArray:
        """Weights of the components, of shape (n, M)."""
        return self.weights

    def take(self, rows: RowIndex) -> Self:
        """Return the laws of these rows (indices, a slice or a mask), in this order."""
        return self._with(weights=self.weights[rows], parts=tuple(part.take(rows) for part in self.parts))

    def mean(self) -> FloatArray:
        """Return the means, of shape (n,) or (n, d)."""
        return self._average([part.mean() for part in self.parts])

    def sd(self) -> FloatArray:
        """Return the standard deviations of each coordinate, of shape (n,) or (n, d)."""
        centre = self.mean()
        spreads = [np.square(part.sd()) + np.square(part.mean() - centre) for part in self.parts]
        return np.sqrt(self._average(spreads))

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` independent values from the law of every row: (n, size) or (n, size, d)."""
        level = rng.random((self.n, size))
        choice = (level[..., None] >= np.cumsum(self.weights, axis=1)[:, None, :-1]).sum(axis=-1)
        drawn = np.stack([part.sample(rng, size) for part in self.parts])
        return drawn[choice, np.arange(self.n)[:, None], np.arange(size)]

    def cdf(self, y: FloatArray) -> FloatArray:
        """Return P(Z <= y) for laws on the line; row i at y[i], which may hold one value or several."""
        return self._average([part.cdf(y) for part in self.parts])

    def cdf_below(self, y: FloatArray) -> FloatArray:
        """Return P(Z < y)."""
        return self._average([part.cdf_below(y) for part in self.parts])

    def affine(self, offset: FloatArray, factor: FloatArray) -> Self:
        """Return the laws of offset + factor Z."""
        return self._with(parts=tuple(part.affine(offset, factor) for part in self.parts))

    def inverse(self, levels: FloatArray) -> FloatArray:
        """Return the quantiles, (n, q), at levels of shape (q,), or of shape (n, q) if each row has its own."""
        values = np.stack([part.inverse(levels) for part in self.parts])
        return invert(self, levels, values.min(axis=0), values.max(axis=0))

    @np.errstate(all="ignore")  # A component of weight 0 has the logarithm -inf.
    def log_density(self, y: FloatArray) -> FloatArray:
        """Return the logarithm of the density; row i at y[i], which on the line may hold one value or several."""
        if not self.has_density:
            return super().log_density(y)
        densities = np.stack([part.log_density(y) for part in self.parts])
        densities += np.log(self.weights.T).reshape(-1, self.n, *(1,) * (densities.ndim - 2))
        return np.logaddexp.reduce(densities, axis=0)

    def mean_distance(self, y: FloatArray) -> FloatArray:
        """Return ``E |Z_i - y_i|``, of shape (n,)."""
        return self._average([part.mean_distance(y) for part in self.parts])

    def differences_from(self, other: Distribution) -> FloatArray:
        """Return ``E |Z_i - Z'_i|`` for a partner that does not take precedence."""
        partners = list(zip(other.components, other.component_weights.T, strict=True))
        total = np.zeros(self.n)
        for part, weight in zip(self.parts, self.weights.T, strict=True):
            for partner, partner_weight in partners:
                total += weight * partner_weight * part.mean_difference(partner)
        return total

    def mean_spread(self, *, fair: bool = False) -> FloatArray:
        """Return ``E |Z_i - Z'_i|`` for two independent draws from row i, of shape (n,)."""
        total = np.zeros(self.n)
        for a, part in enumerate(self.parts):
            total += self.weights[:, a] ** 2 * part.mean_spread(fair=fair)
            for b in range(a):
                total += 2 * self.weights[:, a] * self.weights[:, b] * part.mean_difference(self.parts[b])
        return total

    def _average(self, values: Sequence[FloatArray]) -> FloatArray:
        """Average arrays whose first axis runs over rows, one array per component."""
        return np.einsum("nm,mn...->n...", self.weights, np.stack(values))

    def _expect(self, profile: Profile, lengthscale: float, y: FloatArray) -> FloatArray:
        return self._average([part.expect(profile, lengthscale, y) for part in self.parts])

    def expectations_with(self, profile: Profile, lengthscale: float, other: Distribution) -> FloatArray:
        """Return E k(Z_i, Z'_j) for a partner that does not take precedence."""
        total = np.zeros((self.n, other.n))
        for part, weight in zip(self.parts, self.weights.T, strict=True):
            for partner, partner_weight in zip(other.components, other.component_weights.T, strict=True):
                pairs = part.expect_pair(profile, lengthscale, partner)
                total += weight[:, None] * partner_weight * pairs
        return total

    def distances_to(self, other: Distribution) -> FloatArray:  # noqa: ARG002 (the signature of those that have one)
        """Refuse: there is no closed form."""
        raise InputError(
            "the 2-Wasserstein distance of a Mixture has no closed form. Use .mixture_wasserstein(other), which "
            "couples components."
        )


def _as_parts(components: object) -> tuple[Distribution, ...]:
    if isinstance(components, Distribution) or not isinstance(components, Sequence) or not components:
        raise TypeError(
            "components must be a non-empty list of distributions, such as [Normal(...), Normal(...)], but is "
            f"{components!r:.60}."
        )
    for m, part in enumerate(components):
        if not isinstance(part, Distribution) or isinstance(part, Mixture):
            raise TypeError(
                f"components must be Normal, Laplace, MvNormal, Samples or MonteCarlo, but component {m} is a "
                f"{type(part).__name__}. Multiply the weights of nested mixtures; wrap other objects in MonteCarlo."
            )
        if (part.n, part.event_shape) != (components[0].n, components[0].event_shape):
            raise InputError(
                f"components must have the same numbers of rows and coordinates, but component 0 is {components[0]!r} "
                f"and component {m} is {part!r}. Give each one distribution per row."
            )
    return tuple(components)


ROUNDS = 500
"""Largest number of steps: each halves the interval or the last step, so this exhausts the digits of any number."""

ROUNDING = 4 * np.finfo(float).eps


@np.errstate(all="ignore")  # A density of 0 makes no step, and then the interval is halved.
def invert(law: Distribution, levels: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the least y with P(Z <= y) >= level, (n, q), which must lie between `low` and `high`.

    Newton's method, kept inside an interval that shrinks. Rows leave as soon as all of their quantiles are found.
    """
    found = np.array(high)
    levels = np.broadcast_to(levels, found.shape)
    rows = np.arange(law.n)
    slack, last = ROUNDING * (high - low), high - low
    x = low + last / 2
    for _ in range(ROUNDS):
        value = law.cdf(x)
        reached = value >= levels
        low, high = np.where(reached, low, x), np.where(reached, x, high)
        tolerance = slack + ROUNDING * np.abs(x)
        move, settled = _newton(law, levels, x, value, tolerance)
        found[rows] = np.where(settled, x, high)
        left = ~np.all(settled | (high - low <= tolerance), axis=1)
        if not left.any():
            break
        trusted = (x + move > low) & (x + move < high) & (np.abs(move) <= last / 2)
        step = np.where(settled, 0.0, np.where(trusted, move, low + (high - low) / 2 - x))
        x, last = (x + step)[left], np.abs(step)[left]
        rows, low, high, slack, law = rows[left], low[left], high[left], slack[left], law.take(left)
        levels = levels[left]
    return found


def _newton(
    law: Distribution, levels: FloatArray, x: FloatArray, value: FloatArray, tolerance: FloatArray
) -> tuple[FloatArray, BoolArray]:
    """Return Newton's steps, and where they have converged: only rounding is left."""
    if not law.has_density:
        return np.full(x.shape, np.nan), np.zeros(x.shape, dtype=bool)
    move = (levels - value) / np.exp(law.log_density(x))
    return move, (np.abs(move) <= tolerance) | (np.abs(levels - value) <= ROUNDING * levels)
