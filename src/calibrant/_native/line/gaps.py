"""Mean gaps between rows and the frequencies among their neighbours, for many columns, without a matrix of sums.

A register's width of columns is summed and reduced at a time, while the sums are still at hand.

Importing this module imports numba: import it inside the function that needs it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from calibrant._native.compile import entry
from calibrant._native.line.boxes import Line
from calibrant._native.line.replicates import Replicates, is_worth_grouping
from calibrant._native.line.strips import Fill, Matrix, Room, for_strips

Floats = NDArray[np.float64]

_ROWS_A_SUM = 1024


class Rows(Protocol):
    """Compiled kernel sums over the rows of a line."""

    @property
    def line(self) -> Line:
        """The rows."""

    def peak(self, points: Floats) -> Floats:
        """Return the kernel at distance 0 from the points."""

    def fill_rows(self) -> Fill:
        """Return what makes the leave-one-out sums of some columns."""

    def leave_one_out(self, charges: Floats) -> Floats:
        """Return the sums over all other rows."""


@entry
def _pack_weights(weights: Matrix, outcomes: Any, order: Any, first: int, width: int, packed: Any) -> None:
    """Write weights times outcomes, then weights, for the rows in increasing order."""
    for i in range(len(order)):
        at, start = 2 * width * i, order[i] * weights.row + first * weights.column
        for column in range(width):
            weight = weights.flat[start + column * weights.column]
            packed[at + column] = weight * outcomes[i]
            packed[at + width + column] = weight
    packed[2 * width * len(order) :] = 0.0


@entry
def _pack_hits(hits: Matrix, weights: Any, order: Any, first: int, width: int, packed: Any) -> None:
    """Write the weights of the rows in increasing order where the event happened, and 0 elsewhere."""
    for i in range(len(order)):
        at, start = width * i, order[i] * hits.row + first * hits.column
        for column in range(width):
            packed[at + column] = weights[i] if hits.flat[start + column * hits.column] else 0.0
    packed[width * len(order) :] = 0.0


@entry
def _add_gaps(x: Any, hits: Any, mass: Any, weights: Any, least: Any, norm: float, totals: Any) -> None:
    """Write, by column, the sums of weight times gap and of weight, over rows with neighbours and over rows without.

    Hits, mass and weights are of shape (n, columns); a row has no neighbours if their mass is at most `least` (n,)
    times the mean weight. As elsewhere, sums of some rows are added up.
    """
    n, columns = hits.shape
    means, partial = np.zeros(columns), np.empty(totals.shape)
    for i in range(n):
        for column in range(columns):
            means[column] += weights[i, column]
    means /= max(n, 1)
    totals[:] = 0.0
    for first in range(0, n, _ROWS_A_SUM):
        partial[:] = 0.0
        for i in range(first, min(first + _ROWS_A_SUM, n)):
            for column in range(columns):
                weight, around = weights[i, column], mass[i, column]
                lonely = around <= least[i] * means[column]
                frequency = 0.0 if lonely else min(max(hits[i, column] / around, 0.0), 1.0)
                gap = abs(frequency - x[i])
                if norm != 1.0:
                    gap = gap * gap if norm == 2.0 else gap**norm
                part = 2 if lonely else 0
                partial[column, part] += weight * gap
                partial[column, part + 1] += weight
        totals += partial


@dataclass(frozen=True, eq=False)
class RowGaps:
    """The mean of |frequency among all other rows - position|^norm, for many columns of weights or of labels.

    Parameters
    ----------
    sums : KernelSums or BetaSums
    norm : float
    least : array of shape (n,)
        Rows whose neighbours have at most this mass times the mean weight have none.
    combine : callable
        Maps the sums of weight times gap and of weight over rows with neighbours, and both over rows without, all of
        shape (B,), to values (B,).
    """

    sums: Rows
    norm: float
    least: Floats
    combine: Callable[[Floats, Floats, Floats, Floats], Floats]

    def of_weights(self, outcomes: Floats, weights: Floats, *, n_threads: int | None = None) -> Floats:
        """Return a value for each column of weights (n, B), given outcomes (n,)."""
        n, columns = weights.shape
        matrix = Matrix.of(weights, np.float64)
        if is_worth_grouping(self.sums, columns):
            replicates = Replicates(self.sums, outcomes > 0.5)
            return self.combine(*replicates.gaps(matrix, self._least, float(self.norm), columns, n_threads).T)
        order, fill = self.sums.line.order, self.sums.fill_rows()
        happened = outcomes[order]
        totals = np.empty((columns, 4))

        def task(first: int, width: int, room: Room, n_threads: int | None) -> None:
            _pack_weights(matrix, happened, order, first, width, room.charges)
            fill(room.charges, room.sums, 2 * width, n_threads)
            sums, own = (a[: n * 2 * width].reshape(n, 2 * width) for a in (room.sums, room.charges))
            self._reduce(sums[:, :width], sums[:, width:], own[:, width:], totals[first : first + width])

        for_strips(task, columns, (n, n), 2, n_threads)
        return self.combine(*totals.T)

    def of_labels(self, hits: NDArray[np.bool_], weights: Floats, *, n_threads: int | None = None) -> Floats:
        """Return a value for each column of events (n, B), given weights (n,)."""
        n, columns = hits.shape
        order, fill = self.sums.line.order, self.sums.fill_rows()
        matrix, own = Matrix.of(hits), weights[order]
        mass = self.sums.leave_one_out(weights[:, None])[order, 0]
        totals = np.empty((columns, 4))

        def task(first: int, width: int, room: Room, n_threads: int | None) -> None:
            _pack_hits(matrix, own, order, first, width, room.charges)
            fill(room.charges, room.sums, width, n_threads)
            sums = room.sums[: n * width].reshape(n, width)
            self._reduce(sums[:, :width], _repeated(mass, width), _repeated(own, width), totals[first : first + width])

        for_strips(task, columns, (n, n), 1, n_threads)
        return self.combine(*totals.T)

    @cached_property
    def _least(self) -> Floats:
        return self.least[self.sums.line.order]

    def _reduce(self, hits: Floats, mass: Floats, weights: Floats, totals: Floats) -> None:
        _add_gaps(self.sums.line.x, hits, mass, weights, self._least, float(self.norm), totals)


def _repeated(column: Floats, width: int) -> Floats:
    """Return a column as so many equal ones, without a copy."""
    return np.lib.stride_tricks.as_strided(column, (len(column), width), (column.itemsize, 0))
