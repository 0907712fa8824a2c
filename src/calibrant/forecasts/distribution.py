"""The interface of all predictive distributions."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar, Self

import numpy as np

from calibrant._border.convert import Raw
from calibrant._border.types import FloatArray, RowIndex
from calibrant.exceptions import InputError
from calibrant.forecasts.checks import as_levels
from calibrant.forecasts.convolution import Profile, check_kernel
from calibrant.forecasts.transport import transport_cost


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Distribution(ABC):
    """Predictive distributions of n rows: one distribution per row, on the real line or in R^d.

    A subclass is a frozen dataclass of read-only arrays. It defines what is abstract here and, for pairs,
    `expectations_with` and `distances_to` for partners whose `precedence` does not exceed its own. Callers use
    `expect_pair` and `wasserstein`, which check the pair and call the partner with the higher precedence.
    """

    by_row: ClassVar[tuple[str, ...]]
    """The fields whose first axis runs over rows."""

    precedence: ClassVar[int] = 0
    """Of two kinds of laws, the one with the higher precedence computes what concerns the pair."""

    source: ClassVar[Raw | None] = None
    """The first argument that had a pandas index, with which that of the targets is compared."""

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(getattr(self, self.by_row[0]))

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one target: () for numbers, (d,) for vectors."""
        return ()

    @property
    def is_exact(self) -> bool:
        """Whether expectations are exact; if not, they are Monte Carlo means whose precision `batches` shows."""
        return True

    @property
    def has_cdf(self) -> bool:
        """Whether there are a distribution function and quantiles, as laws on the line have."""
        return not self.event_shape

    @property
    def has_density(self) -> bool:
        """Whether there is a density."""
        return False

    @property
    def has_sd(self) -> bool:
        """Whether all standard deviations are finite."""
        return True

    @property
    def dim(self) -> int:
        """Number of coordinates of a target."""
        return self.event_shape[0] if self.event_shape else 1

    def take(self, rows: RowIndex) -> Self:
        """Return the laws of these rows (indices, a slice or a mask), in this order."""
        return self._with(**{name: getattr(self, name)[rows] for name in self.by_row})

    @abstractmethod
    def mean(self) -> FloatArray:
        """Return the means, of shape (n,) or (n, d)."""

    @abstractmethod
    def sd(self) -> FloatArray:
        """Return the standard deviations of each coordinate, of shape (n,) or (n, d)."""

    @abstractmethod
    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` independent values from the law of every row: (n, size) or (n, size, d)."""

    def cdf(self, y: FloatArray) -> FloatArray:  # noqa: ARG002 (the signature of those that have one)
        """Return P(Z <= y) for laws on the line; row i at y[i], which may hold one value or several."""
        raise InputError(
            "a distribution function needs univariate distributions (in MonteCarlo, an object with cdf), but this is "
            f"{self}."
        )

    def cdf_below(self, y: FloatArray) -> FloatArray:
        """Return P(Z < y), which differs from `cdf` where a law has atoms."""
        return self.cdf(y)

    def quantile(self, level: object) -> FloatArray:
        """Return the least y with P(Z <= y) >= level, for laws on the line.

        Parameters
        ----------
        level : float or array-like of shape (q,)
            Between 0 and 1.

        Returns
        -------
        ndarray of shape (n,) or (n, q)
        """
        levels = as_levels(level)
        if not self.has_cdf:
            raise InputError(f"quantiles need univariate distributions, but this is {self}.")
        values = self.inverse(np.atleast_1d(levels))
        return values if levels.ndim else values[:, 0]

    def inverse(self, levels: FloatArray) -> FloatArray:
        """Return the quantiles, (n, q), at levels of shape (q,), or of shape (n, q) if each row has its own."""
        raise NotImplementedError

    def affine(self, offset: FloatArray, factor: FloatArray) -> "Distribution":  # noqa: ARG002 (as above)
        """Return the laws of offset + factor Z.

        Parameters
        ----------
        offset : ndarray of shape (n,) or (n, d)
        factor : ndarray of shape (n,)
            Positive.
        """
        raise InputError(
            f"distributions that can be shifted and scaled are needed, but this is {self}. Turn it into a normal or "
            "another named distribution, or into Samples(distribution.sample(rng, size))."
        )

    def log_density(self, y: FloatArray) -> FloatArray:  # noqa: ARG002 (the signature of those that have one)
        """Return the logarithm of the density; row i at y[i], which on the line may hold one value or several."""
        raise InputError(
            "a log density needs distributions with a density (in MonteCarlo, an object with logpdf), but this is "
            f"{self}. For ensembles use CRPS."
        )

    @abstractmethod
    def mean_distance(self, y: FloatArray) -> FloatArray:
        """Return ``E |Z_i - y_i|``, the mean Euclidean distance of row i from y[i], of shape (n,)."""

    def mean_difference(self, other: "Distribution") -> FloatArray:
        """Return ``E |Z_i - Z'_i|`` for independent Z_i from row i and Z'_i from row i of `other`, of shape (n,)."""
        self._check_partner(other)
        if other.n != self.n:
            raise InputError(f"both distributions must have the same number of rows, but have {self.n} and {other.n}.")
        if other.precedence > self.precedence:
            return other.differences_from(self)
        return self.differences_from(other)

    def differences_from(self, other: "Distribution") -> FloatArray:
        """Return ``E |Z_i - Z'_i|`` for a partner that does not take precedence."""
        raise self._no_pair(other, "mean difference")

    def mean_spread(self, *, fair: bool = False) -> FloatArray:  # noqa: ARG002 (matters for ensembles)
        """Return ``E |Z_i - Z'_i|`` for two independent draws from row i, of shape (n,).

        Parameters
        ----------
        fair : bool, default=False
            How to read the members of an ensemble: if True, as draws from an unknown law, whose spread is estimated
            without bias; if False, as the law itself.
        """
        return self.mean_difference(self)

    def embed(self) -> FloatArray | None:
        """Return points, (n, e), whose Euclidean distances are the 2-Wasserstein distances; None if there are none."""
        return None

    def wasserstein(self, other: "Distribution") -> FloatArray:
        """Return the 2-Wasserstein distances of all rows to all rows of `other`, of shape (n, n')."""
        self._check_partner(other)
        with np.errstate(all="ignore"):
            if other.precedence > self.precedence:
                return other.distances_to(self).T
            return self.distances_to(other)

    def mixture_wasserstein(self, other: "Distribution") -> FloatArray:
        r"""Return the mixture Wasserstein distances of all rows to all rows of `other`, of shape (n, n').

        The squared distance of two mixtures with weights v, w and components p, q is the least
        :math:`\sum_{ab} \pi_{ab} W_2^2(p_a, q_b)` over all couplings :math:`\pi` of v and w. It is at least the
        2-Wasserstein distance, and equal to it where neither law is a mixture.
        """
        self._check_partner(other)
        costs = np.stack(
            [np.stack([np.square(p.wasserstein(q)) for q in other.components], axis=-1) for p in self.components],
            axis=-2,
        )
        return np.sqrt(transport_cost(costs, self.component_weights[:, None], other.component_weights[None]))

    def expect(self, profile: Profile, lengthscale: float, y: FloatArray) -> FloatArray:
        """Return E k(Z_i, y_j) for the laws of all rows i and all points y_j, of shape (n, m).

        Parameters
        ----------
        profile : {"gaussian", "exponential"}
            The kernel k(y, y') = exp(-d^2 / (2 l^2)) or exp(-d / l), with the Euclidean distance d.
        lengthscale : float
            Its lengthscale l.
        y : ndarray of shape (m,) or (m, d)
        """
        check_kernel(profile, lengthscale)
        y = np.asarray(y, dtype=np.float64)
        if y.shape[1:] != self.event_shape or y.ndim == 0:
            raise InputError(f"y must have the shape {_shape('m', self.event_shape)}, but has shape {y.shape}.")
        with np.errstate(all="ignore"):
            return self._expect(profile, float(lengthscale), y)

    def expect_pair(self, profile: Profile, lengthscale: float, other: "Distribution") -> FloatArray:
        """Return E k(Z_i, Z'_j) for independent Z_i from row i and Z'_j from row j of `other`, of shape (n, n')."""
        check_kernel(profile, lengthscale)
        self._check_partner(other)
        with np.errstate(all="ignore"):
            if other.precedence > self.precedence:
                return other.expectations_with(profile, float(lengthscale), self).T
            return self.expectations_with(profile, float(lengthscale), other)

    def for_pairs(self) -> "Distribution":
        """Return the laws by which `expect_pair` computes, so that `expect` of them has the same error."""
        return self

    def batches(self, n_batches: int) -> list[Self]:
        """Split the draws of a Monte Carlo law into disjoint shares: the same laws, `n_batches` times.

        Any statistic that is linear in expectations, such as a squared kernel calibration error, is the average of its
        values over the batches; their standard deviation over sqrt(n_batches) is its Monte Carlo standard error. Exact
        laws are all the same.
        """
        return [self] * n_batches

    @property
    def components(self) -> tuple["Distribution", ...]:
        """The laws that a mixture mixes; any other law is its own and only component."""
        return (self,)

    @property
    def component_weights(self) -> FloatArray:
        """Weights of the components, of shape (n, M)."""
        return np.ones((self.n, 1))

    @abstractmethod
    def _expect(self, profile: Profile, lengthscale: float, y: FloatArray) -> FloatArray:
        """Return E k(Z_i, y_j)."""

    @abstractmethod
    def expectations_with(self, profile: Profile, lengthscale: float, other: "Distribution") -> FloatArray:
        """Return E k(Z_i, Z'_j) for a partner that does not take precedence."""

    def distances_to(self, other: "Distribution") -> FloatArray:
        """Return the 2-Wasserstein distances to a partner that does not take precedence, from embedded points."""
        from scipy.spatial.distance import cdist

        mine, theirs = self.embed(), other.embed()
        if type(self) is not type(other) or mine is None or theirs is None:
            raise self._no_pair(other, "2-Wasserstein distance")
        return cdist(mine, theirs)

    def _no_pair(self, other: "Distribution", what: str) -> TypeError:
        return TypeError(
            f"there is no {what} between a {type(self).__name__} and a {type(other).__name__} here. Turn both into the "
            "same kind, for instance Samples(distribution.sample(rng, size))."
        )

    def _check_partner(self, other: "Distribution") -> None:
        if not isinstance(other, Distribution):
            raise TypeError(f"the other distribution must be a Distribution, but is a {type(other).__name__}.")
        if self.event_shape != other.event_shape:
            raise InputError(
                f"both distributions must be on the same space, but their values have the shapes {self.event_shape} "
                f"and {other.event_shape}, where () is a number."
            )

    @classmethod
    def _trusted(cls, **values: object) -> Self:
        """Build from arrays that the library derived from checked ones: no checks, no copies."""
        self = cls.__new__(cls)
        self._store(**values)
        return self

    def _with(self, **changes: object) -> Self:
        """Return the same laws with other fields, which are trusted."""
        return self._trusted(**{field.name: getattr(self, field.name) for field in fields(self)} | changes)

    def _store(self, **values: object) -> None:
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n={self.n}, dim={self.dim})"


def _shape(first: str, rest: tuple[int, ...]) -> str:
    return f"({', '.join([first, *map(str, rest)])}{'' if rest else ','})"
