"""Mean gaps between rows and the frequencies among their neighbours, for many columns, without a matrix of sums.

As many columns as fit into a register are summed and reduced at a time, while the sums are still in the cache.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from calibrant._border.types import FloatArray
from calibrant._core.library import EventsRecord, Matrix, Work, required
from calibrant._core.line.beta import BetaSums
from calibrant._core.line.boxes import Boxes
from calibrant._core.line.strips import Buffers, for_strips, in_groups
from calibrant._core.line.sums import KernelSums, Way


def is_worth_grouping(sums: KernelSums | BetaSums, columns: int) -> TypeGuard[KernelSums]:
    """Return whether `Replicates` are faster: if there are several columns, and most sums are not term by term."""
    if not isinstance(sums, KernelSums) or sums.sources.degree > 0 or columns <= required().lanes // 2:
        return False
    directly = np.repeat(sums.rows.way == Way.DIRECTLY, np.diff(sums.rows.boxes.starts))
    return bool(2 * np.count_nonzero(directly) <= len(directly))


@dataclass(frozen=True, eq=False)
class Replicates:
    """Leave-one-out sums of events and of weights, for a kernel that is not compact.

    Parameters
    ----------
    sums : KernelSums
    happened : array of shape (n,)
        Whether the event happened, in the original order of the rows.
    """

    sums: KernelSums
    happened: NDArray[np.bool_]

    def gaps(self, weights: Matrix, least: FloatArray, norm: float, columns: int) -> FloatArray:
        """Return the four totals of every column, (columns, 4): see `RowGaps`."""
        core, sources, plan = required(), self.sums.sources, self.sums.rows.as_record()
        totals = np.empty((columns, 4))

        def task(first: int, work: Work) -> None:
            width = min(core.lanes, columns - first)
            self._pack(weights, first, width, work)
            some = totals[first : first + width]
            core.replicate_gaps(sources, self._events, plan, work, self._places, least, norm, width, some)

        in_groups(task, range(0, columns, core.lanes), self._work)
        return totals

    def _work(self) -> Work:
        """Return the memory for one thread."""
        lanes, sources = required().lanes, self.sums.sources
        moments = np.empty(len(self.sums.boxes.ids) * sources.terms * 2 * lanes)
        return Work.of(weights=np.empty((sources.n + lanes + 1) * lanes), moments=moments)

    def _pack(self, weights: Matrix, first: int, width: int, work: Work) -> None:
        """Write columns of weights side by side, for rows in increasing order; missing columns are filled with 0."""
        core, order = required(), self.sums.line.order
        core.pack(weights, order, len(order), first, width, core.lanes, work.kept["weights"])

    @cached_property
    def _places(self) -> FloatArray:
        """The position of each row in its box, between -1 and 1."""
        boxes = self.sums.boxes
        box = np.repeat(np.arange(len(boxes.ids)), np.diff(boxes.starts))
        return (self.sums.line.x - boxes.centres[box]) * boxes.scales[box]

    @cached_property
    def _events(self) -> EventsRecord:
        return _arranged(self.sums.boxes, self._places, self.happened[self.sums.line.order])


def _arranged(boxes: Boxes, places: FloatArray, happened: NDArray[np.bool_]) -> EventsRecord:
    """Sort the rows of every box so that those with the event come first."""
    starts = boxes.starts
    before = np.concatenate([[0], np.cumsum(happened)])
    box = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    rows = np.lexsort((~happened, box)).astype(np.int64, copy=False)
    return EventsRecord.of(
        rows=rows,
        places=places[rows],
        middle=starts[:-1] + before[starts[1:]] - before[starts[:-1]],
        happened=np.append(happened, np.zeros(required().lanes)).astype(np.float64),
    )


@dataclass(frozen=True, eq=False)
class RowGaps:
    """The mean of |frequency among all other rows - position|^norm, for many columns of weights or of labels.

    Parameters
    ----------
    sums : KernelSums or BetaSums
    norm : float
    least : array of shape (n,)
        Rows whose neighbours have at most this mass, times the mean weight, count as isolated.
    combine : callable
        Maps the sums of weight times gap and of weight over rows with neighbours, and both over rows without, all of
        shape (B,), to values (B,).
    """

    sums: KernelSums | BetaSums
    norm: float
    least: FloatArray
    combine: Callable[[FloatArray, FloatArray, FloatArray, FloatArray], FloatArray]

    def of_weights(self, outcomes: FloatArray, weights: FloatArray) -> FloatArray:
        """Return a value for each column of weights (n, B), given outcomes (n,)."""
        n, columns = weights.shape
        matrix = Matrix.view(np.asarray(weights, dtype=np.float64))
        if is_worth_grouping(self.sums, columns):
            replicates = Replicates(self.sums, outcomes > 0.5)
            return self.combine(*replicates.gaps(matrix, self._least, float(self.norm), columns).T)
        core, order, fill = required(), self.sums.line.order, self.sums.fill_rows()
        happened = outcomes[order].astype(np.float64)
        totals = np.empty((columns, 4))

        def task(first: int, width: int, buffers: Buffers) -> None:
            core.pack_weights(matrix, happened, order, n, first, width, buffers.charges)
            fill(buffers.charges, buffers.sums, 2 * width)
            sums, own = (a[: n * 2 * width].reshape(n, 2 * width) for a in (buffers.sums, buffers.charges))
            self._reduce(sums[:, :width], sums[:, width:], own[:, width:], totals[first : first + width])

        for_strips(task, columns, (n, n), 2)
        return self.combine(*totals.T)

    def of_labels(self, hits: NDArray[np.bool_], weights: FloatArray) -> FloatArray:
        """Return a value for each column of events (n, B), given weights (n,)."""
        n, columns = hits.shape
        core, order, fill = required(), self.sums.line.order, self.sums.fill_rows()
        matrix, own = Matrix.view(hits, np.bool_), weights[order]
        mass = self.sums.leave_one_out(weights[:, None])[order, 0]
        totals = np.empty((columns, 4))

        def task(first: int, width: int, buffers: Buffers) -> None:
            core.pack_hits(matrix, own, order, n, first, width, buffers.charges)
            fill(buffers.charges, buffers.sums, width)
            sums = buffers.sums[: n * width].reshape(n, width)
            self._reduce(sums, _repeated(mass, width), _repeated(own, width), totals[first : first + width])

        for_strips(task, columns, (n, n), 1)
        return self.combine(*totals.T)

    @cached_property
    def _least(self) -> FloatArray:
        return self.least[self.sums.line.order]

    def _reduce(self, hits: FloatArray, mass: FloatArray, weights: FloatArray, totals: FloatArray) -> None:
        """Write, for each column, the sums of weight times gap and of weight, over rows with and without neighbours."""
        views = (Matrix.view(part) for part in (hits, mass, weights))
        required().gaps(self.sums.line.x, *views, self._least, float(self.norm), *hits.shape, totals)


def _repeated(column: FloatArray, width: int) -> FloatArray:
    """Return a column repeated `width` times, without a copy."""
    return np.broadcast_to(column[:, None], (len(column), width))
