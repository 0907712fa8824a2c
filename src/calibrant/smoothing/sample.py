"""Predictions of an event with their outcomes, in an order that depends on their values only."""

from dataclasses import dataclass

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant._core.line.boxes import Line
from calibrant.binning.ties import comparable, line_of
from calibrant.predictions import Predictions, effective_rows


@dataclass(frozen=True, eq=False)
class Sample:
    """Predicted probabilities of an event with outcomes 0 or 1 and positive weights, all of shape (n,).

    The order of the rows depends only on their values, so that no choice made from them depends on the order in which
    they were given.
    """

    positions: FloatArray
    outcomes: FloatArray
    weights: FloatArray
    copies: FloatArray | None = None
    """How many rows each stands for, if not one."""

    @classmethod
    def of(cls, positions: FloatArray, outcomes: FloatArray, weights: FloatArray) -> "Sample":
        """Return the rows with weight, sorted."""
        return cls._of(Line.of(positions), outcomes, weights)

    @classmethod
    def of_view(cls, view: Predictions) -> "Sample":
        """Return the rows of binary predictions, whose sorted order is cached."""
        if view.copies is not None:
            rows = np.lexsort([view.row_weights, view.labels, view.positive])
            return cls(view.positive[rows], view.labels[rows].astype(float), view.weights[rows], view.copies[rows])
        return cls._of(line_of(view), view.labels.astype(float), view.weights)

    @classmethod
    def _of(cls, line: Line, outcomes: FloatArray, weights: FloatArray) -> "Sample":
        rows, positions = line.order, line.x
        if not weights.all():
            kept = weights[rows] > 0
            rows, positions = rows[kept], positions[kept]
        outcomes, weights = outcomes[rows], weights[rows]
        compared = comparable(positions)
        tied = _tied(compared)
        if len(tied):  # Rows with equal predictions are ordered by outcome, then by weight.
            order = tied[np.lexsort([a[tied] for a in (weights, outcomes, compared)])]
            outcomes[tied], weights[tied] = outcomes[order], weights[order]
        return cls(positions, outcomes, weights)

    def thinned(self, n: int) -> "Sample":
        """Return n rows at equal steps in their order."""
        rows = np.linspace(0, len(self.positions) - 1, n).round().astype(int)
        return Sample(self.positions[rows], self.outcomes[rows], self.weights[rows])

    @property
    def size(self) -> float:
        """Kish's effective number of rows."""
        return effective_rows(self.weights, self.copies)

    @property
    def n_rows(self) -> int:
        """Number of rows that these stand for."""
        return len(self.positions) if self.copies is None else round(float(self.copies.sum()))

    def unfolded(self, n: int) -> "Sample":
        """Return n of the rows that these stand for, at equal steps in their order."""
        if self.copies is None:
            return self.thinned(n)
        ranks = np.linspace(0, self.n_rows - 1, n).round()
        rows = np.minimum(np.searchsorted(np.cumsum(self.copies), ranks, side="right"), len(self.copies) - 1)
        return Sample(self.positions[rows], self.outcomes[rows], (self.weights / self.copies)[rows])


def _tied(ascending: FloatArray) -> IntArray:
    """Return the rows that equal a neighbour."""
    same = ascending[1:] == ascending[:-1]
    return np.flatnonzero(np.append(same, False) | np.append(False, same))
