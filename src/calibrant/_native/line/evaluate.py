"""The sums of a range of targets: what a thread does in one call."""

from typing import Any, NamedTuple

import numpy as np

from calibrant._native.compile import entry, glue, piece
from calibrant._native.lanes import LANES, load, repeat, store
from calibrant._native.line.boxes import Boxes
from calibrant._native.line.direct import sum_directly
from calibrant._native.line.expansion import add_box, polynomial
from calibrant._native.line.window import add_source, clear_moments, extended_position, extended_row, sum_window

# How the sums of a target box are made: by boxes, by boxes but its own, or term by term.
BY_BOXES, BY_OTHER_BOXES, DIRECTLY = range(3)


class Sources(NamedTuple):
    """The n rows that sums run over, in increasing order (with room for `LANES` more), and the kernel.

    `reach` counts boxes; see `expansion.translations` and `window.edge_polynomials` for the two tables.
    """

    n: int
    x: Any
    boxes: Boxes
    reflect: bool
    code: int
    per_bandwidth: float
    terms: int
    degree: int
    reach: int
    translations: Any
    edge: Any


class Tile(NamedTuple):
    """Up to `LANES` columns: charges, their moments, and the sums, all flat and in increasing order of the rows.

    The columns lie side by side, `width` of them; a load of charges reads on into the next rows, and these lanes are
    dropped. Charges have room for that at the end.
    """

    width: int
    charges: Any
    moments: Any
    out: Any


class Plan(NamedTuple):
    """Targets in increasing order, with what each of their boxes needs, in extended numbers.

    `whole` are the source boxes in full reach, `whole_rows` their rows; `rows` all rows in any reach; `way` how the
    sums are made. If `leave_out`, the targets are the sources, and each leaves itself out: `own` is the kernel between
    a row and itself and its images.
    """

    x: Any
    boxes: Boxes
    leave_out: bool
    own: Any
    whole: Any
    whole_rows: Any
    rows: Any
    way: Any


class Scratch(NamedTuple):
    """Room for a local polynomial, for the moments of a window, and for `LANES` values."""

    local: Any
    window: Any
    values: Any


@piece
def add_to_row(tile: Any, row: int, value: Any, values: Any) -> None:
    """Add the lanes in use to the sums of a row."""
    at = row * tile.width
    if tile.width == LANES:
        store(tile.out, at, load(tile.out, at) + value)
        return
    store(values, 0, value)
    for column in range(tile.width):
        tile.out[at + column] += values[column]


@glue
def _expand(sources: Sources, moments: Any, plan: Plan, t: int, local: Any) -> None:
    """Write the local polynomial of a target box: the sum over the whole boxes, perhaps but its own."""
    boxes = sources.boxes
    skip = t if plan.way[t] == BY_OTHER_BOXES else -1
    for term in range(sources.terms):
        store(local, term * LANES, repeat(0.0))
    for extended in range(plan.whole[t, 0], plan.whole[t, 1]):
        source = extended_row(len(boxes.ids), extended)
        if source != skip:
            matrix = plan.boxes.ids[t] - boxes.ids[source] + sources.reach
            if extended != source:
                image = (-1 if extended < 0 else 2 * boxes.n_boxes - 1) - boxes.ids[source]
                matrix = plan.boxes.ids[t] - image + sources.reach + 2 * sources.reach + 1
            add_box(local, sources.translations, matrix, moments, source, sources.terms)


@glue
def _sum_own(sources: Sources, tile: Tile, plan: Plan, t: int, target: Any) -> Any:
    """Return the sum over the target's own box, and over its images if they are within reach."""
    first, last, end = plan.boxes.starts[t], plan.boxes.starts[t + 1], 2 * sources.n
    total = sum_directly(sources, tile, target, first, last)
    if plan.rows[t, 0] < -first:
        total = total + sum_directly(sources, tile, target, -last, -first)
    if plan.rows[t, 1] > end - last:
        total = total + sum_directly(sources, tile, target, end - last, end - first)
    return total


@glue
def _sum_box(sources: Sources, tile: Tile, plan: Plan, scratch: Scratch, t: int, rows: Any) -> None:
    """Add the polynomial of a target box to its rows first..last - 1, and leave out what must be."""
    centre, scale = plan.boxes.centres[t], plan.boxes.scales[t]
    _expand(sources, tile.moments, plan, t, scratch.local)
    for i in range(rows[0], rows[1]):
        x = plan.x[i]
        value = polynomial(scratch.local, 0, sources.terms, (x - centre) * scale)
        if plan.way[t] == BY_OTHER_BOXES:
            value = value + _sum_own(sources, tile, plan, t, (x, i, scratch.values))
        elif plan.leave_out:
            value = value - load(tile.charges, i * tile.width) * plan.own[i]
        add_to_row(tile, i, value, scratch.values)


@glue
def _sweep(sources: Sources, tile: Tile, plan: Plan, scratch: Scratch, t: int, rows: Any, sign: int) -> None:
    """Add what lies beyond the whole boxes, to the right (sign 1) or to the left (sign -1)."""
    n, degree, centre = sources.n, sources.degree, plan.boxes.centres[t]
    images = n if sources.reflect else 0
    i, extended, limit = rows[0], plan.whole_rows[t, 1], n + images
    if sign < 0:
        i, extended, limit = rows[1] - 1, plan.whole_rows[t, 0] - 1, -images - 1
    scale = sign * sources.per_bandwidth
    clear_moments(scratch.window, degree)
    for _ in range(rows[1] - rows[0]):
        x = (plan.x[i] - centre) * scale
        while extended != limit:
            z = (extended_position(sources.x, n, extended) - centre) * scale - 1.0
            if z >= x:
                break
            add_source(scratch.window, degree, z, load(tile.charges, extended_row(n, extended) * tile.width))
            extended += sign
        add_to_row(tile, i, sum_window(scratch.window, sources.edge, degree, x), scratch.values)
        i += sign


@entry
def evaluate(sources: Sources, tile: Tile, plan: Plan, scratch: Scratch, targets: Any) -> None:
    """Add the sums at a range of targets to the tile's."""
    starts = plan.boxes.starts
    t = np.searchsorted(starts, targets[0], side="right") - 1
    while starts[t] < targets[1]:
        rows = (max(starts[t], targets[0]), min(starts[t + 1], targets[1]))
        if plan.way[t] == DIRECTLY:
            for i in range(rows[0], rows[1]):
                target = (plan.x[i], i if plan.leave_out else -1, scratch.values)
                value = sum_directly(sources, tile, target, plan.rows[t, 0], plan.rows[t, 1])
                add_to_row(tile, i, value, scratch.values)
        else:
            _sum_box(sources, tile, plan, scratch, t, rows)
            if sources.degree > 0:
                _sweep(sources, tile, plan, scratch, t, rows, 1)
                _sweep(sources, tile, plan, scratch, t, rows, -1)
        t += 1
