"""Cells: the intersections of levels of a few columns, as a list that is fixed before looking at any label."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from calibrant._border.types import BoolArray, FloatArray, IntArray
from calibrant.groups.columns import Levels
from calibrant.groups.rows import Rows

LEAST_EVENTS = 5
"""Least expected number of rows of the rarer outcome in a group."""

ALIKE = 0.8
"""Groups with more than this share of the rows of either in common count as the same."""

MOST_COMBINATIONS = 2500
"""Largest number of combinations of columns; with many columns, fewer are combined."""

DENSE = 4
"""Tables of sums may have this many times as many entries as there are rows; larger ones are sorted instead."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Columns cut into levels, with the level of every row.

    Attributes
    ----------
    levels : tuple of Levels
    codes : tuple of ndarray of shape (n,)
        The level of every row; -1 for a level that belongs to no group.
    copies : ndarray of shape (n,) or None
        Number of rows that each counts as; None for one.
    """

    levels: tuple[Levels, ...]
    codes: tuple[IntArray, ...]
    copies: FloatArray | None = None

    def count(self, codes: IntArray, n_codes: int) -> FloatArray:
        """Return the number of rows with each of the codes 0, 1, ...; negative codes are not counted."""
        known = codes >= 0
        copies = None if self.copies is None else self.copies[known]
        return np.asarray(np.bincount(codes[known], copies, minlength=n_codes), dtype=np.float64)

    def mask(self, cell: "Cell") -> BoolArray:
        """Return which rows a cell holds."""
        return rows_in(cell, self.codes, len(self.codes[0]))

    def label(self, cell: "Cell") -> str:
        """Return a cell in words."""
        return " and ".join(self.levels[column].label(level) for column, level in cell) or "all rows"


Cell = tuple[tuple[int, int], ...]
"""Pairs of a column and a level, by their indices in a grid; empty for all rows."""


def rows_in(cell: Cell, codes: Sequence[IntArray], n_rows: int) -> BoolArray:
    """Return which rows a cell holds, given the levels of all rows by column."""
    found = np.ones(n_rows, dtype=bool)
    for column, level in cell:
        found &= codes[column] == level
    return found


@dataclass(frozen=True, eq=False)
class Combination:
    """All cells of some columns that are large enough.

    Attributes
    ----------
    columns : tuple of int
    codes : ndarray of shape (n,)
        Index of the cell of every row; `len(cells)` for none.
    cells : tuple of Cell
    """

    columns: tuple[int, ...]
    codes: IntArray
    cells: tuple[Cell, ...]

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the sum of numbers, one per row, over every cell."""
        return np.asarray(np.bincount(self.codes, values, minlength=len(self.cells) + 1)[:-1], dtype=np.float64)


def one_cell(inside: BoolArray) -> Combination:
    """Return a group of rows as a combination of a single cell."""
    return Combination((), np.where(inside, 0, 1), ((),))


def affordable_depth(n_columns: int, depth: int) -> int:
    """Return the largest number of columns, up to the depth, whose combinations are not too many.

    Examples
    --------
    >>> affordable_depth(2, 3), affordable_depth(10, 3), affordable_depth(60, 3), affordable_depth(5000, 3)
    (2, 3, 2, 1)
    """
    allowed = [
        d
        for d in range(1, min(depth, n_columns) + 1)
        if sum(comb(n_columns, k) for k in range(1, d + 1)) <= MOST_COMBINATIONS
    ]
    return max(allowed, default=1)


def combinations_of(grid: Grid, sizes: "Sizes", depth: int) -> Iterator[Combination]:
    """Yield all rows as one cell, then the cells of every combination of up to `depth` columns.

    A cell that is too small contains no cell that is large enough, so its rows are left out when more columns are
    added. A cell that holds nearly all rows of a larger one is left out.
    """
    whole = one_cell(np.ones(len(grid.codes[0]), dtype=bool))
    yield whole
    known: dict[tuple[int, ...], _Counted] = {(): _counted(grid, whole)}
    for goal in range(1, depth + 1):  # From the start each time: keeping all codes would cost much memory.
        yield from _extended(grid, sizes, goal, whole, known)


def _extended(
    grid: Grid, sizes: "Sizes", goal: int, base: Combination, known: "dict[tuple[int, ...], _Counted]"
) -> Iterator[Combination]:
    """Yield the combinations of `goal` columns that begin with those of the base."""
    for column in range(base.columns[-1] + 1 if base.columns else 0, len(grid.levels)):
        found = _crossed(grid, sizes, base, column)
        if found is None:
            continue
        if len(found.columns) < goal:
            yield from _extended(grid, sizes, goal, found, known)
        else:
            known[found.columns] = _counted(grid, found)
            yield _without_copies(grid, found, known)


class _Counted(NamedTuple):
    """For each cell of a combination: a key, its number of rows, and one of its rows."""

    keys: IntArray
    counts: FloatArray
    example: IntArray


def _crossed(grid: Grid, sizes: "Sizes", base: Combination, column: int) -> Combination | None:
    """Return the cells of the base, crossed with the levels of a column, that are large enough."""
    n_levels, codes = len(grid.levels[column]), grid.codes[column]
    inside = np.flatnonzero((base.codes < len(base.cells)) & (codes >= 0))
    keys = base.codes[inside] * n_levels + codes[inside]
    n_keys = len(base.cells) * n_levels
    if n_keys > DENSE * len(codes):
        distinct, keys = np.unique(keys, return_inverse=True)
    else:
        distinct = np.arange(n_keys)
    large = sizes.large(inside, keys, len(distinct))
    if not large.any():
        return None
    place = np.full(len(distinct), large.sum())
    place[large] = np.arange(large.sum())
    whole = np.full(len(codes), large.sum())
    whole[inside] = place[keys]
    cells = tuple((*base.cells[key // n_levels], (column, int(key % n_levels))) for key in distinct[large].tolist())
    return Combination((*base.columns, column), whole, cells)


def _counted(grid: Grid, found: Combination) -> _Counted:
    """Count the rows of every cell."""
    example = np.zeros(len(found.cells) + 1, dtype=np.int64)
    example[found.codes] = np.arange(len(found.codes))
    counts = grid.count(found.codes, len(found.cells) + 1)[:-1]
    return _Counted(_keys_at(grid, found.columns, example[:-1]), counts, example[:-1])


def _keys_at(grid: Grid, columns: tuple[int, ...], rows: IntArray) -> IntArray:
    """Return numbers that identify the cells of rows."""
    key = np.zeros(len(rows), dtype=np.int64)
    for column in columns:
        key = key * len(grid.levels[column]) + grid.codes[column][rows]
    return key


def _without_copies(grid: Grid, found: Combination, known: "dict[tuple[int, ...], _Counted]") -> Combination:
    """Leave out cells that hold more than `ALIKE` of the rows of a cell with one column less."""
    own = known[found.columns]
    copies = np.zeros(len(found.cells), dtype=bool)
    for columns in combinations(found.columns, len(found.columns) - 1):
        if columns in known:
            parent, keys = known[columns], _keys_at(grid, columns, own.example)
            order = np.argsort(parent.keys)
            place = order[np.minimum(np.searchsorted(parent.keys, keys, sorter=order), len(order) - 1)]
            # With weights, the larger cell may count as too small; then it is not a candidate itself.
            copies |= (parent.keys[place] == keys) & (own.counts > ALIKE * parent.counts[place])
    if not copies.any():
        return found
    place = np.full(len(copies) + 1, (~copies).sum())
    place[:-1][~copies] = np.arange((~copies).sum())
    kept = tuple(cell for cell, copy in zip(found.cells, copies, strict=True) if not copy)
    return Combination(found.columns, place[found.codes], kept)


@dataclass(frozen=True, eq=False)
class Sizes:
    r"""The rule for groups that are large enough, which uses predictions and weights only.

    Parameters
    ----------
    rows : sequence of Rows
        The rows, for every event.
    least_rows : int
    are_copies : bool, default=False
        Whether weights are numbers of copies: then sums of weights count instead of effective numbers.

    Notes
    -----
    A group needs :math:`(\sum w)^2 / \sum w^2 \ge` `least_rows`, and in the same measure at least 5 expected rows with
    and 5 without the event. Without weights these are numbers of rows.
    """

    rows: Sequence[Rows]
    least_rows: int
    are_copies: bool = False

    @cached_property
    def _needs(self) -> list[tuple[FloatArray, FloatArray | None, float]]:
        """For each requirement: values to sum, squares for an effective number (or None), and the least number."""
        weights = self.rows[0].weights
        squares = weights**2 if np.any(weights != 1.0) and not self.are_copies else None
        found = [(weights, squares, float(self.least_rows))]
        for probs in (each for rows in self.rows for each in (rows.probs, 1 - rows.probs)):
            found += [(weights * probs, None if squares is None else squares * probs, float(LEAST_EVENTS))]
        return found

    def large(self, inside: IntArray, keys: IntArray, n_keys: int) -> BoolArray:
        """Return which groups are large enough for every event, given rows and the key of the group of each."""
        found = np.ones(n_keys, dtype=bool)
        for values, squares, least in self._needs:
            sums = np.bincount(keys, values[inside], minlength=n_keys)
            if squares is not None:
                mass = np.bincount(keys, squares[inside], minlength=n_keys)
                sums = np.divide(sums**2, mass, out=np.zeros(n_keys), where=mass > 0)
            found &= sums >= least
        return found


def without_alike_levels(grid: Grid) -> Grid:
    """Return the grid without levels that hold nearly the same rows as a level of an earlier column.

    Two groups are alike if more than `ALIKE` of the rows that either has are in both.
    """
    n, kept = len(grid.codes[0]), list(grid.codes)
    for one, other in combinations(range(len(kept)), 2):
        first, second = grid.codes[one], kept[other]
        width = len(grid.levels[other])
        if len(grid.levels[one]) * width > DENSE * n + 100:
            continue
        both = np.where((first >= 0) & (second >= 0), first * width + second, -1)
        table = grid.count(both, len(grid.levels[one]) * width).reshape(-1, width)
        sizes = grid.count(first, len(table)), grid.count(second, width)
        union = sizes[0][:, None] + sizes[1][None] - table
        repeats = np.any((table > ALIKE * union) & (table > 0), axis=0)
        if repeats.any():
            kept[other] = np.where((second >= 0) & np.asarray(repeats)[second], -1, second)
    return replace(grid, codes=tuple(kept))


def without_rare_levels(grid: Grid, least_rows: int) -> Grid:
    """Return the grid without levels that are rarer than any group may be."""
    kept = []
    for codes, levels in zip(grid.codes, grid.levels, strict=True):
        rare = np.asarray(grid.count(codes, len(levels)) < least_rows)
        kept.append(np.where((codes >= 0) & rare[codes], -1, codes))
    return replace(grid, codes=tuple(kept))
