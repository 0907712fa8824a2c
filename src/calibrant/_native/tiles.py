"""One tile of H: distances, kernel and residual products of up to 128 x 128 pairs, computed in cache.

Rows come as they are, four at a time; columns come in panels of `PANEL`, class by class, so that the inner loop over
classes loads a panel once for four rows and keeps its eight sums in registers.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from calibrant._native.compile import glue, piece
from calibrant._native.lanes import LANES, absolute, broadcast, larger, load, multiply_add, repeat, smaller, store
from calibrant._native.radial import apply_profile, transform

TILE = 112
PANEL = 2 * LANES
# Classes are taken in slices of this length, so that a slice of a panel stays in the first-level cache.
_SLICE = 256

# How the distance is summed, as a number that compiled code compares.
OVERLAP, ABSOLUTE, SQUARED = range(3)


class Points(NamedTuple):
    """Rows and columns of `depth` numbers each, padded with zeros to whole panels."""

    rows: Any  # flat: row after row
    row_sums: Any
    columns: Any  # flat: number k of column j is at j * column_step + k * class_step, and PANEL columns are neighbours
    column_sums: Any
    depth: int
    column_step: int
    class_step: int


class Problem(NamedTuple):
    """Everything that H depends on."""

    points: Points
    residuals: Points
    distance: int
    power: int
    profile: int
    scale: float
    shape: float


class Tile(NamedTuple):
    """A rectangle of H made of whole panels."""

    row: int
    n_rows: int
    column: int
    n_columns: int


@glue
def _add_overlap(so_far: Any, x: Any, y: Any) -> Any:
    return so_far + smaller(x, y)


@glue
def _add_difference(so_far: Any, x: Any, y: Any) -> Any:
    return so_far + absolute(x - y)


@glue
def _add_square(so_far: Any, x: Any, y: Any) -> Any:
    difference = x - y
    return multiply_add(difference, difference, so_far)


@glue
def _add_product(so_far: Any, x: Any, y: Any) -> Any:
    return multiply_add(x, y, so_far)


@glue
def _nothing_yet() -> Any:
    zero = repeat(0.0)
    return zero, zero, zero, zero, zero, zero, zero, zero


@piece
def _read(values: Any, at: int, width: int) -> Any:
    """Return two lanes of each of four rows."""
    two, three, four = at + width, at + 2 * width, at + 3 * width
    return (
        load(values, at),
        load(values, at + LANES),
        load(values, two),
        load(values, two + LANES),
        load(values, three),
        load(values, three + LANES),
        load(values, four),
        load(values, four + LANES),
    )


@piece
def _write(values: Any, at: int, width: int, sums: Any) -> None:
    two, three, four = at + width, at + 2 * width, at + 3 * width
    store(values, at, sums[0])
    store(values, at + LANES, sums[1])
    store(values, two, sums[2])
    store(values, two + LANES, sums[3])
    store(values, three, sums[4])
    store(values, three + LANES, sums[5])
    store(values, four, sums[6])
    store(values, four + LANES, sums[7])


@glue
def _unchanged(sums: Any, _: Points, __: int, ___: int) -> Any:
    return sums


@glue
def _beyond(overlap: Any, row_sum: Any, column_sum: Any) -> Any:
    return larger((row_sum + column_sum) - (overlap + overlap), repeat(0.0))


@glue
def _from_overlaps(sums: Any, points: Points, row: int, column: int) -> Any:
    # sum |x - y| = sum x + sum y - 2 sum min(x, y): exactly 0 for equal rows, because all sums run in the same order.
    left, right = load(points.column_sums, column), load(points.column_sums, column + LANES)
    one, two = broadcast(points.row_sums, row), broadcast(points.row_sums, row + 1)
    three, four = broadcast(points.row_sums, row + 2), broadcast(points.row_sums, row + 3)
    return (
        _beyond(sums[0], one, left),
        _beyond(sums[1], one, right),
        _beyond(sums[2], two, left),
        _beyond(sums[3], two, right),
        _beyond(sums[4], three, left),
        _beyond(sums[5], three, right),
        _beyond(sums[6], four, left),
        _beyond(sums[7], four, right),
    )


def _accumulator(add: Callable[..., Any], finish: Callable[..., Any], *, fresh: bool = True) -> Callable[..., Any]:
    """Return the function that writes finish(add(... add(0, x_1, y_1) ..., x_K, y_K)) for every pair of a tile.

    Unless fresh, the sums begin with what is there instead of 0.
    """

    @glue
    def sweep(sums: Any, points: Points, row: int, column: int, classes: Any) -> Any:
        rows, columns, depth = points.rows, points.columns, points.depth
        one, panel, step = row * depth, column * points.column_step, points.class_step
        two, three, four = one + depth, one + 2 * depth, one + 3 * depth
        a, b, c, d, e, f, g, h = sums
        for k in range(classes[0], classes[1]):
            x, y = load(columns, panel + k * step), load(columns, panel + k * step + LANES)
            p = broadcast(rows, one + k)
            a, b = add(a, x, p), add(b, y, p)
            p = broadcast(rows, two + k)
            c, d = add(c, x, p), add(d, y, p)
            p = broadcast(rows, three + k)
            e, f = add(e, x, p), add(f, y, p)
            p = broadcast(rows, four + k)
            g, h = add(g, x, p), add(h, y, p)
        return a, b, c, d, e, f, g, h

    @piece
    def accumulate(out: Any, points: Points, tile: Tile) -> None:
        for first in range(0, points.depth, _SLICE):
            end = min(first + _SLICE, points.depth)
            for j in range(0, tile.n_columns, PANEL):
                for i in range(0, tile.n_rows, 4):
                    row, column, at = tile.row + i, tile.column + j, i * tile.n_columns + j
                    sums = _nothing_yet() if fresh and first == 0 else _read(out, at, tile.n_columns)
                    sums = sweep(sums, points, row, column, (first, end))
                    if end == points.depth:
                        sums = finish(sums, points, row, column)
                    _write(out, at, tile.n_columns, sums)

    return accumulate


_overlaps = _accumulator(_add_overlap, _from_overlaps)
_differences = _accumulator(_add_difference, _unchanged)
_squares = _accumulator(_add_square, _unchanged)
_products = _accumulator(_add_product, _unchanged)
add_products = _accumulator(_add_product, _unchanged, fresh=False)


@glue
def fill(problem: Problem, tile: Tile, values: Any, products: Any) -> None:
    """Write the tile of H into values, row after row; products is room for as many numbers."""
    if problem.distance == OVERLAP:
        _overlaps(values, problem.points, tile)
    elif problem.distance == ABSOLUTE:
        _differences(values, problem.points, tile)
    else:
        _squares(values, problem.points, tile)
    count = tile.n_rows * tile.n_columns
    transform(values, count, problem.power)
    _products(products, problem.residuals, tile)
    apply_profile(problem, values, products, count)
