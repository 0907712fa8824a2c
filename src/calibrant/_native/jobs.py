"""What a thread does in one call: a rectangle of H, tile by tile, reduced as it is made."""

from typing import Any, NamedTuple

from calibrant._native.compile import entry, glue, piece
from calibrant._native.forms import add_forms
from calibrant._native.lanes import LANES, absolute, broadcast, load, multiply_add, repeat, store, total
from calibrant._native.tiles import PANEL, TILE, Points, Problem, Tile, add_products, fill

# The part of H that counts, as a number that compiled code compares. UPPER also means that H is symmetric, so that the
# lower triangle follows; UPPER_ONLY leaves it out.
UPPER, OFF_DIAGONAL, ALL, UPPER_ONLY = range(4)


class Job(NamedTuple):
    """Rows and columns of a rectangle made of whole panels, and the part of it that counts."""

    row: int
    row_end: int
    column: int
    column_end: int
    part: int


class Scratch(NamedTuple):
    """Room for a tile of H, and for another one."""

    values: Any
    products: Any


@piece
def _clear(values: Any, tile: Tile, part: int) -> None:
    """Set to zero what does not count."""
    if part == ALL or tile.column >= tile.row + tile.n_rows or tile.row >= tile.column + tile.n_columns:
        return
    for i in range(tile.n_rows):
        start, diagonal = i * tile.n_columns, tile.row + i - tile.column
        if part in (UPPER, UPPER_ONLY):
            for j in range(min(diagonal + 1, tile.n_columns)):
                values[start + j] = 0.0
        elif 0 <= diagonal < tile.n_columns:
            values[start + diagonal] = 0.0


@glue
def _last_row(job: Job, column_end: int) -> int:
    """Return where the rows end that have something to count in the columns before column_end."""
    return min(job.row_end, column_end) if job.part in (UPPER, UPPER_ONLY) else job.row_end


@glue
def _make(problem: Problem, job: Job, scratch: Scratch, row: int, column: int) -> Tile:
    tile = Tile(row, min(TILE, job.row_end - row), column, min(TILE, job.column_end - column))
    fill(problem, tile, scratch.values, scratch.products)
    _clear(scratch.values, tile, job.part)
    return tile


@glue
def _tile_sums(values: Any, count: int) -> tuple[float, float]:
    a, b = repeat(0.0), repeat(0.0)
    c, d = a, b
    for i in range(0, count, 2 * LANES):
        x, y = load(values, i), load(values, i + LANES)
        a, b = a + x, b + y
        c, d = c + absolute(x), d + absolute(y)
    return total(a + b), total(c + d)


@glue
def _rectangle_sums(problem: Problem, job: Job, scratch: Scratch) -> tuple[float, float]:
    signed, unsigned = 0.0, 0.0
    for column in range(job.column, job.column_end, TILE):
        for row in range(job.row, _last_row(job, min(column + TILE, job.column_end)), TILE):
            tile = _make(problem, job, scratch, row, column)
            sums = _tile_sums(scratch.values, tile.n_rows * tile.n_columns)
            signed, unsigned = signed + sums[0], unsigned + sums[1]
    return signed, unsigned


@entry
def sum_job(problem: Problem, job: Job, scratch: Scratch) -> tuple[float, float]:
    """Return the sum of H and the sum of its absolute values."""
    return _rectangle_sums(problem, job, scratch)


@entry
def block_job(problem: Problem, height: int, scratch: Scratch, out: Any) -> None:
    """Write the sum over the upper triangle of every diagonal block of `height` rows."""
    for block in range(len(out)):
        start, end = block * height, (block + 1) * height
        out[block] = _rectangle_sums(problem, Job(start, end, start, end, UPPER), scratch)[0]


@glue
def _add_row_sums(values: Any, tile: Tile, weights: Any, out: Any, at: int) -> None:
    for i in range(tile.n_rows):
        start = i * tile.n_columns
        a, b = repeat(0.0), repeat(0.0)
        for j in range(0, tile.n_columns, 2 * LANES):
            a = multiply_add(load(values, start + j), load(weights, tile.column + j), a)
            b = multiply_add(load(values, start + j + LANES), load(weights, tile.column + j + LANES), b)
        out[at + i] += total(a + b)


@glue
def _add_column_sums(values: Any, tile: Tile, weights: Any, out: Any, at: int) -> None:
    for j in range(0, tile.n_columns, LANES):
        so_far = load(out, at + j)
        for i in range(tile.n_rows):
            so_far = multiply_add(load(values, i * tile.n_columns + j), broadcast(weights, tile.row + i), so_far)
        store(out, at + j, so_far)


@entry
def row_job(problem: Problem, job: Job, scratch: Scratch, weights: Any, by_row: Any, by_column: Any) -> None:
    """Add H @ weights to by_row; of a symmetric H also what its lower triangle adds, to by_column."""
    for column in range(job.column, job.column_end, TILE):
        for row in range(job.row, _last_row(job, min(column + TILE, job.column_end)), TILE):
            tile = _make(problem, job, scratch, row, column)
            _add_row_sums(scratch.values, tile, weights, by_row, row - job.row)
            if job.part == UPPER:
                _add_column_sums(scratch.values, tile, weights, by_column, column - job.column)


@glue
def _add_product(factors: Points, n_rows: int, n_columns: int, out: Any) -> None:
    """Add the product to out, panel after panel, so that memory is touched in order."""
    for column in range(0, n_columns, PANEL):
        add_products(out[column * n_rows :], factors, Tile(0, n_rows, column, PANEL))


@entry
def product_job(problem: Problem, job: Job, scratch: Scratch, blocks: Any, outs: Any) -> None:
    """Add H @ C to the rows' results; of a symmetric H also what its lower triangle adds, to the columns'.

    blocks are C in panels and its transpose; outs the rows' results and the transpose of the columns', in panels. All
    of them tile after tile.
    """
    H = scratch.values
    width = len(outs[0]) // (job.row_end - job.row)
    for column in range(job.column, job.column_end, TILE):
        for row in range(job.row, _last_row(job, min(column + TILE, job.column_end)), TILE):
            tile = _make(problem, job, scratch, row, column)
            n, m = tile.n_rows, tile.n_columns
            factors = Points(H, H, blocks[0][column * width :], H, m, m, PANEL)
            _add_product(factors, n, width, outs[0][(row - job.row) * width :])
            if job.part == UPPER:
                factors = Points(blocks[1][row * width :], H, H, H, n, 1, m)
                _add_product(factors, width, m, outs[1][(column - job.column) * width :])


@entry
def form_job(problem: Problem, job: Job, scratch: Scratch, strips: Any, out: Any) -> None:
    """Add the sum of c_i H_ij c_j over a part of H that is above the diagonal to out, for every column c."""
    n_rows = len(problem.points.row_sums)
    for column in range(job.column, job.column_end, TILE):
        for row in range(job.row, _last_row(job, min(column + TILE, job.column_end)), TILE):
            add_forms(scratch.values, _make(problem, job, scratch, row, column), strips, n_rows, out)
