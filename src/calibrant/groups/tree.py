"""A small tree on the residuals, for groups that are not in the list; they are tested on rows it has not seen."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from calibrant._border.text import printable
from calibrant._border.types import BoolArray, FloatArray, IntArray
from calibrant.groups.columns import LONGEST_LEVEL, Levels, range_label

MOST_NAMED = 4
"""Largest number of categories that are named in a label; the others are counted."""


class Leaf(NamedTuple):
    """A leaf, given by the rule that its rows meet.

    Attributes
    ----------
    rule : tuple of (int, frozenset of int)
        Columns, and the levels that each may have.
    """

    rule: tuple[tuple[int, frozenset[int]], ...]

    def mask(self, codes: Sequence[IntArray]) -> BoolArray:
        """Return which rows are in the leaf."""
        found = np.ones(len(codes[0]), dtype=bool)
        for column, allowed in self.rule:
            found &= np.isin(codes[column], list(allowed))
        return found

    def label(self, levels: Sequence[Levels]) -> str:
        """Return the rule in words."""
        return " and ".join(_words(levels[column], allowed) for column, allowed in self.rule) or "all rows"


def _words(levels: Levels, allowed: frozenset[int]) -> str:
    name, missing = printable(levels.name, LONGEST_LEVEL), len(levels) - 1
    if allowed == {missing}:
        return f"{name} is missing"
    known = sorted(allowed - {missing})
    if levels.is_cut:
        words = range_label(name, levels.edges, known[0], known[-1])
    elif len(known) == 1:
        words = levels.label(known[0])
    else:
        named = ", ".join(printable(levels.texts[code], LONGEST_LEVEL) for code in known[:MOST_NAMED])
        more = f" or {len(known) - MOST_NAMED} others" if len(known) > MOST_NAMED else ""
        words = f"{name} is one of {named}{more}"
    return f"{words} or missing" if missing in allowed else words


class _Split(NamedTuple):
    gain: float
    column: int
    left: frozenset[int]
    right: frozenset[int]


@dataclass(frozen=True, eq=False)
class ResidualTree:
    r"""Grow a tree whose leaves differ in how wrong the predictions are.

    Parameters
    ----------
    most_leaves, least_rows : int

    Notes
    -----
    The tree maximises the sum over leaves S of :math:`z_S^2 = (\sum_S r_i)^2 / \sum_S v_i`, with residuals :math:`r_i`
    and their variances :math:`v_i` under calibration; about half of it is the log loss that one offset of the log-odds
    in S saves. The split that adds most is made first, among those with `least_rows` on either side. Ranges are split
    between two neighbours, with missing values on either side; categories are split into two sets, of which the best
    pair is found in the order of :math:`\sum r / \sum v`.

    References
    ----------
    W. Fisher, "On grouping for maximum homogeneity", Journal of the American Statistical Association 53 (1958).
    """

    most_leaves: int
    least_rows: int

    def grow(
        self, levels: Sequence[Levels], codes: Sequence[IntArray], residuals: FloatArray, variances: FloatArray
    ) -> list[Leaf]:
        """Return the leaves; a single leaf of all rows if there is no split."""
        work = _Work(self, levels, codes, residuals, variances)
        whole = {j: frozenset(np.unique(each).tolist()) for j, each in enumerate(codes)}
        nodes = [_Node(whole, np.arange(len(residuals)), None)]
        nodes[0] = replace(nodes[0], split=work.best(nodes[0]))
        while len(nodes) < self.most_leaves:
            node = max(nodes, key=lambda one: 0.0 if one.split is None else one.split.gain)
            if node.split is None:
                break
            nodes.remove(node)
            nodes += work.children(node, node.split)
        return [node.leaf(whole) for node in nodes]


@dataclass(frozen=True, eq=False)
class _Node:
    allowed: dict[int, frozenset[int]]
    rows: IntArray
    split: _Split | None

    def leaf(self, whole: dict[int, frozenset[int]]) -> Leaf:
        return Leaf(tuple((column, some) for column, some in self.allowed.items() if some != whole[column]))


@dataclass(frozen=True, eq=False)
class _Work:
    tree: ResidualTree
    levels: Sequence[Levels]
    codes: Sequence[IntArray]
    residuals: FloatArray
    variances: FloatArray

    def children(self, node: _Node, split: _Split) -> list[_Node]:
        found = []
        for allowed in (split.left, split.right):
            rows = node.rows[np.isin(self.codes[split.column][node.rows], list(allowed))]
            child = _Node({**node.allowed, split.column: allowed}, rows, None)
            found.append(replace(child, split=self.best(child)))
        return found

    def best(self, node: _Node) -> _Split | None:
        """Return the split of a node that adds most, if any is allowed."""
        found = [split for j in range(len(self.levels)) if (split := self._of_column(node, j)) is not None]
        return max(found, key=lambda split: split.gain, default=None)

    def _of_column(self, node: _Node, column: int) -> _Split | None:
        allowed = np.array(sorted(node.allowed[column]))
        if len(allowed) < 2:
            return None
        codes, width = self.codes[column][node.rows], len(self.levels[column])
        sums = np.array(
            [
                np.bincount(codes, values, minlength=width)[allowed]
                for values in (self.residuals[node.rows], self.variances[node.rows], np.ones(len(codes)))
            ]
        )
        splits = [self._in_order(sums[:, order], allowed[order]) for order in self._orders(column, sums, allowed)]
        gain, left, right = max(splits, key=lambda one: one[0])
        return _Split(gain, column, left, right) if gain > 0 else None

    def _orders(self, column: int, sums: FloatArray, allowed: IntArray) -> list[IntArray]:
        """Return the orders in which levels are cut in two: ranges in their own, with missing values at either end."""
        if self.levels[column].is_cut:
            own = np.arange(len(allowed))
            return [own, np.roll(own, 1)] if allowed[-1] == len(self.levels[column]) - 1 else [own]
        with np.errstate(over="ignore"):  # Levels of certain predictions come first or last.
            return [np.argsort(sums[0] / np.maximum(sums[1], np.finfo(float).tiny), kind="stable")]

    def _in_order(self, sums: FloatArray, allowed: IntArray) -> tuple[float, frozenset[int], frozenset[int]]:
        left = np.cumsum(sums, axis=1)[:, :-1]
        right = sums.sum(axis=1)[:, None] - left
        gains = _squares(left) + _squares(right) - _squares(sums.sum(axis=1)[:, None])
        gains[np.minimum(left[2], right[2]) < self.tree.least_rows] = -1.0
        place = int(gains.argmax())
        return float(gains[place]), frozenset(allowed[: place + 1].tolist()), frozenset(allowed[place + 1 :].tolist())


def _squares(sums: FloatArray) -> FloatArray:
    """Return the squares of the standardised sums of residuals."""
    return np.divide(sums[0] ** 2, sums[1], out=np.zeros(sums.shape[1]), where=sums[1] > 0)
