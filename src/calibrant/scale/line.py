"""One probability and its event in a sketch: the rows of every cell."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from calibrant._core.sketch import MOST_ROWS, count_rows, sum_scores
from calibrant._typing import BoolArray, FloatArray, IntArray
from calibrant.predictions import Predictions
from calibrant.scale.grid import Grid

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
    """Rows counted into the cells of a grid, and the sum of their squared errors in units of 2^-32."""

    grid: Grid
    table: IntArray
    squares: int = 0
    _block: FloatArray | None = None

    @classmethod
    def empty(cls, grid: Grid) -> Self:
        """Return a line without rows."""
        table = np.zeros((grid.n_cells, COLUMNS), dtype=np.int64)
        table[:, 3], table[:, 4] = np.iinfo(np.int64).max, -1
        return cls(grid, table)

    def add(self, probs: FloatArray, events: BoolArray, *, with_logs: bool = False) -> tuple[int, int]:
        """Count rows; return the sum of their log losses in units of 2^-32 if wanted, and how many are infinite."""
        happened, logs, infinite = events.view(np.uint8), 0, 0
        for start in range(0, len(probs), MOST_ROWS):
            rows = slice(start, start + MOST_ROWS)
            block = self._doubles(probs[rows])
            count_rows(block, happened[rows], self.grid.cuts, self.table)
            squares, more, never = sum_scores(block, happened[rows], with_logs=with_logs)
            self.squares, logs, infinite = self.squares + squares, logs + more, infinite + never
        return logs, infinite

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
        return Line(self.grid, table, self.squares + other.squares)

    @property
    def occupied(self) -> NDArray[np.intp]:
        """Numbers of the cells that hold rows."""
        return np.flatnonzero(self.table[:, 4] >= 0)

    def cells(self) -> Cells:
        """Return the occupied cells."""
        at = self.occupied
        without, events, offsets, least, most = self.table[at].T
        low, high = (np.ascontiguousarray(bits).view(np.float64) for bits in (least, most))
        # The mean of equal numbers is that number, and no mean is beside the numbers, whatever rounding says.
        means = np.clip(self.grid.means(at, without + events, offsets), low, high)
        return Cells(means, without, events)


def as_predictions(cells: Cells, classes: tuple[object, ...]) -> Predictions:
    """Return two rows per cell, without the event and with it, which stand for as many rows as the cell has of each."""
    probs = np.repeat(cells.means, 2)
    weights = np.column_stack([cells.without, cells.events]).ravel().astype(float)
    labels = np.tile([0, 1], len(cells.means))
    kept = weights > 0
    return Predictions._trusted(  # noqa: SLF001 (made of numbers that were checked)
        np.column_stack([1.0 - probs, probs])[kept], labels[kept], weights[kept], classes, copies=weights[kept]
    )
