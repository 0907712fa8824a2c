"""The steps of group boosting: each moves the logit of one class in one group."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from calibrant._border.types import BoolArray, FloatArray, IntArray
from calibrant._core.blocks import softmax
from calibrant._core.progress import tell
from calibrant._core.roots import root
from calibrant.groups.cells import (
    Cell,
    Combination,
    Grid,
    Sizes,
    affordable_depth,
    combinations_of,
    one_cell,
    without_alike_levels,
    without_rare_levels,
)
from calibrant.groups.evidence import Sums
from calibrant.groups.rows import Rows

LEAST_BAR = 3.0
"""Least bar: no group enters whose z is at most this."""

KEPT_CODES = 50_000_000
"""Largest number of codes of rows that is kept in memory; with more, they are computed again at every step."""

STEEPEST = 4.0
"""A logit is moved by at most this much in one step."""

STEEPEST_SLOPE = 10.0
"""Largest factor of the logits, and the inverse of the smallest."""


def entry_bar(n_candidates: int) -> float:
    r"""Return the z that a group must exceed for a step: :math:`\max(3, \sqrt{2 \log m} + 1)`.

    The largest of m standard normal numbers is about :math:`\sqrt{2 \log m}`.

    Examples
    --------
    >>> entry_bar(1), round(entry_bar(1000), 2)
    (3.0, 4.72)
    """
    return max(LEAST_BAR, math.sqrt(2 * math.log(max(n_candidates, 1))) + 1)


class Listed(NamedTuple):
    """The cells of some columns that are large enough for a class, and the index of that class."""

    event: int
    combination: Combination


Candidates = Callable[[], Iterable[Listed]]
"""Returns all groups of all classes, each time it is called."""


def moved_classes(n_classes: int) -> range:
    """Return the classes whose logits are moved: the second of two classes, or all of more.

    Examples
    --------
    >>> list(moved_classes(2)), list(moved_classes(3))
    ([1], [0, 1, 2])
    """
    return range(1, 2) if n_classes == 2 else range(n_classes)


def listed_groups(grid: Grid, probs: FloatArray, least_rows: int, depth: int) -> Candidates:
    """Return a function that returns all groups, from memory if they are not too many."""
    weights = np.ones(len(probs)) if grid.copies is None else grid.copies
    events = moved_classes(probs.shape[1])
    if not grid.levels:
        whole = one_cell(np.ones(len(probs), dtype=bool))
        return lambda: [Listed(event, whole) for event in events]
    distinct = without_alike_levels(without_rare_levels(grid, least_rows))
    depth = affordable_depth(len(grid.levels), depth)
    sizes = {k: Sizes([Rows(probs[:, k], probs[:, k], weights)], least_rows, are_copies=True) for k in events}

    def every() -> Iterator[Listed]:
        for event, size in sizes.items():
            yield from (Listed(event, each) for each in combinations_of(distinct, size, depth))

    kept, size = list[Listed](), 0
    for each in every():
        kept.append(each)
        size += len(each.combination.codes)
        if size > KEPT_CODES:
            return every
    return lambda: kept


@dataclass(frozen=True)
class Step:
    """A group, the class whose logit is moved in it, the offset, the z of the group, and its rows."""

    cell: Cell
    event: int
    offset: float
    z: float
    n_rows: int = 0  # Counted once the step is taken.


@dataclass(frozen=True)
class Boosted:
    """All steps, the final factor, and the number of candidates among which the steps were chosen."""

    steps: tuple[Step, ...]
    slope: float
    n_candidates: int


@dataclass(frozen=True, eq=False)
class Boosting:
    """Steps until no group is clearly off.

    Attributes
    ----------
    logits : ndarray of shape (n, K)
        Logarithms of the probabilities.
    labels : ndarray of shape (n,)
    weights : ndarray of shape (n,)
    candidates : Candidates
    """

    logits: FloatArray
    labels: IntArray
    weights: FloatArray
    candidates: Candidates

    def run(self, most_steps: int) -> Boosted:
        """Take at most this many steps, then choose the factor, and repeat, as the factor may move groups off."""
        logits, slope = self.logits.copy(), 1.0
        n_candidates = sum(len(each.combination.cells) for each in self.candidates())
        steps, bar, taken = list[Step](), entry_bar(n_candidates), -1
        while len(steps) > taken:
            taken = len(steps)
            while len(steps) < most_steps:
                tell(len(steps) + 1)
                step, inside = self._best(softmax(slope * logits))
                if abs(step.z) <= bar:
                    break
                # All steps come before the factor.
                steps.append(replace(step, offset=step.offset / slope, n_rows=int(inside.sum())))
                logits[inside, step.event] += steps[-1].offset
            if len(steps) > taken:
                slope = _slope(logits, self.labels, self.weights)
        return Boosted(tuple(steps), slope, n_candidates)

    def _best(self, probs: FloatArray) -> tuple[Step, BoolArray]:
        step, each, place = max(self._strongest(probs), key=lambda one: abs(one[0].z))
        return step, each.codes == place

    def _strongest(self, probs: FloatArray) -> Iterator[tuple[Step, Combination, int]]:
        """Yield the strongest cell of every combination."""
        event, residuals, variances = -1, np.empty(0), np.empty(0)
        for listed in self.candidates():
            if listed.event != event:
                event, own = listed.event, probs[:, listed.event]
                residuals = self.weights * ((self.labels == event) - own)
                variances = self.weights * own * (1 - own)
            each = listed.combination
            if each.cells:
                sums = Sums(each.sums(residuals), each.sums(variances))
                place = int(np.abs(sums.z).argmax())
                offset = float(sums.residuals[place] / max(sums.variances[place], np.finfo(float).tiny))
                offset = min(max(offset, -STEEPEST), STEEPEST)
                yield Step(each.cells[place], event, offset, float(sums.z[place])), each, place


def _slope(logits: FloatArray, labels: IntArray, weights: FloatArray) -> float:
    """Return the factor of the logits that minimises the log loss."""
    observed = logits[np.arange(len(labels)), labels]

    def falling(slope: float) -> float:
        return float(weights @ (observed - np.einsum("ij,ij->i", softmax(slope * logits), logits)))

    least, most = 1 / STEEPEST_SLOPE, STEEPEST_SLOPE
    if falling(most) >= 0:
        return most
    return least if falling(least) <= 0 else root(falling, least, most, xtol=1e-10)
