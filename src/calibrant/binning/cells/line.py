"""One probability and its event in a sketch: the rows of every cell."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from calibrant._border.types import BoolArray, FloatArray, IntArray
from calibrant._core.sketch import MOST_ROWS, count_rows, place, scores, sum_scores
from calibrant.binning.cells import weights as weighting
from calibrant.binning.cells.grid import Grid
from calibrant.binning.cells.weights import Masses, products
from calibrant.predictions import Predictions

UNIT = 2**32
"""Scores are summed in units of one part in this many."""

COLUMNS = 5
"""Rows without the event, rows with it, offsets, smallest and largest prediction."""


class Cells(NamedTuple):
    """Occupied cells in ascending order of their predictions.

    Attributes
    ----------
    means : ndarray of shape (C,)
        Mean prediction; the prediction itself where all rows of the cell have the same.
    without, events : ndarray of shape (C,)
        Rows in which the event did not happen, and rows in which it did.
    """

    means: FloatArray
    without: IntArray
    events: IntArray

    @property
    def counts(self) -> IntArray:
        """Rows of every cell."""
        return self.without + self.events


@dataclass(eq=False)
class Line:
    """Rows counted into the cells of a grid, and the sum of their squared errors.

    Attributes
    ----------
    grid : Grid
    table : ndarray of shape (cells, 5)
    squares : int
        In units of 2^-32; of weighted rows in units of 2^-52.
    masses : ndarray of shape (cells, 8) or None
        Sums of weights, see `weights`; None while every row has weight 1.
    """

    grid: Grid
    table: IntArray
    squares: int = 0
    masses: IntArray | None = None
    _block: FloatArray | None = None

    @classmethod
    def empty(cls, grid: Grid) -> Self:
        """Return a line without rows."""
        table = np.zeros((grid.n_cells, COLUMNS), dtype=np.int64)
        table[:, 3], table[:, 4] = np.iinfo(np.int64).max, -1
        return cls(grid, table)

    def add(
        self, probs: FloatArray, events: BoolArray, units: IntArray | None = None, *, with_logs: bool = False
    ) -> tuple[int, int]:
        """Count rows; return the sum of their log losses if wanted, in the units of squares, and how many are infinite.

        Weights, in units of 2^-20, must be given if the line has masses.
        """
        if units is not None:
            self.weighted()  # Before rows are counted, which have weights of their own.
        happened, logs, infinite = events.view(np.uint8), 0, 0
        for start in range(0, len(probs), MOST_ROWS):
            rows = slice(start, start + MOST_ROWS)
            block = self._doubles(probs[rows])
            count_rows(block, happened[rows], self.grid.cuts, self.table)
            if units is None:
                squares, more, never = sum_scores(block, happened[rows], with_logs=with_logs)
            else:
                self._weigh(block, happened[rows], units[rows])
                squares, more, never = weighted_scores(block, happened[rows], units[rows], with_logs=with_logs)
            self.squares, logs, infinite = self.squares + squares, logs + more, infinite + never
        return logs, infinite

    def _weigh(self, probs: FloatArray, events: NDArray[np.uint8], units: IntArray) -> None:
        """Add the weights of a block of rows to the masses."""
        masses = self.weighted()
        part, offset = place(probs, self.grid.cuts)
        happened = events.astype(np.int64)
        np.add.at(masses, (part, happened), units)
        offsets = np.full_like(happened, 6)
        for first, (high, low) in ((2 + 2 * happened, products(units, units)), (offsets, products(units, offset))):
            np.add.at(masses, (part, first), high)
            np.add.at(masses, (part, first + 1), low)
        touched = np.unique(part)
        masses[touched] = weighting.normalised(masses[touched])

    def weighted(self) -> IntArray:
        """Return the masses; if there are none yet, every row gets a weight of 1."""
        if self.masses is None:
            self.masses = weighting.of_ones(self.table)
            self.squares *= weighting.ONE
        return self.masses

    def _doubles(self, probs: NDArray[Any]) -> FloatArray:
        """Return numbers in double precision; others are converted in memory that is used again and again."""
        if probs.dtype == np.float64 and probs.flags.c_contiguous:
            return probs
        if self._block is None:
            self._block = np.empty(MOST_ROWS)
        block = self._block[: len(probs)]
        block[:] = probs
        return block

    def __add__(self, other: "Line") -> "Line":
        table = self.table + other.table
        np.minimum(self.table[:, 3], other.table[:, 3], out=table[:, 3])
        np.maximum(self.table[:, 4], other.table[:, 4], out=table[:, 4])
        squares, masses = self.squares + other.squares, None
        if self.masses is not None or other.masses is not None:
            mine, yours = (weighting.of_ones(one.table) if one.masses is None else one.masses for one in (self, other))
            masses = weighting.normalised(mine + yours)
            squares = sum(one.squares * (weighting.ONE if one.masses is None else 1) for one in (self, other))
        return Line(self.grid, table, squares, masses)

    @property
    def occupied(self) -> NDArray[np.intp]:
        """Numbers of the cells that hold rows."""
        return np.flatnonzero(self.table[:, 4] >= 0)

    def cells(self) -> Cells:
        """Return the occupied cells; with weights, their mean predictions are weighted."""
        at = self.occupied
        without, events, offsets, least, most = self.table[at].T
        low, high = (np.ascontiguousarray(bits).view(np.float64) for bits in (least, most))
        if self.masses is None:
            means = self.grid.means(at, without + events, offsets)
        else:
            mass = self.masses[at]
            parts = np.float64(2.0**weighting.LIMB) * mass[:, 6] + mass[:, 7]
            means = self.grid.means(at, mass[:, 0] + mass[:, 1], parts)
        # The mean of equal numbers is that number, and no mean is beside the numbers, whatever rounding says.
        return Cells(np.clip(means, low, high), without, events)

    def sums(self) -> Masses | None:
        """Return the weights of the occupied cells, and their squares; None if every row has weight 1."""
        return None if self.masses is None else Masses.of(self.masses[self.occupied])


def weighted_scores(
    probs: FloatArray, events: NDArray[np.uint8], units: IntArray, *, with_logs: bool
) -> tuple[int, int, int]:
    """Return what `sum_scores` does, of rows with weights: sums in units of 2^-52, and how many are infinite."""
    squares, logs, never = scores(probs, events)
    total = weighting.weighted_sum(units, squares)
    return (total, weighting.weighted_sum(units, logs), int(never.sum())) if with_logs else (total, 0, 0)


def as_predictions(cells: Cells, classes: tuple[object, ...], masses: Masses | None = None) -> Predictions:
    """Return a few rows per cell, without the event and with it, which stand for those that the cell has of each.

    Without weights there are two at most, each for as many rows as were counted. With weights there are four at most,
    which stand for the fewest rows that have the same sums of weights and of squared weights (`stand_in`).
    """
    counts = np.column_stack([cells.without, cells.events]).astype(float)
    if masses is None:
        copies, each = counts[:, :, None], np.ones((*counts.shape, 1))
    else:
        many, weight, last = weighting.stand_in(masses.weights, masses.squares)
        copies, each = np.stack([many, (last > 0).astype(float)], axis=2), np.stack([weight, last], axis=2)
    kept = copies.ravel() > 0
    copies, weights = copies.ravel()[kept], (copies * each).ravel()[kept]
    kinds = each.shape[2]
    probs = np.repeat(cells.means, 2 * kinds)[kept]
    labels = np.tile(np.repeat([0, 1], kinds), len(cells.means))[kept]
    return Predictions._trusted(  # noqa: SLF001 (made of numbers that were checked)
        np.column_stack([1.0 - probs, probs]), labels, weights, classes, copies=copies
    )
