"""Counts of events in cells of rows with similar predictions: redraws without a draw per row."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from calibrant._border.types import BoolArray, FloatArray, IntArray, Progress
from calibrant._core.threads import in_order
from calibrant.binning.ties import comparable, starts_of_ties
from calibrant.predictions import Predictions

FEW_ROWS = 4096
"""Up to this many rows, every row is drawn by itself."""

GROUPS, MORE_GROUPS, MANY_ROWS = 2048, 8192, 1_000_000
"""Number of groups of equal size into which predictions are cut: below a million rows, and from a million on."""

WEIGHTED_GROUPS = 256
"""Number of groups if rows have weights, by which each group is cut further."""

RATIO, SMALLEST_WEIGHT = 1.05, 1e-4
"""Weights in a cell differ by at most this factor; those below this share of the largest count as equal."""

TOGETHER = 32
"""Number of redraws that share one random generator."""

CERTAIN = 1 - 2.0**-53
"""Larger probabilities are replaced by this one."""


@dataclass(frozen=True, eq=False)
class EventCells:
    r"""Cells of rows, and draws of the number of events in each.

    Notes
    -----
    The number of events among rows with the probabilities :math:`p_i \ge a` is drawn exactly, without a draw per row:
    with independent :math:`A_i` of probability a and :math:`D_i` of probability :math:`q_i = (p_i - a) / (1 - a)`, the
    event "A or D" has probability :math:`p_i`. So if :math:`D_i` occurs for D of m rows, the number of events is D plus
    Binomial(m - D, a). With a the least probability of the cell, :math:`D_i` occurs for hardly any row: rows are hit by
    Poisson processes of rate :math:`-\log(1 - q_i)`, drawn by thinning one of constant rate, and :math:`D_i` occurs if
    row i is hit at least once. Where most probabilities exceed 1/2, rows without the event are counted instead.

    Examples
    --------
    >>> cells = EventCells(np.array([0.0, 0.0, 1.0, 1.0, 1.0]), np.arange(5), np.array([0, 2]), np.array([0, 2]))
    >>> next(cells.draw(1, np.random.default_rng(0)))[:, 0].tolist()
    [0.0, 3.0]
    """

    probs: FloatArray  # (n,): probabilities of the event, in the order of the cells.
    order: NDArray[np.intp]  # (n,): the rows in this order.
    starts: NDArray[np.intp]  # Where the cells begin.
    groups: NDArray[np.intp]  # Where groups of cells begin; each has larger probabilities than those before it.
    copies: FloatArray | None = None
    """How many rows each stands for, if not one; then all rows of a cell must have the same probability."""

    @classmethod
    def of_rows(cls, probs: FloatArray) -> Self:
        """Return one cell per row, in ascending order of the predictions."""
        order, distinct = _sorted(probs)
        return cls(probs[order], order, np.arange(len(probs)), distinct)

    @cached_property
    def sizes(self) -> IntArray:
        """Number of rows of every cell."""
        if self.copies is not None:
            return np.asarray(np.rint(np.add.reduceat(self.copies, self.starts)), dtype=np.int64)
        return np.diff(self.starts, append=len(self.probs))

    def split(self, index: IntArray) -> "EventCells":
        """Return the cells cut further, so that this index of the rows, (n,), is the same within each."""
        changes = starts_of_ties(index[self.order])
        return EventCells(
            self.probs, self.order, _distinct(np.sort(np.concatenate([self.starts, changes]))), self.groups, self.copies
        )

    def totals(self, values: FloatArray) -> FloatArray:
        """Return the sum over the rows of every cell, (C,), of numbers in the order of the cells, (n,)."""
        values = values if self.copies is None else self.copies * values
        return values if len(self.starts) == len(values) else np.add.reduceat(values, self.starts)

    def means(self, values: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the weighted mean in every cell; the plain mean in cells without weight."""
        mass = self.totals(weights)
        plain = self.totals(values) / self.sizes
        return np.divide(self.totals(weights * values), mass, out=plain, where=mass > 0)

    def count(self, events: NDArray[np.number | np.bool_]) -> FloatArray:
        """Return how many events every cell has, (C, B), for events of shape (n, B)."""
        arranged = events[self.order]
        arranged = arranged if self.copies is None else self.copies[:, None] * arranged
        if len(self.starts) == len(arranged):
            return arranged.astype(float)
        return np.add.reduceat(arranged, self.starts, axis=0, dtype=float)

    def draw(
        self, n_resamples: int, rng: np.random.Generator, progress: Progress | None = None
    ) -> Iterator[FloatArray]:
        """Yield blocks of counts, (C, block), each column drawn from the predictions.

        Each block has random numbers of its own, so that the draws depend on the seed alone.
        """
        sizes = [min(TOGETHER, n_resamples - start) for start in range(0, n_resamples, TOGETHER)]
        seeds = rng.integers(0, 2**63, size=len(sizes))
        done = 0
        for counts in in_order(lambda job: self._draw(*job), list(zip(sizes, seeds, strict=True))):
            yield counts
            done += counts.shape[1]
            if progress is not None:
                progress(done, n_resamples)

    def _draw(self, n_columns: int, seed: int) -> FloatArray:
        rng = np.random.default_rng(seed)
        extra = self._extra(n_columns, rng)
        # NumPy reuses the set-up of a binomial law for equal parameters, so the redraws of a cell follow each other.
        counts = extra + rng.binomial(self.sizes[:, None] - extra, self._law.least[:, None])
        return np.where(self._law.turned[:, None], self.sizes[:, None] - counts, counts).astype(float)

    def _extra(self, n_columns: int, rng: np.random.Generator) -> IntArray:
        """Return for how many rows of each cell the event D of the notes occurs, (C, columns)."""
        law, shape = self._law, (len(self.starts), n_columns)
        redraw = np.repeat(np.arange(n_columns), rng.poisson(law.until[-1], n_columns))
        cell = np.searchsorted(law.until, rng.random(len(redraw)) * law.until[-1], side="right")
        cell = np.minimum(cell, law.last)
        row = self.starts[cell] + rng.integers(0, self.sizes[cell])
        probs = np.where(law.turned[cell], 1 - self.probs[row], self.probs[row])
        taken = rng.random(len(row)) * law.rates[cell] < _rate(probs, law.least[cell])
        _, first = np.unique((redraw * len(self.probs) + row)[taken], return_index=True)
        places = (cell * n_columns + redraw)[taken][first]
        return np.bincount(places, minlength=shape[0] * shape[1]).reshape(shape)

    @cached_property
    def _law(self) -> "_Law":
        low, high = np.minimum.reduceat(self.probs, self.starts), np.maximum.reduceat(self.probs, self.starts)
        turned = low + high > 1
        least, most = np.where(turned, 1 - high, low), np.where(turned, 1 - low, high)
        rates = _rate(most, least)
        last = np.flatnonzero(rates).max(initial=0)
        return _Law(turned, least, rates, np.cumsum(rates * self.sizes), int(last))


class _Law(NamedTuple):
    """How the events of every cell are drawn."""

    turned: BoolArray  # Whether rows without the event are counted.
    least: FloatArray  # The least probability in the cell of what is counted.
    rates: FloatArray  # The largest rate at which a row of the cell is hit.
    until: FloatArray  # The sum of these rates over all rows of this and earlier cells.
    last: int  # The last cell with a positive rate.


def _rate(probs: FloatArray, least: FloatArray) -> FloatArray:
    """Return -log(1 - q) for q = (p - a) / (1 - a)."""
    rest = np.where(least < 1, 1 - least, 1.0)
    return -np.log1p(-np.minimum((probs - least) / rest, CERTAIN))


def fine_cells(view: Predictions) -> EventCells | None:
    """Return cells so fine that the rows of a cell hardly differ, or None if there are hardly fewer cells than rows.

    They depend on the predictions and weights alone, and are cached with them. The rows in ascending order of the
    predictions are cut into `GROUPS` of about equal size, equal predictions together; within a group, the weights of a
    cell differ by at most the factor `RATIO`.

    Examples
    --------
    >>> p = Predictions(np.repeat([0.25, 0.75], 3000), labels=np.repeat([0, 1, 0, 1], [2200, 800, 700, 2300]))
    >>> fine_cells(p).sizes.tolist()
    [3000, 3000]
    """
    if view.copies is None and view.n_samples <= FEW_ROWS:
        return None
    return view.once("fine cells", lambda: _fine_cells(view), of_labels=False)


def _fine_cells(view: Predictions) -> EventCells | None:
    if view.copies is not None:
        order = np.lexsort([view.row_weights, view.positive])
        groups = starts_of_ties(view.positive[order])
        # Within a cell of the sketch, rows of different weights are separate cells.
        starts = np.union1d(groups, starts_of_ties(view.row_weights[order])) if view.is_weighted else groups
        return EventCells(view.positive[order], order, starts, groups, view.copies[order])
    (order, groups), n = _sorted(view.positive), view.n_samples
    if not view.is_weighted:
        groups = thinned(groups, n, GROUPS if n < MANY_ROWS else MORE_GROUPS)
        return EventCells(view.positive[order], order, groups, groups)
    groups = thinned(groups, n, WEIGHTED_GROUPS)
    group = np.repeat(np.arange(len(groups)), np.diff(groups, append=n))
    level = np.log(np.maximum(view.weights / view.weights.max(), SMALLEST_WEIGHT)) / -np.log(RATIO)
    cell = group * (int(level.max()) + 1) + level.astype(np.int64)[order]
    again = np.argsort(cell, kind="stable")
    order, starts = order[again], starts_of_ties(cell[again])
    return None if len(starts) > n / 2 else EventCells(view.positive[order], order, starts, groups)


def _sorted(probs: FloatArray) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the ascending order, and where each of the distinct values begins."""
    rounded = comparable(probs)
    order = np.argsort(rounded)  # The order of equal predictions does not matter: they stay together.
    return order, starts_of_ties(rounded[order])


def thinned(starts: NDArray[np.intp], n: int, most: int) -> NDArray[np.intp]:
    """Return the starts of groups of n rows, thinned to at most `most` groups of about equal size.

    They contain the starts for half of `most` groups, for a quarter and so on.

    Examples
    --------
    >>> thinned(np.array([0, 1, 4, 5, 6, 7]), n=8, most=4).tolist()
    [0, 1, 4, 6]
    """
    if len(starts) <= most:
        return starts
    wanted = np.arange(most) * n / most
    return _distinct(starts[np.searchsorted(starts, wanted, side="right") - 1])


def _distinct(ascending: NDArray[np.intp]) -> NDArray[np.intp]:
    return ascending[np.diff(ascending, prepend=-1) > 0]
