"""Mean gaps to the frequencies among neighbours for many columns of weights, the rows and outcomes being the same.

Importing this module imports numba: import it inside the function that needs it.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from calibrant._native.compile import entry, glue, piece
from calibrant._native.lanes import LANES, absolute, if_less, larger, load, multiply_add, repeat, smaller, store
from calibrant._native.line.evaluate import DIRECTLY, Plan, Sources
from calibrant._native.line.group_moments import CHUNK, PAIR, Events, Work, arrange, collect, pack, room
from calibrant._native.line.group_sums import expand, sum_chunk
from calibrant._native.line.strips import Matrix, in_groups
from calibrant._native.line.sums import KernelSums

Floats = NDArray[np.float64]


class Targets(NamedTuple):
    """Places of the rows of the line within their boxes, the mass up to which each has no neighbours, the exponent."""

    places: Any
    least: Any
    norm: float


@glue
def _power(gap: Any, norm: float, values: Any) -> Any:
    if norm == 1.0:
        return gap
    if norm == 2.0:
        return gap * gap
    store(values, 0, gap)
    for lane in range(LANES):
        values[lane] = values[lane] ** norm
    return load(values, 0)


@piece
def _reduce(work: Work, targets: Targets, x: Any, rows: Any, means: Any) -> None:
    """Write the totals of some rows: weight times gap and weight, with neighbours and without."""
    first, last = rows
    sums, weights, least, norm, values = work.sums, work.weights, targets.least, targets.norm, work.values
    zero, one = repeat(0.0), repeat(1.0)
    a, b, c, d = zero, zero, zero, zero
    for i in range(first, last):
        at = (i - first) * PAIR
        hits, mass, weight = load(sums, at), load(sums, at + LANES), load(weights, i * LANES)
        bound = means * least[i]
        frequency = larger(smaller(hits / if_less(bound, mass, mass, one), one), zero)
        gap = _power(absolute(if_less(bound, mass, frequency, zero) - x[i]), norm, values)
        counted = if_less(bound, mass, weight, zero)
        a, b = multiply_add(counted, gap, a), b + counted
        c, d = multiply_add(weight - counted, gap, c), d + (weight - counted)
    store(work.totals, 0, a)
    store(work.totals, LANES, b)
    store(work.totals, 2 * LANES, c)
    store(work.totals, 3 * LANES, d)


@glue
def _mean_weights(work: Work, n: int) -> Any:
    total = repeat(0.0)
    for i in range(n):
        total = total + load(work.weights, i * LANES)
    return total * (1.0 / max(n, 1))


@entry
def gaps_of_group(sources: Sources, events: Events, plan: Plan, targets: Targets, work: Work, out: Any) -> None:
    """Write, by column, the sums of weight times gap and of weight, over rows with neighbours and over rows without."""
    starts, means = plan.boxes.starts, _mean_weights(work, sources.n)
    collect(sources, events, work)
    out[:] = 0.0
    for t in range(len(starts) - 1):
        if plan.way[t] != DIRECTLY:
            expand(sources, plan, work, t)
        for first in range(starts[t], starts[t + 1], CHUNK):
            last = min(first + CHUNK, starts[t + 1])
            sum_chunk(sources, events, plan, targets.places, work, (t, first, last))
            _reduce(work, targets, plan.x, (first, last), means)
            for part in range(4):
                for column in range(len(out)):
                    out[column, part] += work.totals[part * LANES + column]


@entry
def sums_of_group(sources: Sources, events: Events, plan: Plan, places: Any, work: Work, column: Any, out: Any) -> None:
    """Write events and mass of every row, (n, 2), in the column of weights that is given for it."""
    starts = plan.boxes.starts
    collect(sources, events, work)
    for t in range(len(starts) - 1):
        if plan.way[t] != DIRECTLY:
            expand(sources, plan, work, t)
        for first in range(starts[t], starts[t + 1], CHUNK):
            last = min(first + CHUNK, starts[t + 1])
            sum_chunk(sources, events, plan, places, work, (t, first, last))
            for i in range(first, last):
                at = (i - first) * PAIR + column[i]
                out[i, 0], out[i, 1] = work.sums[at], work.sums[at + LANES]


def is_worth_grouping(sums: object, columns: int) -> TypeGuard[KernelSums]:
    """Tell whether `Replicates` are quicker than other ways: with some columns, unless most sums are term by term."""
    if not isinstance(sums, KernelSums) or sums.sources.degree > 0 or columns <= LANES // 2:
        return False
    directly = np.repeat(sums.rows.way == DIRECTLY, np.diff(sums.rows.boxes.starts))
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
        """Return the four totals of every column, (columns, 4), as for `gaps_of_group`."""
        sources, plan, order = self.sums.sources, self.sums.rows, self.sums.line.order
        targets, totals = Targets(self._places, least, norm), np.empty((columns, 4))

        def task(first: int, work: Work) -> None:
            width = min(LANES, columns - first)
            pack(weights, order, first, width, work.weights)
            gaps_of_group(sources, self._events, plan, targets, work, totals[first : first + width])

        in_groups(task, columns, lambda: room(sources), n_threads)
        return totals

    def own_columns(self, weights: Floats, own: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Return events and mass of every row, each with its own one of at most `LANES` columns of weights."""
        sources, order = self.sums.sources, self.sums.line.order
        work, found, result = room(sources), np.empty((sources.n, 2)), np.empty((2, sources.n))
        pack(Matrix.of(weights, np.float64), order, 0, weights.shape[1], work.weights)
        sums_of_group(sources, self._events, self.sums.rows, self._places, work, own[order], found)
        result[:, order] = found.T
        return result[0], result[1]

    @cached_property
    def _places(self) -> Floats:
        boxes = self.sums.sources.boxes
        box = np.repeat(np.arange(len(boxes.ids)), np.diff(boxes.starts))
        return (self.sums.line.x - boxes.centres[box]) * boxes.scales[box]

    @cached_property
    def _events(self) -> Events:
        return arrange(self.sums.sources.boxes, self._places, self.happened[self.sums.line.order])
