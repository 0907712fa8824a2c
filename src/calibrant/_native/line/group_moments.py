r"""Moments of many replicates: a register's width of them at once.

It is the summation of `expansion`, arranged for replicates, in which neither the rows nor their outcomes change. A box
collects the moments of rows with and without the event apart, so that a row enters once and not twice; their sum is
the mass. The polynomials :math:`T_k` at the places of some rows are tabulated and serve all replicates of the group,
and four rows share every moment that is loaded.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._native.compile import entry, glue, piece
from calibrant._native.lanes import LANES, broadcast, load, multiply_add, repeat, store
from calibrant._native.line.boxes import Boxes
from calibrant._native.line.evaluate import Sources

Floats = NDArray[np.float64]

PAIR = 2 * LANES
"""Events and mass of a group of replicates, side by side."""

CHUNK = 64
"""Rows whose polynomials are tabulated at a time.

Their sums are added up before they enter larger ones: the rounding of one long sum would grow with its terms.
"""

TOGETHER = 4
"""Rows that share what is loaded."""


class Events(NamedTuple):
    """The rows of every box, those with the event first.

    `rows` (n,) are their numbers, `places` (n,) where in the box they are, `middle` (k,) where those without the event
    begin; `happened` (n,) is 1 or 0 in the order of the line, with room for `LANES` more.
    """

    rows: Any
    places: Any
    middle: Any
    happened: Any


class Work(NamedTuple):
    """Room of one thread: packed weights, moments, and what is small."""

    weights: Any
    moments: Any
    local: Any
    table: Any
    sums: Any
    values: Any
    totals: Any


def arrange(boxes: Boxes, places: Floats, happened: NDArray[np.bool_]) -> Events:
    """Sort the rows of every box by whether the event happened."""
    n, starts = len(happened), boxes.starts
    before = np.concatenate([[0], np.cumsum(happened)])
    middle = starts[:-1] + before[starts[1:]] - before[starts[:-1]]
    box = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    rank = np.arange(n) - before[:-1] + before[starts[box]] - starts[box]
    to = np.where(happened, starts[box] + before[:-1] - before[starts[box]], middle[box] + rank)
    rows = np.empty(n, dtype=np.int64)
    rows[to] = np.arange(n)
    return Events(rows, places[rows], middle, np.append(happened, np.zeros(LANES)).astype(np.float64))


def room(sources: Sources) -> Work:
    """Return the memory that one thread needs."""
    n_boxes, terms = len(sources.boxes.ids), sources.terms
    return Work(
        weights=np.zeros((sources.n + LANES) * LANES),
        moments=np.empty(n_boxes * terms * PAIR),
        local=np.empty(terms * PAIR),
        table=np.empty(terms * CHUNK),
        sums=np.empty(CHUNK * PAIR),
        values=np.empty(2 * LANES),
        totals=np.empty(4 * LANES),
    )


@entry
def pack(weights: Any, order: Any, first: int, width: int, packed: Any) -> None:
    """Write some columns of weights side by side, in increasing order of the rows; columns that are missing are 0."""
    for i in range(len(order)):
        start = order[i] * weights.row + first * weights.column
        if width == LANES and weights.column == 1:
            store(packed, i * LANES, load(weights.flat, start))
            continue
        for column in range(LANES):
            packed[i * LANES + column] = weights.flat[start + column * weights.column] if column < width else 0.0


@piece
def tabulate(table: Any, terms: int, places: Any, first: int, last: int) -> None:
    """Write T_0, T_1, ... at some places; beyond the last there are zeros."""
    for r in range(0, last - first, LANES):
        for lane in range(LANES):
            table[r + lane] = places[first + r + lane] if first + r + lane < last else 0.0
        s = load(table, r)
        before, now = s, repeat(1.0)
        for k in range(terms):
            store(table, k * CHUNK + r, now)
            before, now = now, (s + s) * now - before


@piece
def _collect_rows(weights: Any, rows: Any, table: Any, terms: int, span: Any, moments: Any, at: int) -> None:
    """Add some rows of the table to the moments that start there; the row after the last has no weight."""
    first, last, nothing = span
    for r in range(0, last - first, TOGETHER):
        i = first + r
        a = load(weights, rows[i] * LANES)
        b = load(weights, (rows[i + 1] if i + 1 < last else nothing) * LANES)
        c = load(weights, (rows[i + 2] if i + 2 < last else nothing) * LANES)
        d = load(weights, (rows[i + 3] if i + 3 < last else nothing) * LANES)
        for k in range(terms):
            t = k * CHUNK + r
            x = multiply_add(broadcast(table, t), a, load(moments, at + k * PAIR))
            y = multiply_add(broadcast(table, t + 1), b, broadcast(table, t + 2) * c)
            store(moments, at + k * PAIR, multiply_add(broadcast(table, t + 3), d, x) + y)


@piece
def _collect_part(work: Work, events: Events, n: int, terms: int, rows: Any, at: int) -> None:
    """Write the moments of some rows of one box."""
    start, end = rows
    weights, order, table, partial, moments = work.weights, events.rows, work.table, work.sums, work.moments
    for k in range(0, terms * PAIR, PAIR):
        store(moments, at + k, repeat(0.0))
    for first in range(start, end, CHUNK):
        last = min(first + CHUNK, end)
        tabulate(table, terms, events.places, first, last)
        for k in range(0, terms * PAIR, PAIR):
            store(partial, k, repeat(0.0))
        _collect_rows(weights, order, table, terms, (first, last, n), partial, 0)
        for k in range(0, terms * PAIR, PAIR):
            store(moments, at + k, load(moments, at + k) + load(partial, k))


@glue
def collect(sources: Sources, events: Events, work: Work) -> None:
    """Write the moments of all boxes: of the rows with the event, and of all."""
    boxes, terms, moments = sources.boxes, sources.terms, work.moments
    for box in range(len(boxes.ids)):
        at = box * terms * PAIR
        start, middle, end = boxes.starts[box], events.middle[box], boxes.starts[box + 1]
        _collect_part(work, events, sources.n, terms, (start, middle), at)
        _collect_part(work, events, sources.n, terms, (middle, end), at + LANES)
        for k in range(at, at + terms * PAIR, PAIR):
            store(moments, k + LANES, load(moments, k) + load(moments, k + LANES))
