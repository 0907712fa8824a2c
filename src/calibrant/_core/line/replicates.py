"""Mean gaps to the frequencies among neighbours for many columns of weights, the rows and outcomes being the same."""

from dataclasses import dataclass
from functools import cached_property
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from calibrant._core.library import EventsRecord, Matrix, Work, required
from calibrant._core.line.boxes import Boxes
from calibrant._core.line.strips import in_groups
from calibrant._core.line.sums import KernelSums, Way

Floats = NDArray[np.float64]


def is_worth_grouping(sums: object, columns: int) -> TypeGuard[KernelSums]:
    """Return whether `Replicates` are quicker than other ways: with some columns, unless most sums are term by term."""
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
        Whether the event happened, in the order in which the line was given.
    """

    sums: KernelSums
    happened: NDArray[np.bool_]

    def gaps(self, weights: Matrix, least: Floats, norm: float, columns: int, n_threads: int | None) -> Floats:
        """Return the four totals of every column, (columns, 4): see `RowGaps`."""
        core, sources, plan = required(), self.sums.sources, self.sums.rows.as_record()
        totals = np.empty((columns, 4))

        def task(first: int, work: Work) -> None:
            width = min(core.lanes, columns - first)
            self._pack(weights, first, width, work)
            some = totals[first : first + width]
            core.replicate_gaps(sources, self._events, plan, work, self._places, least, norm, width, some)

        in_groups(task, range(0, columns, core.lanes), self._work, n_threads)
        return totals

    def _work(self) -> Work:
        """Return the memory that one thread needs."""
        lanes, sources = required().lanes, self.sums.sources
        moments = np.empty(len(self.sums.boxes.ids) * sources.terms * 2 * lanes)
        return Work.of(weights=np.empty((sources.n + lanes + 1) * lanes), moments=moments)

    def _pack(self, weights: Matrix, first: int, width: int, work: Work) -> None:
        """Write some columns of weights side by side, in increasing order of the rows; those that are missing are 0."""
        core, order = required(), self.sums.line.order
        core.pack(weights, order, len(order), first, width, core.lanes, work.kept["weights"])

    @cached_property
    def _places(self) -> Floats:
        """Where in its box each row is, between -1 and 1."""
        boxes = self.sums.boxes
        box = np.repeat(np.arange(len(boxes.ids)), np.diff(boxes.starts))
        return (self.sums.line.x - boxes.centres[box]) * boxes.scales[box]

    @cached_property
    def _events(self) -> EventsRecord:
        return _arranged(self.sums.boxes, self._places, self.happened[self.sums.line.order])


def _arranged(boxes: Boxes, places: Floats, happened: NDArray[np.bool_]) -> EventsRecord:
    """Sort the rows of every box by whether the event happened, those with it first."""
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
