"""Leave-one-out sums of events and of weights, of some rows and a register's width of replicates."""

from typing import Any

from calibrant._native.compile import glue, piece
from calibrant._native.lanes import LANES, broadcast, load, multiply_add, repeat, store
from calibrant._native.line.direct import kernel_lanes
from calibrant._native.line.evaluate import BY_BOXES, BY_OTHER_BOXES, DIRECTLY, Plan, Sources
from calibrant._native.line.group_moments import CHUNK, PAIR, TOGETHER, Events, Work, tabulate
from calibrant._native.line.window import extended_row


@piece
def _add_box(local: Any, matrices: Any, matrix: int, moments: Any, start: int, terms: int) -> None:
    """Add to the local coefficients what one box contributes; see `expansion.add_box`."""
    at = matrix * terms * terms
    for k in range(0, terms, 2):
        a, b = load(local, k * PAIR), load(local, k * PAIR + LANES)
        c, d = load(local, k * PAIR + PAIR), load(local, k * PAIR + PAIR + LANES)
        for m in range(terms):
            hits, mass = load(moments, start + m * PAIR), load(moments, start + m * PAIR + LANES)
            left, right = broadcast(matrices, at + m * terms + k), broadcast(matrices, at + m * terms + k + 1)
            a, b = multiply_add(left, hits, a), multiply_add(left, mass, b)
            c, d = multiply_add(right, hits, c), multiply_add(right, mass, d)
        store(local, k * PAIR, a)
        store(local, k * PAIR + LANES, b)
        store(local, k * PAIR + PAIR, c)
        store(local, k * PAIR + PAIR + LANES, d)


@glue
def expand(sources: Sources, plan: Plan, work: Work, t: int) -> None:
    """Write the local polynomials of a target box; see `evaluate`."""
    boxes, terms = sources.boxes, sources.terms
    skip = t if plan.way[t] == BY_OTHER_BOXES else -1
    for k in range(2 * terms):
        store(work.local, k * LANES, repeat(0.0))
    for extended in range(plan.whole[t, 0], plan.whole[t, 1]):
        source = extended_row(len(boxes.ids), extended)
        if source != skip:
            matrix = plan.boxes.ids[t] - boxes.ids[source] + sources.reach
            if extended != source:
                image = (-1 if extended < 0 else 2 * boxes.n_boxes - 1) - boxes.ids[source]
                matrix = plan.boxes.ids[t] - image + sources.reach + 2 * sources.reach + 1
            _add_box(work.local, sources.translations, matrix, work.moments, source * terms * PAIR, terms)


@glue
def _add_pairs(found: Any, sources: Sources, events: Events, work: Work, target: Any, rows: Any) -> Any:
    """Add the rows first..last - 1, at mirror + sign * position, to events and mass; see `direct`."""
    (hits, mass), (x, skip), values = found, target, work.values
    first, last, sign, mirror = rows
    for j in range(first, last, LANES):
        u = (load(sources.x, j) * sign + (mirror - x)) * sources.per_bandwidth
        store(values, 0, kernel_lanes(sources.code, u))
        if j <= skip < j + LANES:
            values[skip - j] = 0.0
        for lane in range(last - j, LANES):
            values[lane] = 0.0
        store(values, LANES, load(values, 0) * load(events.happened, j))
        for lane in range(LANES):
            charge = load(work.weights, (j + lane) * LANES)
            hits = multiply_add(broadcast(values, LANES + lane), charge, hits)
            mass = multiply_add(broadcast(values, lane), charge, mass)
    return hits, mass


@piece
def _sum_directly(sources: Sources, events: Events, work: Work, target: Any, low: int, high: int) -> Any:
    """Return events and mass over the rows and images with extended numbers low..high - 1, but one row."""
    n = sources.n
    found = (repeat(0.0), repeat(0.0))
    if low < 0:
        found = _add_pairs(found, sources, events, work, target, (max(0, -high), -low, -1.0, 0.0))
    if low < n and high > 0:
        found = _add_pairs(found, sources, events, work, target, (max(low, 0), min(high, n), 1.0, 0.0))
    if high > n:
        found = _add_pairs(found, sources, events, work, target, (2 * n - high, min(n, 2 * n - low), -1.0, 2.0))
    return found


@glue
def _sum_own(sources: Sources, events: Events, plan: Plan, work: Work, t: int, target: Any) -> Any:
    """Return events and mass over the target's own box, and over its images if they are within reach."""
    first, last, end = plan.boxes.starts[t], plan.boxes.starts[t + 1], 2 * sources.n
    hits, mass = _sum_directly(sources, events, work, target, first, last)
    if plan.rows[t, 0] < -first:
        image = _sum_directly(sources, events, work, target, -last, -first)
        hits, mass = hits + image[0], mass + image[1]
    if plan.rows[t, 1] > end - last:
        image = _sum_directly(sources, events, work, target, end - last, end - first)
        hits, mass = hits + image[0], mass + image[1]
    return hits, mass


@piece
def _polynomials(local: Any, table: Any, terms: int, n_rows: int, sums: Any) -> None:
    """Write events and mass of the rows of the table."""
    zero = repeat(0.0)
    for r in range(0, n_rows, TOGETHER):
        a, b, c, d = zero, zero, zero, zero
        e, f, g, h = zero, zero, zero, zero
        for k in range(terms):
            t = k * CHUNK + r
            hits, mass = load(local, k * PAIR), load(local, k * PAIR + LANES)
            a, e = multiply_add(broadcast(table, t), hits, a), multiply_add(broadcast(table, t), mass, e)
            b, f = multiply_add(broadcast(table, t + 1), hits, b), multiply_add(broadcast(table, t + 1), mass, f)
            c, g = multiply_add(broadcast(table, t + 2), hits, c), multiply_add(broadcast(table, t + 2), mass, g)
            d, h = multiply_add(broadcast(table, t + 3), hits, d), multiply_add(broadcast(table, t + 3), mass, h)
        for q, (hits, mass) in enumerate(((a, e), (b, f), (c, g), (d, h))):
            store(sums, (r + q) * PAIR, hits)
            store(sums, (r + q) * PAIR + LANES, mass)


@piece
def _leave_out(sums: Any, weights: Any, own: Any, happened: Any, first: int, last: int) -> None:
    """Subtract from events and mass of some rows what these contribute themselves."""
    for i in range(first, last):
        at, self = (i - first) * PAIR, load(weights, i * LANES) * own[i]
        store(sums, at, load(sums, at) - self * happened[i])
        store(sums, at + LANES, load(sums, at + LANES) - self)


@piece
def _add_directly(sources: Sources, events: Events, plan: Plan, work: Work, rows: Any) -> None:
    """Write the sums term by term, or add those over the rows of the own box."""
    t, first, last = rows
    alone = plan.way[t] == DIRECTLY
    for i in range(first, last):
        at, target = (i - first) * PAIR, (plan.x[i], i)
        if alone:
            hits, mass = _sum_directly(sources, events, work, target, plan.rows[t, 0], plan.rows[t, 1])
        else:
            hits, mass = _sum_own(sources, events, plan, work, t, target)
            hits, mass = hits + load(work.sums, at), mass + load(work.sums, at + LANES)
        store(work.sums, at, hits)
        store(work.sums, at + LANES, mass)


@glue
def sum_chunk(sources: Sources, events: Events, plan: Plan, places: Any, work: Work, rows: Any) -> None:
    """Write the sums of some rows of one box, at most a chunk."""
    t, first, last = rows
    if plan.way[t] != DIRECTLY:
        tabulate(work.table, sources.terms, places, first, last)
        _polynomials(work.local, work.table, sources.terms, last - first, work.sums)
    if plan.way[t] == BY_BOXES:
        _leave_out(work.sums, work.weights, plan.own, events.happened, first, last)
    else:
        _add_directly(sources, events, plan, work, rows)
