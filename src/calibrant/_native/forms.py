"""Quadratic forms of a tile of H in many columns at once, whose product with H is never stored.

The innermost loop multiplies a few rows of the tile with a strip of columns. Its sums are so many that the processor
never waits for one of them, and so few that they stay in registers beside their factors. It is generated as
instructions, because compiled Python would need a name for each sum.
"""

from typing import Any, NamedTuple

from numba.core import cgutils
from numba.core.types import void
from numba.extending import intrinsic

from calibrant._native.compile import piece
from calibrant._native.lanes import (
    LANES,
    emit_address,
    emit_load,
    emit_multiply_add,
    emit_repeat,
    emit_store,
    emit_zeros,
)
from calibrant._native.tiles import Tile

# Of 32 registers of eight lanes 28 are used, of 16 narrower ones all. Rows come in panels, which are whole groups.
_GROUP = 8 if LANES == 8 else 4
STRIP = 3 * LANES

_variable: Any = cgutils.alloca_once_value
_items: Any = cgutils.unpack_tuple


class _Places(NamedTuple):
    """Where a group of rows of a tile begins, and what belongs to it in the strip and in the forms."""

    tile: Any
    first: Any  # the first column of the tile that counts
    n_columns: Any
    left: Any  # the rows' part of the strip
    right: Any  # the columns' part of the strip
    out: Any


def _emit_row(builder: Any, strip: Any, row: Any) -> list[Any]:
    """Load a row of a strip."""
    start = builder.mul(row, row.type(STRIP))
    offsets = [builder.add(start, row.type(lane)) for lane in range(0, STRIP, LANES)]
    return [emit_load(builder, builder.gep(strip, [offset])) for offset in offsets]


def _emit_products(builder: Any, tile: Any, places: _Places, strip: Any) -> list[list[Any]]:
    """Multiply every row of a group with a strip."""
    n = places.n_columns
    rows = [builder.gep(tile, [builder.mul(n, n.type(i))]) for i in range(_GROUP)]
    sums = [[_variable(builder, emit_zeros()) for _ in range(0, STRIP, LANES)] for _ in rows]
    with cgutils.for_range(builder, n, places.first) as loop:
        columns = _emit_row(builder, strip, loop.index)
        for row, row_sums in zip(rows, sums, strict=True):
            value = emit_repeat(builder, builder.load(builder.gep(row, [loop.index])))
            for column, at in zip(columns, row_sums, strict=True):
                builder.store(emit_multiply_add(builder, value, column, builder.load(at)), at)
    return [[builder.load(at) for at in row_sums] for row_sums in sums]


def _emit_forms(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    places = _Places(*_items(builder, values[3]))

    def address(argument: int, position: Any) -> Any:
        return emit_address(context, builder, signature.args[argument], values[argument], position)

    products = _emit_products(builder, address(0, places.tile), places, address(1, places.right))
    out, left, index = address(2, places.out), address(1, places.left), places.out.type
    sums = _emit_row(builder, out, index(0))
    for i, row in enumerate(products):
        weights = _emit_row(builder, left, index(i))
        sums = [emit_multiply_add(builder, *factors) for factors in zip(weights, row, sums, strict=True)]
    for lane, total in zip(range(0, STRIP, LANES), sums, strict=True):
        emit_store(builder, builder.gep(out, [index(lane)]), total)
    return context.get_dummy_value()


_add_group: Any = intrinsic(lambda _, tile, strips, out, places: (void(tile, strips, out, places), _emit_forms))


@piece
def add_forms(values: Any, tile: Tile, strips: Any, n_rows: int, out: Any) -> None:
    """Add the sum of c_i H_ij c_j over a tile of H to out, for every column c; below the diagonal H is zero.

    The columns come in strips of `STRIP`, one after the other, each of them n_rows rows of `STRIP` numbers.
    """
    for strip in range(0, len(out), STRIP):
        start = strip * n_rows
        right = start + tile.column * STRIP
        for i in range(0, tile.n_rows, _GROUP):
            left = start + (tile.row + i) * STRIP
            first = max(tile.row + i - tile.column, 0)
            _add_group(values, strips, out, _Places(i * tile.n_columns, first, tile.n_columns, left, right, strip))
