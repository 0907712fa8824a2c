"""Mean gaps between predictions and the frequencies that a kernel regression estimates."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from calibrant._border.types import BoolArray, FloatArray
from calibrant._core.line.beta import BetaSums
from calibrant._core.line.gaps import RowGaps
from calibrant._core.line.sums import KernelSums
from calibrant.predictions import Predictions
from calibrant.resampling.redraws import BLOCK_CELLS, in_blocks
from calibrant.smoothing.kernel_regression import NO_NEIGHBOUR, Sums


def row_gaps(sums: Sums, positions: FloatArray, norm: float, *, drop: bool, share: float = 1.0) -> "Gaps":
    """Compare each row with the frequency among all others; drop rows without neighbours, or take 0 for theirs.

    The share is what `share_of_rows` returns.
    """
    plain = plain_gaps(sums, positions, norm, drop=drop, share=share)
    if isinstance(sums, KernelSums | BetaSums):
        return RowGaps(sums, norm, plain.least, plain.combine)
    return plain


def plain_gaps(sums: Sums, positions: FloatArray, norm: float, *, drop: bool, share: float = 1.0) -> "PlainGaps":
    """Return the gaps of `row_gaps` computed in NumPy, which is as quick for one column."""
    combine = over_rows_with_neighbours if drop else over_all_rows
    return PlainGaps(sums.leave_one_out, positions, norm, _least(sums, positions, share), combine)


def grid_gaps(sums: Sums, grid: FloatArray, norm: float, *, share: float) -> "PlainGaps":
    """Compare equidistant points with the frequency around them, weighted by the density there."""
    shares = np.ones((len(grid), 1))
    shares[[0, -1]] = 0.5  # The trapezium rule; the distance of the points cancels.
    least = _least(sums, grid, share)
    return PlainGaps(lambda charges: sums.at(grid, charges), grid, norm, least, over_rows_with_neighbours, shares)


def share_of_rows(view: Predictions) -> float:
    """Return the number of entries for each row that has weight.

    Neither a cell that stands for many rows nor rows of weight 0 must change which rows have neighbours.
    """
    copies = np.ones(len(view)) if view.copies is None else view.copies
    return len(view) / float(copies[view.weights > 0].sum())


def _least(sums: Sums, targets: FloatArray, share: float) -> FloatArray:
    """Return the kernel mass up to which a target counts as isolated, as a multiple of the mean weight of entries."""
    return NO_NEIGHBOUR * share * sums.peak(targets)


def over_rows_with_neighbours(
    gaps: FloatArray, weights: FloatArray, others: FloatArray, other_weights: FloatArray
) -> FloatArray:
    """Return the mean gap of the rows with neighbours, or of the other rows if no row has any."""
    some = weights > 0
    return np.where(some, gaps, others) / np.where(some, weights, other_weights)


def over_all_rows(gaps: FloatArray, weights: FloatArray, others: FloatArray, other_weights: FloatArray) -> FloatArray:
    """Return the mean gap of all rows."""
    return (gaps + others) / (weights + other_weights)


@dataclass(frozen=True, eq=False)
class PlainGaps:
    """Mean gaps in NumPy: for few rows, where it is the twin of `calibrant._core.line.gaps.RowGaps`, and for a grid."""

    sum: Callable[[FloatArray], FloatArray]  # Maps charges (n, m) to kernel sums (targets, m).
    targets: FloatArray
    norm: float
    least: FloatArray
    """Targets whose neighbours have at most this mass, times the mean weight, count as isolated."""
    combine: Callable[..., FloatArray]  # As for `RowGaps`.
    shares: FloatArray | None = None
    """The weight of a target is this, (targets, 1), times the mass of its neighbours; else it is the row's own."""

    def of_weights(self, outcomes: FloatArray, weights: FloatArray) -> FloatArray:
        """Return a value for each column of weights (n, B), given outcomes (n,)."""

        def values(weights: FloatArray) -> FloatArray:
            hits, mass = np.split(self.sum(np.hstack([weights * outcomes[:, None], weights])), 2, axis=1)
            return self.values(hits, mass, weights)

        return in_blocks(values, self._block)(weights)

    def of_labels(self, hits: BoolArray, weights: FloatArray) -> FloatArray:
        """Return a value for each column of events (n, B), given weights (n,)."""
        own = weights[:, None]
        mass = self.sum(own)
        return in_blocks(lambda some: self.values(self.sum(own * some), mass, own), self._block)(hits)

    def are_isolated(self, mass: FloatArray, weights: FloatArray) -> BoolArray:
        """Return which targets have no neighbours, (targets, B), given the mass of these and weights (n, B)."""
        return np.asarray(mass <= self.least[:, None] * weights.mean(axis=0))

    def values(self, hits: FloatArray, mass: FloatArray, weights: FloatArray) -> FloatArray:
        """Return B values from the kernel sums of events and of weights, (targets, B), and weights (n, B)."""
        isolated = self.are_isolated(mass, weights)
        frequency = np.clip(hits / np.where(isolated, 1.0, mass), 0.0, 1.0)
        gaps = np.abs(np.where(isolated, 0.0, frequency) - self.targets[:, None]) ** self.norm
        shares = weights if self.shares is None else mass * self.shares
        counted, others = np.where(isolated, 0.0, shares), np.where(isolated, shares, 0.0)
        sums = ((counted * gaps).sum(axis=0), counted.sum(axis=0), (others * gaps).sum(axis=0), others.sum(axis=0))
        return self.combine(*sums)

    @property
    def _block(self) -> int:
        """Columns to work on at a time, in bounded memory."""
        return max(1, BLOCK_CELLS // len(self.targets))


Gaps: TypeAlias = RowGaps | PlainGaps
"""Mean gaps for columns of weights or of labels."""
