"""The part of a sketch for one event: rows counted by the cell of its predicted probability."""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from calibrant._border.types import BoolArray, FloatArray, IntArray
from calibrant._core.sketch import (
    MOST_COUNTED,
    MOST_ROWS,
    add_records,
    columns_of,
    count_rows,
    empty_records,
    place,
    records_of,
    scores,
)
from calibrant.binning.cells import weights as weighting
from calibrant.binning.cells.grid import Grid
from calibrant.binning.cells.weights import Masses, products
from calibrant.predictions import Predictions

UNIT = 2**32
"""Scores are summed in units of 1 / UNIT."""

COLUMNS = 5
"""Rows without the event, rows with it, offsets, smallest and largest prediction."""


class Cells(NamedTuple):
    """Occupied cells in ascending order of their predictions."""

    means: FloatArray  # Mean prediction; exactly the prediction if all rows of the cell have the same.
    without: IntArray  # Rows in which the event did not happen.
    events: IntArray  # Rows in which it did.

    @property
    def counts(self) -> IntArray:
        """Rows of every cell."""
        return self.without + self.events


@dataclass(eq=False)
class Line:
    """Rows counted into the cells of a grid, and the sum of their squared errors."""

    grid: Grid
    records: IntArray
    """See `calibrant._core.sketch.empty_records`; not in the order of the cells, see `Cuts.record`."""
    counted: int = 0  # Rows in the records.
    earlier: IntArray | None = None
    """Rows that no longer fit into records, which count up to 2^31; in columns, see `columns`."""
    squares: int = 0  # In units of 2^-32; of weighted rows in units of 2^-52.
    masses: IntArray | None = None  # Sums of weights, see `weights`; None while every row has weight 1.

    @classmethod
    def empty(cls, grid: Grid) -> Self:
        """Return a line without rows."""
        return cls(grid, empty_records(grid.n_cells))

    def add(
        self, probs: FloatArray, events: BoolArray, units: IntArray | None = None, *, with_logs: bool = False
    ) -> tuple[int, int]:
        """Count rows; return the sum of their log losses if requested, in units of `squares`, and the infinite ones.

        Weights, in units of 2^-20, must be given if the line has masses.
        """
        if units is not None:
            self.weighted()  # Before these rows are counted, because earlier rows get weight 1.
        happened, logs, infinite = events.view(np.uint8), 0, 0
        for start in range(0, len(probs), MOST_ROWS):
            rows = slice(start, start + MOST_ROWS)
            block = _numbers(probs[rows])
            self._make_room(len(block))
            found = count_rows(block, happened[rows], self.grid.cuts, self.records, with_logs=with_logs)
            self.counted += len(block)
            if units is not None:
                block = block.astype(np.float64) + 0.0
                self._weigh(block, happened[rows], units[rows])
                found = weighted_scores(block, happened[rows], units[rows], with_logs=with_logs)
            squares, more, never = found
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
            self.masses = weighting.of_ones(self.columns(slice(None)))
            self.squares *= weighting.ONE
        return self.masses

    def __iadd__(self, other: "Line") -> Self:
        if self.masses is not None or other.masses is not None:
            mine, at = self.weighted(), other.occupied  # Most cells of most sketches are empty.
            yours = weighting.of_ones(other.columns(at)) if other.masses is None else other.masses[at]
            mine[at] = weighting.normalised(mine[at] + yours)
        scale = weighting.ONE if self.masses is not None and other.masses is None else 1
        self.squares += other.squares * scale
        self._make_room(other.counted)
        self.counted += other.counted
        add_records(self.records, other.records)
        if other.earlier is not None:
            self.earlier = other.earlier.copy() if self.earlier is None else _joined(self.earlier, other.earlier)
        return self

    def _make_room(self, more: int) -> None:
        """Empty the records if they would have to count too many rows."""
        if self.counted + more > MOST_COUNTED:
            self.earlier = self.columns(slice(None))
            self.records, self.counted = empty_records(self.grid.n_cells), 0

    def copy(self) -> "Line":
        """Return a line of its own with the same rows."""
        records = empty_records(self.grid.n_cells)
        records[:] = self.records
        earlier, masses = (None if one is None else one.copy() for one in (self.earlier, self.masses))
        return Line(self.grid, records, self.counted, earlier, self.squares, masses)

    @property
    def occupied(self) -> NDArray[np.intp]:
        """Numbers of the cells that hold rows."""
        is_occupied = self.records[self.grid.cuts.record, 3] >= 0
        return np.flatnonzero(is_occupied if self.earlier is None else is_occupied | (self.earlier[:, 4] >= 0))

    def columns(self, at: NDArray[np.intp] | slice) -> IntArray:
        """Return columns for some cells: rows without the event, with it, offsets, smallest and largest prediction."""
        found = columns_of(self.records[self.grid.cuts.record[at]])
        return found if self.earlier is None else _joined(self.earlier[at], found)

    def put(self, cells: NDArray[np.intp], columns: IntArray) -> None:
        """Fill a line without rows, given the result of `columns` for the occupied cells."""
        self.counted = int(columns[:, :2].sum())
        if self.counted <= MOST_COUNTED:
            self.records[self.grid.cuts.record[cells]] = records_of(columns)
            return
        self.counted, self.earlier = 0, self.columns(slice(None))
        self.earlier[cells] = columns

    def cells(self) -> Cells:
        """Return the occupied cells; with weights, their mean predictions are weighted."""
        at = self.occupied
        without, events, offsets, least, most = self.columns(at).T
        low, high = (np.ascontiguousarray(bits).view(np.float64) for bits in (least, most))
        if self.masses is None:
            means = self.grid.means(at, without + events, offsets)
        else:
            mass = self.masses[at]
            parts = np.float64(2.0**weighting.LIMB) * mass[:, 6] + mass[:, 7]
            means = self.grid.means(at, mass[:, 0] + mass[:, 1], parts)
        # Rounding must not move a mean outside the range of its numbers.
        return Cells(np.clip(means, low, high), without, events)

    def events_last(self) -> tuple[FloatArray, FloatArray]:
        """Return weights and weighted events, two entries per cell: rows without the event, then rows with it.

        Of all possible orders of the rows of a cell, this one rises most. Cells with one prediction have one entry.
        """
        at = self.occupied
        without, events, _, least, most = self.columns(at).T
        sums = np.column_stack([without, events]).astype(np.float64)
        if self.masses is not None:
            sums = Masses.of(self.masses[at]).weights
        is_tied = (least == most)[:, None]
        mass = np.where(is_tied, np.column_stack([sums.sum(axis=1), np.zeros(len(at))]), sums).ravel()
        hits = np.where(is_tied, sums[:, ::-1] * [1.0, 0.0], sums * [0.0, 1.0]).ravel()
        return mass[mass > 0], hits[mass > 0]

    def sums(self) -> Masses | None:
        """Return the weights of the occupied cells, and their squares; None if every row has weight 1."""
        return None if self.masses is None else Masses.of(self.masses[self.occupied])


def _joined(first: IntArray, second: IntArray) -> IntArray:
    """Return the columns of the rows of both."""
    total = first + second
    np.minimum(first[:, 3], second[:, 3], out=total[:, 3])
    np.maximum(first[:, 4], second[:, 4], out=total[:, 4])
    return total


def _numbers(probs: FloatArray | NDArray[np.float32]) -> FloatArray | NDArray[np.float32]:
    """Return contiguous numbers, in single or double precision."""
    if probs.dtype == np.float32:
        return np.ascontiguousarray(probs, dtype=np.float32)
    return np.ascontiguousarray(probs, dtype=np.float64)


def weighted_scores(
    probs: FloatArray, events: NDArray[np.uint8], units: IntArray, *, with_logs: bool
) -> tuple[int, int, int]:
    """Return the weighted sums of scores in units of 2^-52, and how many are infinite; see `sum_scores`."""
    squares, logs, never = scores(probs, events)
    total = weighting.weighted_sum(units, squares)
    return (total, weighting.weighted_sum(units, logs), int(never.sum())) if with_logs else (total, 0, 0)


def as_predictions(cells: Cells, classes: tuple[object, ...], masses: Masses | None = None) -> Predictions:
    """Return predictions with a few rows per cell, which stand for its rows without the event and with it.

    Without weights there are at most two per cell, one for all its rows of each kind. With weights there are at most
    four: they stand for the fewest rows with the same sums of weights and of squared weights (`stand_in`).
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
