"""Cells of [0, 1] in which transforms are counted, their scores, and location and width of the forecasts."""

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Self

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant.forecasts import Distribution, Forecasts, Quantiles, Samples
from calibrant.hypotest.omnibus.statistic import inverse_deviation
from calibrant.metrics.forecasts.metric import level_array, nearest

LEVELS = level_array(99)
"""Levels of MACE, as in the table of metrics: a hundredth of the transforms lies between two neighbours."""

TAILS = (0.0001, 0.001)
"""More edges of cells, beyond the first and the last level: how far out a target is matters for the spread."""

CENTRE, SPREAD, SKEW, TAIL, SIZE = range(5)
"""Rows of `Grid.scores`."""

TICKS = 10_000
"""If all edges are multiples of its inverse, a random integer below it determines the cell, which is fast to draw."""

FLAT = 1e-9
"""A score that varies less than this over the cells is constant up to rounding."""


@dataclass(frozen=True, eq=False)
class Grid:
    r"""Cells between ascending edges, with mean scores of what lies in them.

    Attributes
    ----------
    edges : ndarray of shape (c - 1,)
        Cell j holds the transforms above the edge before it, up to its own.
    scores : ndarray of shape (5, c)
        Means over each cell of z, :math:`z^2 - 1`, :math:`z^3 - 3 z`, :math:`z^4 - 6 z^2 + 3`, and \|z\| minus its
        mean, where z is the normal quantile of a uniform transform; each divided by its deviation.
    deviations : ndarray of shape (5,)
        Standard deviations of these means over the cells.
    levels : ndarray of shape (q,)
        Levels of MACE.
    level_cell, level_part : ndarray of shape (q,)
        The cell that each level is in, and the share of the cell up to the level: 1 if the level is an edge.
    ticks : ndarray of shape (t,) or None
        The cell of each of t equal parts of [0, 1], with t = 10000 or the number of cells; None if neither t fits the
        edges.
    """

    edges: FloatArray
    scores: FloatArray
    deviations: FloatArray
    levels: FloatArray
    level_cell: IntArray
    level_part: FloatArray
    ticks: IntArray | None

    @classmethod
    def of(cls, levels: FloatArray, edges: FloatArray) -> Self:
        """Make the cells between edges, such as those of ranks or columns of quantiles.

        Examples
        --------
        >>> grid = Grid.of(np.array([0.5, 0.6]), np.array([0.25, 0.5, 0.75]))
        >>> grid.level_cell.tolist(), grid.level_part.round(12).tolist()
        ([1, 2], [1.0, 0.4])
        >>> grid.below(np.array([[3.0, 1.0, 5.0, 1.0]])).tolist()  # Of 5 in the third cell, 2 are up to 0.6.
        [[4.0, 6.0]]
        >>> (grid.scores[CENTRE] @ grid.scores[CENTRE] / 4).round(12)
        np.float64(1.0)
        """
        raw = _raw(edges)
        sizes = np.diff(edges, prepend=0.0, append=1.0)
        deviations = np.sqrt(np.square(raw) @ sizes)
        deviations[deviations < FLAT] = 0.0
        scores = raw * inverse_deviation(deviations**2)[:, None]
        level_cell = np.searchsorted(edges, levels)
        level_part = (levels - np.append(0.0, edges)[level_cell]) / sizes[level_cell]
        return cls(edges, scores, deviations, levels, level_cell, level_part, _ticks(sizes))

    @property
    def sizes(self) -> FloatArray:
        """Probability of each cell."""
        return np.diff(self.edges, prepend=0.0, append=1.0)

    def cells(self, transforms: FloatArray) -> IntArray:
        """Return the cell of every transform."""
        return np.searchsorted(self.edges, transforms)

    def below(self, counts: FloatArray) -> FloatArray:
        """Return the weight up to each level, (B, q), given that of each cell, (B, c), spread evenly within it."""
        before = np.cumsum(counts, axis=1) - counts
        return before[:, self.level_cell] + self.level_part * counts[:, self.level_cell]

    def draw(self, shape: tuple[int, int], rng: np.random.Generator) -> IntArray:
        """Return the cells of uniform transforms."""
        if self.ticks is None:
            return self.cells(rng.random(shape))
        return self.ticks[rng.integers(0, len(self.ticks), shape, dtype=np.uint16)]


def _ticks(sizes: FloatArray) -> IntArray | None:
    for n_parts in (len(sizes), TICKS):
        counts = np.round(n_parts * sizes).astype(np.int64)
        if n_parts <= TICKS and np.abs(counts - n_parts * sizes).max() <= FLAT * n_parts:
            return np.repeat(np.arange(len(sizes)), counts)
    return None


def _raw(edges: FloatArray) -> FloatArray:
    """Return the means of the five scores over the cells between edges, by the integrals of Hermite's polynomials."""
    from scipy.special import ndtri

    z = ndtri(edges)
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    # The integral of He_k times the density is -He_{k-1} times the density.
    below = [-density, -z * density, -(z**2 - 1) * density, -(z**3 - 3 * z) * density]
    half = np.sqrt(2 / np.pi)
    below.append(np.where(z <= 0, density, half - density) - half * edges)
    sums = np.diff(np.array(below), prepend=0.0, append=0.0, axis=1)
    return np.asarray(sums / np.diff(edges, prepend=0.0, append=1.0))


@cache
def usual_grid() -> Grid:
    """Return the cells for distributions without atoms."""
    tails = np.array(TAILS)
    return Grid.of(LEVELS, np.concatenate([tails, LEVELS, 1 - tails[::-1]]))


@lru_cache(8)
def rank_grid(n_draws: int) -> Grid:
    """Return the cells for ensembles, one per rank of the target."""
    return Grid.of(LEVELS, np.arange(1, n_draws + 1) / (n_draws + 1))


def column_grid(levels: FloatArray) -> Grid:
    """Return the cells between columns of quantiles."""
    return Grid.of(levels, levels)


MIDDLE, QUARTERS = 0.5, (0.25, 0.75)
"""Levels of the quantiles that measure location and width."""


def places(forecasts: Forecasts) -> FloatArray:
    """Return location and width of each forecast, (2, n): its median and its interquartile range.

    For ensembles the target counts as one more member. If it is exchangeable with the others, its rank is independent
    of both numbers. It would not be independent of the width of the members alone: where they happen to lie close
    together, the target is outside more often.
    """
    law = forecasts.distribution
    if isinstance(law, Samples):
        middle, low, high = _pooled(law.draws, forecasts.targets)
    else:
        middle, low, high = _quantiles(law).T
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(np.stack([middle, high - low]), nan=0.0, posinf=np.inf, neginf=-np.inf)


def _pooled(draws: FloatArray, targets: FloatArray) -> FloatArray:
    """Return the median and the quartiles of members and target together, (3, n)."""
    everything = np.sort(np.column_stack([draws, targets]), axis=1)
    last = everything.shape[1] - 1
    return everything[:, [round(level * last) for level in (MIDDLE, *QUARTERS)]].T


def _quantiles(law: Distribution) -> FloatArray:
    """Return the median and the quartiles, (n, 3); for columns of quantiles, the nearest columns."""
    if not isinstance(law, Quantiles):
        return law.quantile([MIDDLE, *QUARTERS])
    levels = law.levels.tolist()
    low, high = nearest(levels, QUARTERS[0]), nearest(levels, QUARTERS[1])
    ends = (low, high) if low < high else (levels[0], levels[-1])
    return law.values[:, [levels.index(level) for level in (nearest(levels, MIDDLE), *ends)]]


def mid_ranks(values: FloatArray) -> FloatArray:
    """Return the ranks of numbers, scaled to [-1, 1]; equal numbers share their mean rank.

    Examples
    --------
    >>> mid_ranks(np.array([5.0, 1.0, 5.0, np.inf])).tolist()
    [0.0, -0.75, 0.0, 0.75]
    """
    _, index, counts = np.unique(values, return_inverse=True, return_counts=True)
    middles = np.cumsum(counts) - counts / 2
    return np.asarray((2 * middles / len(values) - 1)[index])
