"""Metrics as functions of event counts in fine cells of rows: fast redraws for many rows."""

from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np

from calibrant._border.types import Evaluator, FloatArray, IntArray, Progress
from calibrant.binning import Bins
from calibrant.predictions import Predictions
from calibrant.resampling.event_counts import EventCells, fine_cells


class CountedMetric(NamedTuple):
    """A metric of binary predictions, as the map from event counts in cells of rows, (C, B), to B values."""

    cells: EventCells
    evaluate: Evaluator

    def redrawn(self, n_resamples: int, rng: np.random.Generator, progress: Progress | None = None) -> FloatArray:
        """Return B values for numbers of events that are drawn from the predictions."""
        return np.concatenate([self.evaluate(counts) for counts in self.cells.draw(n_resamples, rng, progress)])


def cells_of_copies(view: Predictions) -> EventCells:
    """Return the cells of a sketch, given as binary predictions with copies."""
    cells = fine_cells(view)
    assert cells is not None  # noqa: S101 (only predictions without copies may have no cells)
    return cells


def as_counted_metric(view: Predictions, value: Callable[[Predictions], float]) -> CountedMetric:
    """Return any metric of the cells of a sketch as a function of their event counts.

    For each redraw, predictions are built with two rows per cell, one without the event and one with it.
    """
    cells = cells_of_copies(view)
    first = cells.order[cells.starts]
    probs, labels = np.repeat(view.probs[first], 2, axis=0), np.tile([0, 1], len(first))
    weights = np.repeat(view.row_weights[first], 2)

    def redrawn(events: FloatArray) -> Predictions:
        copies = np.column_stack([cells.sizes - events, events]).ravel()
        kept = copies > 0
        return Predictions._trusted(  # noqa: SLF001 (derived)
            probs[kept], labels[kept], (weights * copies)[kept], view.classes, copies=copies[kept]
        )

    return CountedMetric(cells, lambda counts: np.array([value(redrawn(events)) for events in counts.T]))


class BinnedCells(NamedTuple):
    """Cells that each lie within one bin."""

    cells: EventCells
    bins: IntArray  # The bin of each row, in the order of the cells; negative for rows outside every bin.
    weights: FloatArray  # The weights of single rows in the same order, relative to the largest.
    n_bins: int

    @classmethod
    def of(cls, view: Predictions, bins: Bins) -> Self | None:
        """Return fine cells of binary predictions, cut further by bins; None unless there are many rows."""
        fine = fine_cells(view)
        if fine is None:
            return None
        cells = fine.split(bins.index)
        weights = view.row_weights[cells.order] / view.row_weights.max()
        return cls(cells, bins.index[cells.order], weights, bins.n_bins)

    def totals(self, values: FloatArray) -> FloatArray:
        """Return the sum over the rows in every bin, (n_bins, 1), of numbers in the order of the cells."""
        values = values if self.cells.copies is None else self.cells.copies * values
        sums = np.bincount(self.bins + 1, values, minlength=self.n_bins + 1)[1:, None]
        return np.asarray(sums, dtype=float)

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(self.weights.sum() if self.cells.copies is None else self.cells.copies @ self.weights)

    def sums(self, values: FloatArray) -> Evaluator:
        """Return the map from event counts, (C, B), to sums over the events in every bin, (n_bins, B).

        An event of a cell adds the mean value of its rows.
        """
        means, own = self.cells.totals(values) / self.cells.sizes, self.bins[self.cells.starts]
        coefficients = (own == np.arange(self.n_bins)[:, None]) * means
        # Not a matrix product: its threads would compete with ours.
        return lambda counts: np.einsum("nc,cb->nb", coefficients, counts)
