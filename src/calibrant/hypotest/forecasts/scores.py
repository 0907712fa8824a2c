"""Cells of [0, 1] in which transforms are counted, and the scores of each cell."""

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Self

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant.hypotest.evidence.parts import inverse_deviation
from calibrant.metrics.forecast_metric import level_array

LEVELS = level_array(99)
"""Levels of MACE, as in the table of metrics: between two neighbours there is a hundredth of the transforms."""

TAILS = (0.0001, 0.001)
"""Beyond the first and the last level there are these cells as well: how far out a target is matters for the spread."""

CENTRE, SPREAD, SKEW, TAIL, SIZE = range(5)
"""The scores."""

TICKS = 10_000
"""Where all edges are multiples of its inverse, a whole number below it decides the cell, which is quick to draw."""

FLAT = 1e-9
"""A score that varies less than this over the cells says nothing."""


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
        Standard deviations of these means over the cells; of one that is 0 everywhere, 0.
    levels : ndarray of shape (q,)
        Those of MACE, all among the edges.
    level_of : ndarray of shape (c,)
        How many levels are below each cell.
    ticks : ndarray of shape (10000,) or None
        The cell of each of these equal parts of [0, 1]; None if an edge is inside one of them.
    """

    edges: FloatArray
    scores: FloatArray
    deviations: FloatArray
    levels: FloatArray
    level_of: IntArray
    ticks: IntArray | None

    @classmethod
    def of(cls, levels: FloatArray, known: FloatArray) -> Self:
        """Make cells of levels and of what is known: the edges of ranks, or of the columns of quantiles.

        Examples
        --------
        >>> grid = Grid.of(np.array([0.5]), np.array([0.25, 0.5, 0.75]))
        >>> grid.edges.tolist(), grid.level_of.tolist()
        ([0.25, 0.5, 0.75], [0, 0, 1, 1])
        >>> (grid.scores[CENTRE] @ grid.scores[CENTRE] / 4).round(12)
        np.float64(1.0)
        """
        edges = np.union1d(levels, known)
        # A cell may be a part of one that is known: there is nothing more to tell about it.
        within = np.searchsorted(known, edges)
        raw = _raw(known)[:, np.append(within, len(known))]
        sizes = np.diff(edges, prepend=0.0, append=1.0)
        deviations = np.sqrt(np.square(raw) @ sizes)
        deviations[deviations < FLAT] = 0.0
        scores = raw * inverse_deviation(deviations**2)[:, None]
        level_of = np.searchsorted(levels, np.append(edges, 1.0))
        return cls(edges, scores, deviations, levels, level_of, _ticks(sizes))

    @property
    def sizes(self) -> FloatArray:
        """Probability of each cell."""
        return np.diff(self.edges, prepend=0.0, append=1.0)

    def cells(self, transforms: FloatArray) -> IntArray:
        """Return the cell of every transform."""
        return np.searchsorted(self.edges, transforms)

    def draw(self, shape: tuple[int, int], rng: np.random.Generator) -> IntArray:
        """Return the cells of uniform transforms."""
        if self.ticks is None:
            return self.cells(rng.random(shape))
        return self.ticks[rng.integers(0, TICKS, shape, dtype=np.uint16)]


def _ticks(sizes: FloatArray) -> IntArray | None:
    counts = np.round(TICKS * sizes).astype(np.int64)
    if np.abs(counts - TICKS * sizes).max() > FLAT * TICKS:
        return None
    return np.repeat(np.arange(len(sizes)), counts)


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
    """Return the cells for laws without atoms."""
    tails = np.array(TAILS)
    return Grid.of(LEVELS, np.concatenate([tails, LEVELS, 1 - tails[::-1]]))


@lru_cache(8)
def rank_grid(n_draws: int) -> Grid:
    """Return the cells for ensembles, of which the rank of the target among all is known."""
    return Grid.of(LEVELS, np.arange(1, n_draws + 1) / (n_draws + 1))


def column_grid(levels: FloatArray) -> Grid:
    """Return the cells between columns of quantiles."""
    return Grid.of(levels, levels)
