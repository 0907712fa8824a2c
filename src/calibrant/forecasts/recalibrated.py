"""Predictive distributions whose probabilities are corrected by a map."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Self, TypeGuard

import numpy as np

from calibrant._border.types import FloatArray, IntArray, RowIndex
from calibrant._core.blocks import slices
from calibrant.exceptions import InputError
from calibrant.forecasts.by_quantiles import ByQuantiles
from calibrant.forecasts.distribution import Distribution
from calibrant.forecasts.location_scale import LocationScale
from calibrant.forecasts.quantile_columns import Quantiles
from calibrant.forecasts.student import Student

NODES, WEIGHTS = (0.5 * part for part in np.polynomial.legendre.leggauss(16))
NODES += 0.5

LEAST, LARGEST = np.finfo(float).tiny, 1.0 - 2.0**-53
"""Levels between which every law has finite quantiles."""

CUTS = np.array([0.001, 0.02, 0.2, 0.5, 0.8, 0.98, 0.999])
"""Additional ends of segments, so that none is too long for its points."""

CELLS = 2**20
"""Number of quantiles that are held in memory at a time."""

GRADE = 4
"""In the outermost segments, nodes approach 0 and 1 as this power, since quantiles may be infinite there."""


@dataclass(frozen=True, eq=False, init=False)
class ProbabilityMap:
    """An increasing, piecewise linear map from predicted probabilities to observed shares.

    Parameters
    ----------
    levels : array-like of shape (K,)
        Predicted probabilities strictly between 0 and 1, ascending.
    shares : array-like of shape (K,)
        The shares that they are mapped to, likewise ascending between 0 and 1. 0 and 1 are mapped to themselves.

    Attributes
    ----------
    levels, shares : ndarray of shape (K + 2,)
        With both ends.

    Examples
    --------
    >>> shrink = ProbabilityMap([0.1, 0.9], [0.25, 0.75])
    >>> shrink(np.array([0.05, 0.5, 0.9])).tolist()
    [0.125, 0.5, 0.75]
    >>> shrink.inverse(np.array([0.125, 0.5])).tolist()
    [0.05, 0.5]
    """

    levels: FloatArray
    shares: FloatArray

    def __init__(self, levels: object, shares: object) -> None:
        for name, values in (("levels", levels), ("shares", shares)):
            knots = np.concatenate([[0.0], np.asarray(values, dtype=np.float64).ravel(), [1.0]])
            if not np.all(np.diff(knots) > 0):
                raise InputError(f"{name} must ascend strictly between 0 and 1, but are {values!r:.80}.")
            knots.setflags(write=False)
            object.__setattr__(self, name, knots)
        if len(self.levels) != len(self.shares):
            raise InputError(
                f"there must be as many levels as shares, but there are {len(self.levels) - 2} and "
                f"{len(self.shares) - 2}."
            )

    def __call__(self, probabilities: FloatArray) -> FloatArray:
        """Return the shares of predicted probabilities."""
        return np.interp(probabilities, self.levels, self.shares)

    def inverse(self, shares: FloatArray) -> FloatArray:
        """Return the predicted probabilities of shares."""
        return np.interp(shares, self.shares, self.levels)

    @property
    def slopes(self) -> FloatArray:
        """The slope of every segment, of shape (K + 1,)."""
        return np.diff(self.shares) / np.diff(self.levels)

    def segment(self, probabilities: FloatArray) -> IntArray:
        """Return the index of the segment that each probability lies in; a knot belongs to the segment above it."""
        return np.searchsorted(self.levels[1:-1], probabilities, side="right")


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Recalibrated(ByQuantiles):
    r"""Laws on the line whose distribution functions F are replaced by R(F).

    Parameters
    ----------
    base : Distribution
        On the line, with a distribution function.
    map : ProbabilityMap
        The increasing map R of [0, 1] onto itself, the same for all rows.

    Notes
    -----
    The quantile at level q is :math:`F^{-1}(R^{-1}(q))`, the density :math:`R'(F(y)) f(y)`. With the partial mean
    :math:`A(p) = \int_0^p F^{-1} = p x - E (x - Z)_+` at :math:`x = F^{-1}(p)`, which follows from ``E |Z - x|`` of the
    base, the mean and ``E |Z - y|`` are sums over the segments of R and as exact as that. ``E |Z - Z'|`` and the
    standard deviation are integrals over levels, by 16 points per segment.

    References
    ----------
    V. Kuleshov, N. Fenner, S. Ermon, "Accurate uncertainties for deep learning using calibrated regression", ICML 2018.

    Examples
    --------
    >>> from calibrant.forecasts import Normal
    >>> wider = Recalibrated(Normal([0.0, 5.0], 1.0), ProbabilityMap([0.1, 0.9], [0.25, 0.75]))
    >>> wider.cdf([0.0, 5.0]).tolist()
    [0.5, 0.5]
    >>> wider.quantile(0.75).round(4).tolist()  # what was the 90% quantile
    [1.2816, 6.2816]
    """

    base: Distribution
    map: ProbabilityMap

    def __init__(self, base: Distribution, map: ProbabilityMap) -> None:  # noqa: A002 (what it is)
        if not isinstance(base, Distribution) or not base.has_cdf:
            raise InputError(f"base must be univariate, with a distribution function, but is {base!r:.80}.")
        self._store(base=base, map=map, source=base.source)

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.base.n

    @property
    def has_density(self) -> bool:
        """Whether the base has a density."""
        return self.base.has_density

    @property
    def has_sd(self) -> bool:
        """Whether the base has standard deviations."""
        return self.base.has_sd

    def take(self, rows: RowIndex) -> Self:
        """Return the laws of these rows (indices, a slice or a mask), in this order."""
        return self._with(base=self.base.take(rows))

    def affine(self, offset: FloatArray, factor: FloatArray) -> Self:
        """Return the laws of offset + factor Z."""
        return self._with(base=self.base.affine(offset, factor))

    def cdf(self, y: FloatArray) -> FloatArray:
        """Return P(Z <= y); row i at y[i], which may hold one value or several."""
        return self.map(self.base.cdf(y))

    def cdf_below(self, y: FloatArray) -> FloatArray:
        """Return P(Z < y), which differs from `cdf` where the base has atoms."""
        return self.map(self.base.cdf_below(y))

    def inverse(self, levels: FloatArray) -> FloatArray:
        """Return the quantiles, (n, q), at levels of shape (q,), or of shape (n, q) if each row has its own."""
        return self.base.inverse(self.map.inverse(levels))

    def log_density(self, y: FloatArray) -> FloatArray:
        """Return the logarithm of the density; row i at y[i], which may hold one value or several."""
        if not self.has_density:
            return super().log_density(y)
        return self.base.log_density(y) + np.log(self.map.slopes)[self.map.segment(self.base.cdf(y))]

    def mean(self) -> FloatArray:
        """Return the means, of shape (n,)."""
        loc, scale = self._frame
        return loc + scale * self._partial[1][:, -1]

    def sd(self) -> FloatArray:
        """Return the standard deviations, of shape (n,)."""
        if not self.has_sd:
            return np.full(self.n, np.inf)
        levels, weights, slopes = self._rule()
        mean = self._partial[1][:, -1]
        squares = [
            np.square(quantiles - mean[part, None]) @ (weights * slopes) for part, quantiles in self._quantiles(levels)
        ]
        return self._frame[1] * np.sqrt(np.concatenate(squares))

    def mean_distance(self, y: FloatArray) -> FloatArray:
        """Return ``E |Z_i - y_i|``, of shape (n,)."""
        loc, scale = self._frame
        z = (y - loc) / scale
        below = self.base.cdf(y)
        segment = self.map.segment(below)
        rows = np.zeros(self.n, dtype=int) if self._shape.n == 1 else np.arange(self.n)
        at_knots, sums = self._partial
        base_mean = at_knots[rows, -1]
        partial = below * z - (self.base.mean_distance(y) / scale + z - base_mean) / 2
        own = sums[rows, segment] + self.map.slopes[segment] * (partial - at_knots[rows, segment])
        return scale * (sums[rows, -1] - z + 2 * (z * self.map(below) - own))

    def mean_spread(self, *, fair: bool = False) -> FloatArray:  # noqa: ARG002 (matters for ensembles)
        r"""Return ``E |Z_i - Z'_i|``, the integral of :math:`2 F^{-1}(p) (2 R(p) - 1) R'(p)` over p, of shape (n,)."""
        levels, weights, slopes = self._rule()
        # The part that grows at the ends is integrated exactly, as a partial mean; 2 R below a knot and 2 R - 2 above
        # it are left.
        middle = len(self.map.levels) // 2
        shares = self.map(levels) - (levels > self.map.levels[middle])
        sums = self._partial[1]
        exact = sums[:, -1] - 2 * sums[:, middle]
        rest = [quantiles @ (2 * weights * slopes * shares) for _, quantiles in self._quantiles(levels)]
        return self._frame[1] * 2 * (exact + np.concatenate(rest))

    def _quantiles(self, levels: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """Yield the quantiles of the base, a block of rows at a time: with many knots there are many levels."""
        for part in slices(0, self._shape.n, max(1, CELLS // len(levels))):
            yield part, self._shape.take(part).inverse(levels)

    @cached_property
    def _frame(self) -> tuple[FloatArray, FloatArray]:
        """The rows of the base are these locations plus these scales times the rows of `_shape`."""
        if _has_one_shape(self.base):
            return self.base.loc, self.base.scale
        return np.zeros(self.n), np.ones(self.n)

    @cached_property
    def _shape(self) -> Distribution:
        """The base without location and scale: a single row if rows differ by nothing else."""
        if not _has_one_shape(self.base):
            return self.base
        first = self.base.take(slice(0, 1))
        return first.affine(-first.loc / first.scale, 1 / first.scale)

    @cached_property
    def _partial(self) -> tuple[FloatArray, FloatArray]:
        """Partial means of the base, and of the law itself, up to every knot: two arrays of shape (rows, K + 2)."""
        shape, inner = self._shape, self.map.levels[1:-1]
        knots = shape.inverse(inner)
        centre = shape.mean()
        excess = [(shape.mean_distance(x) + x - centre) / 2 for x in knots.T]
        columns = [p * x - e for p, x, e in zip(inner, knots.T, excess, strict=True)]
        at_knots = np.column_stack([np.zeros(shape.n), *columns, centre])
        sums = np.cumsum(np.diff(at_knots, axis=1) * self.map.slopes, axis=1)
        return at_knots, np.column_stack([np.zeros(shape.n), sums])

    def _rule(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return levels, weights and slopes of a rule that integrates over levels, segment by segment."""
        # At given quantiles a distribution function has kinks, and that of a Laplace law at the median.
        kinks = self.base.levels if isinstance(self.base, Quantiles) else np.empty(0)
        edges = np.unique(np.concatenate([self.map.levels, CUTS, kinks]))
        start, width = edges[:-1, None], np.diff(edges)[:, None]
        levels, weights = start + width * NODES, width * WEIGHTS
        graded, jacobian = NODES**GRADE, GRADE * NODES ** (GRADE - 1)
        levels[0], weights[0] = edges[1] * graded, edges[1] * WEIGHTS * jacobian
        levels[-1], weights[-1] = 1 - (1 - edges[-2]) * graded, (1 - edges[-2]) * WEIGHTS * jacobian
        slopes = self.map.slopes[self.map.segment(start[:, 0])]
        np.clip(levels, LEAST, LARGEST, out=levels)
        return levels.ravel(), weights.ravel(), np.repeat(slopes, len(NODES))


def _has_one_shape(law: Distribution) -> TypeGuard[LocationScale]:
    """Return whether rows differ by location and scale only."""
    return isinstance(law, LocationScale) and not (isinstance(law, Student) and (law.df != law.df[0]).any())
