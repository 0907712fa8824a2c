"""Statistics of the omnibus test of forecasts: functions of the transforms, without a fit to the targets."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant.hypotest.omnibus.statistic import BIAS, centred, inverse_deviation
from calibrant.hypotest.omnibus.transform_cells import CENTRE, SIZE, SKEW, SPREAD, TAIL, Grid, mid_ranks
from calibrant.hypotest.omnibus.transforms import Transforms
from calibrant.predictions import effective_rows

ROWS = 4096
"""With more rows of equal weight, only counts in groups of similar rows are drawn."""

STRIPS = 8
"""Number of equal parts that such rows are divided into by location, and likewise by width of the forecasts."""

BLOCK_CELLS = 500_000
"""Approximate number of transforms that are drawn at a time."""

NARROW_WIDE = {1: "too narrow", -1: "too wide"}

SHAPE_WORDS = (
    {1: "more targets far above", -1: "more targets far below"},
    {1: "tails too light", -1: "tails too heavy"},
)
"""Directions of skewness and of tails, by sign."""

TREND_WORDS = tuple(
    {sign: f"{words} where they are {place}" for sign, words in kind.items()}
    for kind in (BIAS, NARROW_WIDE)
    for place in ("high", "wide")
)
"""Directions of the trends of centre and of spread, by sign."""


class ForecastPart(NamedTuple):
    """One statistic of the test: its name, and for each of its components the direction, by sign."""

    name: str
    words: tuple[Mapping[int, str], ...]


PARTS = (
    ForecastPart("centre", (BIAS,)),
    ForecastPart("spread", (NARROW_WIDE,)),
    ForecastPart("shape", SHAPE_WORDS),
    ForecastPart("quantiles", ({},)),
    ForecastPart("trend", TREND_WORDS),
)
"""Parts for forecasts of numbers."""

OF_DISTANCES = (
    ForecastPart("spread", (NARROW_WIDE,)),
    ForecastPart("shape", ({}, {}, {})),
    ForecastPart("quantiles", ({},)),
)
"""Parts for distances from the mean, which have no side: distances that are too large mean forecasts too narrow."""


class Sums(NamedTuple):
    """The sums from which all statistics of B sets of transforms are computed.

    Attributes
    ----------
    scores : ndarray of shape (5, B)
        Sums of the scores with the weights of the rows.
    trends : ndarray of shape (4, B)
        Sums of the scores of centre and size, each with the coefficients of both trends.
    below : ndarray of shape (B, q)
        Weight of the transforms up to each level.
    """

    scores: FloatArray
    trends: FloatArray
    below: FloatArray


@dataclass(frozen=True, eq=False)
class ForecastEvidence:
    r"""Statistics of transforms :math:`u_i`, which are independent and uniform if the forecasts are right.

    Notes
    -----
    With :math:`z_i = \Phi^{-1}(u_i)`, weights :math:`w_i` and :math:`n = (\sum_i w_i)^2 / \sum_i w_i^2`, in units of
    the standard deviation that each has under calibration:

    - "centre": :math:`\sum_i w_i z_i`, the score of a shift of normal laws;
    - "spread": :math:`(\sum_i w_i z_i^2 / \sum_i w_i)^{1/3}` minus :math:`1 - 2 / (9 n)`, about its mean. The cube root
      makes too wide and too narrow equally visible for few rows (Wilson and Hilferty);
    - "shape": the larger of the sums of :math:`w_i (z_i^3 - 3 z_i)` and of :math:`w_i (z_i^4 - 6 z_i^2 + 3)`;
    - "quantiles": the mean distance between nominal and observed coverage of quantiles, MACE; if only the cell of a
      transform is known, the share of the cell up to a level counts;
    - "trend": the largest of the sums of :math:`w_i x_i z_i` and of :math:`w_i x_i (|z_i| - E|z|)`, where
      :math:`x_i` is the rank of the predicted median, or that of the predicted interquartile range, minus its mean.

    Each :math:`z_i`, and each function of it, is replaced by its mean over the cell that :math:`u_i` is in (`Grid`):
    narrow cells for distributions without atoms, one cell per rank for ensembles, and the intervals between columns of
    quantiles. Only the cells enter, so that cells are drawn instead of targets.

    Distances from the mean of vectors have no side. Their "spread" is the score called centre above, and their "shape"
    the largest of the scores of :math:`z^2`, :math:`z^3` and :math:`z^4`.

    With more than 4096 rows of equal weight, :math:`x_i` is the mean over its group, one of 64 by eighths of the rows
    by median and by width. The test is exact with these statistics as well, and only the number of rows of each group
    in each cell is needed.
    """

    parts: tuple[ForecastPart, ...]
    grid: Grid
    weights: FloatArray
    trends: FloatArray
    groups: IntArray | None

    @classmethod
    def of(cls, transforms: Transforms) -> Self:
        """Prepare everything that does not depend on targets."""
        weights = transforms.weights
        trends = np.zeros((2, len(weights)))
        if transforms.places is not None:
            trends = np.array([mid_ranks(place) for place in transforms.places])
        groups = None
        if len(weights) > ROWS and np.all(weights == weights[0]):
            groups = _strips(trends)
            sizes = np.bincount(groups)
            trends = np.array([(np.bincount(groups, trend) / sizes)[groups] for trend in trends])
        trends = weights * np.array([centred(trend, weights**2) for trend in trends])
        trends *= inverse_deviation(np.square(trends).sum(axis=1))[:, None]
        parts = PARTS if transforms.central else OF_DISTANCES
        return cls(parts, transforms.grid, weights, trends, groups)

    @property
    def n_effective(self) -> float:
        """Kish's effective number of rows."""
        return effective_rows(self.weights)

    def observed(self, transforms: Transforms) -> Sums:
        """Return the sums of the transforms themselves."""
        return self.of_cells(self.grid.cells(transforms.values)[:, None])

    def of_cells(self, cells: IntArray) -> Sums:
        """Return the sums of rows in the given cells, (n, B)."""
        n_cells, n_sets = len(self.grid.edges) + 1, cells.shape[1]
        scores = self.grid.scores[:, cells]
        places = cells + n_cells * np.arange(n_sets)
        mass = np.bincount(places.ravel(), np.repeat(self.weights, n_sets), n_cells * n_sets)
        return Sums(
            scores=self.weights @ scores,
            trends=np.concatenate([self.trends @ scores[CENTRE], self.trends @ scores[SIZE]]),
            below=self.grid.below(np.asarray(mass.reshape(n_sets, n_cells), dtype=np.float64)),
        )

    def redrawn(self, n_redraws: int, rng: np.random.Generator) -> Iterator[Sums]:
        """Yield the sums of uniform transforms drawn at random, in blocks."""
        largest = max(len(self.weights), len(self.grid.edges) + 1)
        width = max(1, BLOCK_CELLS // largest) if self.groups is None else n_redraws
        for start in range(0, n_redraws, width):
            size = min(width, n_redraws - start)
            if self.groups is None:
                yield self.of_cells(self.grid.draw((len(self.weights), size), rng))
            else:
                yield self._of_groups(size, rng)

    def _of_groups(self, n_redraws: int, rng: np.random.Generator) -> Sums:
        """Draw the number of rows of each group in each cell, and return the sums."""
        groups = np.zeros(0, dtype=np.int64) if self.groups is None else self.groups
        counts = np.zeros((n_redraws, len(self.grid.sizes)))
        trends = np.zeros((4, n_redraws))
        _, first, sizes = np.unique(groups, return_index=True, return_counts=True)
        for row, size in zip(first, sizes, strict=True):
            drawn = rng.multinomial(size, self.grid.sizes, size=n_redraws)
            scores = self.grid.scores[[CENTRE, SIZE]] @ drawn.T
            trends += np.concatenate([self.trends[:, row, None] * score for score in scores])
            counts += drawn
        weight = self.weights[0]
        return Sums(weight * self.grid.scores @ counts.T, trends, weight * self.grid.below(counts))

    def components(self, sums: Sums) -> tuple[FloatArray, ...]:
        """Return the components of every part, (C, B)."""
        scale = np.sqrt(np.square(self.weights).sum())
        scores, error = sums.scores / scale, self.error(sums)[None]
        if self.parts is OF_DISTANCES:
            return scores[[CENTRE]], scores[[SPREAD, SKEW, TAIL]], error
        return scores[[CENTRE]], self._spread(sums)[None], scores[[SKEW, TAIL]], error, sums.trends

    def error(self, sums: Sums) -> FloatArray:
        """Return MACE, (B,)."""
        return np.asarray(np.abs(sums.below / self.weights.sum() - self.grid.levels).mean(axis=1))

    def _spread(self, sums: Sums) -> FloatArray:
        """Return the cube root of the mean square, in standard deviations."""
        deviation = float(self.grid.deviations[SPREAD])
        error = deviation / np.sqrt(self.n_effective)
        if error <= 0:
            return np.zeros(sums.scores.shape[1])
        excess = deviation * sums.scores[SPREAD] / self.weights.sum()
        return np.asarray(3 * (np.cbrt(1 + excess) - (1 - error**2 / 9)) / error)

    def spread_about_mean(self, sums: Sums) -> float:
        """Return the deviation of the first set's spread, taken about its own mean, from the predicted spread.

        It is in standard deviations of the spread. A wrong centre moves transforms outwards too, which this corrects.
        """
        deviations = self.grid.deviations[[CENTRE, SPREAD]]
        shift, excess = deviations * sums.scores[[CENTRE, SPREAD], 0] / self.weights.sum()
        error = float(deviations[1]) / np.sqrt(self.n_effective)
        return float((excess - shift**2) / error) if error > 0 else 0.0


def _strips(trends: FloatArray) -> IntArray:
    """Return the group of every row, by parts of equal size of both trends."""
    levels = np.linspace(-1, 1, STRIPS + 1)[1:-1]
    by_place, by_width = (np.searchsorted(levels, ranks) for ranks in trends)
    _, groups = np.unique(STRIPS * by_place + by_width, return_inverse=True)
    return np.asarray(groups)
