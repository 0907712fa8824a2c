"""Rows with the same prediction as one, and labels redrawn for them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from calibrant._typing import BoolArray, FloatArray, IntArray
from calibrant.binning.ties import comparable
from calibrant.predictions import Predictions


@dataclass(frozen=True)
class Pools:
    """The distinct predictions of an event, ascending, and what was observed at each.

    Attributes
    ----------
    predicted : ndarray of shape (m,)
        Those that agree to 12 decimals are equal, as in `calibrant.metrics.Miscalibration`.
    mass : ndarray of shape (m,)
        Weight of the rows at each prediction, in units of the largest weight of a row.
    frequency : ndarray of shape (m,)
        Weighted frequency of the event among them.
    count : ndarray of shape (m,)
        Their number.
    unit : float
        The largest weight of a row.
    cell_weight, cell_count : ndarray of shape (c,)
        Within each prediction, rows of equal weight are one cell: a sum over a cell is a binomial draw.
    cell_start : ndarray of shape (m,)
        First cell of each prediction.
    """

    predicted: FloatArray
    mass: FloatArray
    frequency: FloatArray
    count: IntArray
    unit: float
    cell_weight: FloatArray
    cell_count: IntArray
    cell_start: IntArray

    @classmethod
    def of(cls, view: Predictions) -> Self:
        """Pool the rows of positive weight of binary predictions."""
        kept = view.weights > 0
        probs, weights, events = view.positive[kept], view.row_weights[kept], view.labels[kept]
        copies = np.ones(len(probs)) if view.copies is None else view.copies[kept]
        rounded = comparable(probs)
        order = np.argsort(rounded, kind="stable") if not view.is_weighted else np.lexsort((weights, rounded))
        probs, rounded, unit = probs[order], rounded[order], float(weights.max())
        weights, events, copies = weights[order] / unit, events[order], copies[order]
        first = np.flatnonzero(_is_new(rounded))
        cells = np.flatnonzero(_is_new(rounded) | _is_new(weights))
        cell_weight, cell_count = weights[cells], _whole(np.add.reduceat(copies, cells))
        cell_start = np.searchsorted(cells, first)
        return cls(
            predicted=np.minimum.reduceat(probs, first),  # Of those that count as equal, the lowest.
            # Summed as a redraw sums: if all rows have the event, the quotient is 1 exactly.
            mass=np.add.reduceat(cell_weight * cell_count, cell_start),
            frequency=np.add.reduceat(copies * weights * events, first) / np.add.reduceat(copies * weights, first),
            count=_whole(np.add.reduceat(copies, first)),
            unit=unit,
            cell_weight=cell_weight,
            cell_count=cell_count,
            cell_start=cell_start,
        )

    def redraws(self, probability: FloatArray, n_resamples: int, rng: np.random.Generator) -> Iterator[FloatArray]:
        """Yield the frequencies, (m,), of events that happen to every row with the probability of its pool."""
        chance = np.repeat(probability, np.diff(np.append(self.cell_start, len(self.cell_count))))
        for _ in range(n_resamples):
            events = self._draw(chance, rng)
            if len(events) == len(self.mass):  # Every pool is one cell.
                yield events / self.cell_count
            else:
                yield np.add.reduceat(self.cell_weight * events, self.cell_start) / self.mass

    def _draw(self, chance: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw the number of events in each cell; comparing is several times faster than a binomial law."""
        if len(self._several) == 0:
            return (rng.random(len(chance)) < chance).astype(float)
        events = np.empty(len(chance))
        events[self._single] = rng.random(len(self._single)) < chance[self._single]
        events[self._several] = rng.binomial(self.cell_count[self._several], chance[self._several])
        return events

    @cached_property
    def _single(self) -> IntArray:
        return np.flatnonzero(self.cell_count == 1)

    @cached_property
    def _several(self) -> IntArray:
        return np.flatnonzero(self.cell_count > 1)


def _whole(counts: FloatArray) -> IntArray:
    return np.rint(counts).astype(np.int64)


def _is_new(values: FloatArray) -> BoolArray:
    """Mark the entries that differ from the one before."""
    return np.concatenate([[True], values[1:] != values[:-1]])
