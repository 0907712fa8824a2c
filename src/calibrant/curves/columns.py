"""Bins of many columns at once: what every class against the rest needs, without a pass for each class."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant._typing import FloatArray, IntArray
from calibrant.binning import Binning, Bins
from calibrant.predictions import Predictions

BLOCK_CELLS = 2**20
"""Predictions processed at a time, so that memory does not grow with the number of classes."""


@dataclass(frozen=True, eq=False)
class Columns:
    """Predicted probabilities of m events, whether they happened, and the bin of each.

    Attributes
    ----------
    positions, events : ndarray of shape (n, m)
    weights : ndarray of shape (n,)
    cuts : list of m Bins
    """

    positions: FloatArray
    events: NDArray[np.bool_]
    weights: FloatArray
    cuts: list[Bins]

    @classmethod
    def of(cls, positions: FloatArray, events: NDArray[np.bool_], weights: FloatArray, bins: Binning) -> "Columns":
        """Cut every column."""
        return cls(positions, events, weights, bins.cut_columns(positions, weights))

    @property
    def starts(self) -> IntArray:
        """Where the bins of each column begin among those of all, and where the last end; of shape (m + 1,)."""
        return np.concatenate([[0], np.cumsum([cut.n_bins for cut in self.cuts])])

    def totals(self, *values: NDArray[np.generic]) -> list[FloatArray]:
        """Return the sums in the bins of all columns, one after the other, of values that broadcast to (n, m)."""
        starts = self.starts
        index = np.column_stack([cut.index for cut in self.cuts])
        kept = index >= 0
        flat, size = (index + starts[:-1])[kept], int(starts[-1])
        columns = (np.broadcast_to(value, index.shape)[kept] for value in values)
        return [np.asarray(np.bincount(flat, weights=column, minlength=size), dtype=float) for column in columns]


def class_blocks(predictions: Predictions, bins: Binning) -> Iterator[Columns]:
    """Yield every class against the rest, in order, some classes at a time."""
    step = max(1, BLOCK_CELLS // predictions.n_samples)
    for first in range(0, predictions.n_classes, step):
        positions = predictions.probs[:, first : first + step]
        events = predictions.labels[:, None] == np.arange(first, first + positions.shape[1])
        yield Columns.of(positions, events, predictions.weights, bins)
