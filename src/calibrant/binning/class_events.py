"""Sums over the rows of every class, each in bins of its own, for many sets of labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant.binning.bins import Cells

TOGETHER = 2**16
"""Labels that are worked on at a time: few enough to stay in the cache."""


@dataclass(frozen=True, eq=False)
class ClassEvents:
    """What happens in the bins of every class if rows have given labels: one pass over the rows for all classes.

    Parameters
    ----------
    cells : ndarray of int of shape (n, K)
        The bin of a row among those of all classes, one class after the other, if the class is its label; `starts[-1]`
        if it is in none.
    starts : ndarray of int of shape (K + 1,)
        Where the bins of each class begin.
    values : sequence of ndarray of shape (n, K) or (n, 1)
        What a row adds to each of several sums if a class is its label.
    """

    cells: IntArray
    starts: IntArray
    values: Sequence[FloatArray]

    @classmethod
    def of(cls, cuts: Sequence[Cells], values: Sequence[FloatArray]) -> Self:
        """Give the bins of all classes, whose rows have been cut, one number after the other."""
        starts = np.concatenate([[0], np.cumsum([cut.n_bins for cut in cuts])])
        cells = np.empty((len(cuts[0].index), len(cuts)), dtype=np.int64)
        for c, cut in enumerate(cuts):
            np.add(cut.index, starts[c], out=cells[:, c])
            if cut.index.min() < 0:
                cells[cut.index < 0, c] = starts[-1]
        return cls(cells, starts, values)

    def sums(self, labels: IntArray) -> list[FloatArray]:
        """Return the sums of labels (n, B) in the bins of each class, (m, n_bins, B), in the order of the rows.

        Examples
        --------
        >>> events = ClassEvents(np.array([[0, 1], [0, 2]]), np.array([0, 1, 3]), [np.ones((2, 1))])
        >>> [found[0].ravel().tolist() for found in events.sums(np.array([[0], [1]]))]  # One row of each class.
        [[1.0], [0.0, 1.0]]
        """
        n, width = len(labels), max(1, TOGETHER // len(labels))
        found = np.empty((len(self.values), int(self.starts[-1]), labels.shape[1]))
        for first in range(0, labels.shape[1], width):
            some = labels[:, first : first + width].T
            at = some + len(self.starts[:-1]) * np.arange(n)
            found[:, :, first : first + len(some)] = self._summed(at)
        return np.split(found, self.starts[1:-1], axis=1)

    def _summed(self, at: IntArray) -> FloatArray:
        """Return the sums, (m, n_bins, B), over some places in matrices of shape (n, K), (B, n)."""
        size = int(self.starts[-1]) + 1
        cells = self.cells.ravel()[at]
        cells += size * np.arange(len(at))[:, None]
        sums = [np.bincount(cells.ravel(), self._chosen(some, at), size * len(at)) for some in self.values]
        return np.array(sums, dtype=float).reshape(len(sums), len(at), size)[:, :, :-1].transpose(0, 2, 1)

    @staticmethod
    def _chosen(values: FloatArray, at: IntArray) -> FloatArray | None:
        """Return what rows add at these places; None stands for 1."""
        if values.shape[1] > 1:
            return values.ravel()[at].ravel()
        return None if (values == 1).all() else np.broadcast_to(values[:, 0], at.shape).ravel()
