"""The two parts of a search: a list of cells tested on all rows, and a tree whose leaves are tested on other rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import NamedTuple

import numpy as np

from calibrant._border.types import BoolArray, FloatArray, IntArray
from calibrant._core.progress import portion, tell, told
from calibrant.groups.cells import Cell, Grid, Sizes, combinations_of, one_cell
from calibrant.groups.columns import Levels, cut_into_levels
from calibrant.groups.evidence import Evidence
from calibrant.groups.rows import Rows
from calibrant.groups.tree import Leaf, ResidualTree
from calibrant.hypotest.multiple import holm

SPARE = 1000
"""Normal p-values above this many times the next threshold of Holm's method are not refined."""

PREDICTION = "the prediction"
"""The name of the prediction as a column of the tree."""

FINE_CUTS = 31
"""Number of quantiles at which the tree may split a column of numbers."""

LEAF_SHARE = 40
"""A leaf has at least one of this many rows of the half that grows the tree."""


@dataclass(frozen=True, eq=False)
class Tested:
    """A group that was tested.

    Attributes
    ----------
    event : int
        Index of the event.
    label : str
    columns : tuple of str
    source : {"cell", "leaf"}
    inside : ndarray of bool
        Whether each row is in the group.
    tested : ndarray of bool or None
        Whether each row was used in the test; None for all rows.
    z, pvalue : float
    adjusted : float
        P-value adjusted by Holm's method for the groups of the same part.
    """

    event: int
    label: str
    columns: tuple[str, ...]
    source: str
    inside: BoolArray
    tested: BoolArray | None
    z: float
    pvalue: float
    adjusted: float = 1.0


class Part(NamedTuple):
    """The tested groups of one part of a search.

    Attributes
    ----------
    groups : list of Tested
        All groups that may have been found; for cells, the group of all rows comes first.
    n_tested : int
    """

    groups: list[Tested]
    n_tested: int

    def hits(self, alpha: float) -> list[Tested]:
        """Return the groups that are found at a level."""
        return [one for one in self.groups if one.adjusted <= alpha]


def tested_cells(evidence: Sequence[Evidence], grid: Grid, sizes: Sizes, depth: int, alpha: float) -> Part:
    """Test every cell of the list on all rows, for every event.

    The normal law decides which p-values are computed accurately. Those that are far too large to be rejected stay as
    they are, which can only reduce the number of groups found.
    """
    with portion(0, 2):
        cells, z = _listed(evidence, grid, sizes, depth)
    pvalues = normal_pvalues(z)
    refined = np.zeros(len(z), dtype=bool)
    refined[0] = True
    pvalues[0] = evidence[0].pvalue(grid.mask(()))
    while True:
        rejected = int((holm(pvalues) <= alpha).sum())
        wanted = np.flatnonzero(~refined & (pvalues <= SPARE * alpha / max(1, len(z) - rejected)))
        if not len(wanted):
            break
        n_done = int(refined.sum())
        for done, place in enumerate(wanted.tolist(), start=n_done):
            event, cell = cells[place]
            pvalues[place] = evidence[event].pvalue(grid.mask(cell))
            with portion(1, 2):
                tell(done + 1, n_done + len(wanted))
        refined[wanted] = True
    adjusted = holm(pvalues)
    groups = [
        _as_cell(grid, *cells[place], float(z[place]), float(pvalues[place]), float(adjusted[place]))
        for place in np.flatnonzero(refined & (adjusted <= alpha) | (np.arange(len(z)) == 0)).tolist()
    ]
    return Part(groups, len(z))


def _listed(
    evidence: Sequence[Evidence], grid: Grid, sizes: Sizes, depth: int
) -> tuple[list[tuple[int, Cell]], FloatArray]:
    """Return the list of events and cells, and the standardised sum of the residuals of each."""
    cells, scores = list[tuple[int, Cell]](), list[FloatArray]()
    n_combinations = sum(comb(len(grid.levels), k) for k in range(depth + 1))
    for combination in told(combinations_of(grid, sizes, depth), n_combinations):
        testable = evidence[0].are_testable(combination) | (not combination.columns)
        kept = [cell for cell, ok in zip(combination.cells, testable.tolist(), strict=True) if ok]
        for event, each in enumerate(evidence):
            cells += [(event, cell) for cell in kept]
            scores.append(each.sums(combination).z[testable])
    return cells, np.concatenate(scores)


def _as_cell(grid: Grid, event: int, cell: Cell, z: float, pvalue: float, adjusted: float) -> Tested:
    columns = tuple(grid.levels[column].name for column, _ in cell)
    return Tested(event, grid.label(cell), columns, "cell", grid.mask(cell), None, z, pvalue, adjusted)


def tested_leaves(
    evidence: Sequence[Evidence], columns: Mapping[Levels, IntArray], half: BoolArray, n_leaves: int, least_rows: int
) -> Part:
    """Grow a tree for every event on one half, and test its leaves on the other."""
    found = []
    for event, each in enumerate(told(evidence, len(evidence))):
        own = cut_into_levels(PREDICTION, each.rows.probs, FINE_CUTS)
        more = {own: own.codes(each.rows.probs)} if isinstance(own, Levels) and own.is_cut else {}
        levels, codes = [*columns, *more], [*columns.values(), *more.values()]
        least = max(least_rows, int(half.sum()) // LEAF_SHARE)
        rows = each.rows.take(half)
        grown = ResidualTree(n_leaves, least).grow(levels, [one[half] for one in codes], rows.residuals, rows.variances)
        other = each.take(~half)
        for leaf in grown:
            inside = leaf.mask(codes)
            if leaf.rule and _is_large(inside[~half], other, least_rows):
                found.append(_as_leaf(leaf, levels, inside, ~half, (event, other)))
    values = holm([one.pvalue for one in found]).tolist() if found else []
    return Part([replace(one, adjusted=v) for one, v in zip(found, values, strict=True)], len(found))


def _as_leaf(
    leaf: Leaf, levels: Sequence[Levels], inside: BoolArray, tested: BoolArray, event: tuple[int, Evidence]
) -> Tested:
    number, other = event
    columns = tuple(levels[column].name for column, _ in leaf.rule)
    z, pvalue = other.z(inside[tested]), other.pvalue(inside[tested])
    return Tested(number, leaf.label(levels), columns, "leaf", inside, tested, z, pvalue)


def _is_large(inside: BoolArray, other: Evidence, least_rows: int) -> bool:
    """Return whether a leaf has enough rows in the half that tests it, by features and predictions only."""
    cell = one_cell(inside)
    large = Sizes([other.rows], least_rows).large(np.arange(len(inside)), cell.codes, 2)[0]
    return bool(large and other.are_testable(cell)[0])


def normal_pvalues(z: FloatArray) -> FloatArray:
    """Return two-sided p-values of standard normal numbers.

    Examples
    --------
    >>> normal_pvalues(np.array([0.0, -1.959964])).round(4).tolist()
    [1.0, 0.05]
    """
    from scipy.special import erfc

    return np.asarray(erfc(np.abs(z) / np.sqrt(2)))


def draw_half(rows: Rows, clusters: IntArray | None, rng: np.random.Generator) -> BoolArray:
    """Return which rows are in the first half.

    Of each two neighbours in the order of the predictions one is drawn, so that both halves have similar predictions.
    Labels play no part: given predictions and features, those of the other half remain independent. Clusters are drawn
    as a whole, by their mean predictions.
    """
    if clusters is None:
        return _one_of_two(rows.probs, rng)
    sizes = np.bincount(clusters)
    return _one_of_two(np.bincount(clusters, rows.probs) / sizes, rng)[clusters]


def _one_of_two(values: np.ndarray, rng: np.random.Generator) -> BoolArray:
    order = np.argsort(values, kind="stable")
    first = rng.random((len(values) + 1) // 2) < 0.5
    chosen = np.stack([first, ~first], axis=1).ravel()[: len(values)]
    found = np.empty(len(values), dtype=bool)
    found[order] = chosen
    return found
