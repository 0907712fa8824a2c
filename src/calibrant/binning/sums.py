"""Sums over the rows of every bin: weight, prediction and frequency, or any values under many weights."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from calibrant._border.types import FloatArray, IntArray
from calibrant._core.bins import bin_sums
from calibrant.binning.bins import Binning, Bins, Cells
from calibrant.binning.interval import EqualWidth, largest_values
from calibrant.predictions import Predictions

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def bin_sums_of(view: Predictions, bins: Binning) -> FloatArray:
    """Return the sums of weights, weighted predictions and weighted labels of class 1 in every bin, (3, n_bins).

    They are cached with the predictions. Rows outside every bin are left out.

    Examples
    --------
    >>> bin_sums_of(Predictions([0.25, 0.5, 0.75], labels=[0, 1, 1]), EqualWidth(2)).tolist()
    [[2.0, 1.0], [0.75, 0.75], [1.0, 1.0]]
    """
    return view.once(("bin sums", bins), lambda: _bin_sums(view, bins))


def _bin_sums(view: Predictions, bins: Binning) -> FloatArray:
    if isinstance(bins, EqualWidth) and bins.convention == "calibrant":
        return bin_sums(view.positive, view.weights, view.labels, largest_values(bins.n_bins))
    return sums_in(bins.cut_view(view), view)


def sums_in(cut: Bins, view: Predictions) -> FloatArray:
    """Return the sums of `bin_sums_of` in bins that are cut already."""
    return column_totals(cut, view.weights, view.weights * view.positive, view.weights * view.labels)


def column_totals(cut: Cells, *columns: FloatArray) -> FloatArray:
    """Return the sum of each column, (n,), over the rows in every bin: (m, n_bins)."""
    kept = slice(None) if (cut.index >= 0).all() else cut.index >= 0
    return np.array([np.bincount(cut.index[kept], weights=part[kept], minlength=cut.n_bins) for part in columns])


DENSE_CELLS = 100_000
"""Up to this many rows times bins, events are counted by a matrix product; sums of ones are exact in any order."""

FEW_CELLS = 500_000
"""Up to this many numbers are summed without SciPy's sparse matrix, whose import alone would take longer."""


def bin_totals(bins: Cells, values: FloatArray) -> Callable[[NDArray[np.generic]], FloatArray]:
    """Return the map from columns W, (n, B), to the sums of values * W in every bin, (n_bins, B)."""
    totals = joint_bin_totals(bins, values[:, None])
    return lambda columns: totals(columns)[0]


def joint_bin_totals(bins: Cells, values: FloatArray) -> Callable[[NDArray[np.generic]], FloatArray]:
    """Return the map from columns W, (n, B), to the sums of each of m values (n, m) times W, (m, n_bins, B).

    All m sums take one pass over W. If W is boolean, only the rows where it is true are added.
    """
    m, kept = values.shape[1], bins.index >= 0
    data, index = values, bins.index
    if not kept.all():
        data, index = np.where(kept[:, None], values, 0.0), np.where(kept, index, 0)
    return _BinTotals(data, index[:, None] + bins.n_bins * np.arange(m), bins.n_bins)


@dataclass(frozen=True, eq=False)
class _BinTotals:
    """Sums of m values per row, (n, m), over the cells of these values, (n, m)."""

    data: FloatArray
    cell: IntArray
    n_bins: int

    def __call__(self, columns: NDArray[np.generic]) -> FloatArray:
        """Return the sums of each value times columns (n, B) in every bin, (m, n_bins, B)."""
        m, is_event = self.data.shape[1], columns.dtype == np.bool_
        if m * columns.size > FEW_CELLS and columns.shape[1] > 1 and not is_event:
            return np.asarray(self._scatter @ columns).reshape(m, self.n_bins, -1)
        if is_event and self._indicators is not None:
            return (self._indicators @ columns.astype(np.float64))[None]
        # The same additions in the same order, without a matrix that would take longer to build than to use.
        sums = np.empty((m * self.n_bins, columns.shape[1]))
        for b, column in enumerate(columns.T):
            if is_event:
                rows = np.flatnonzero(column)
                where, weights = self.cell[rows], self.data[rows]
            else:
                where, weights = self.cell, self.data * column[:, None]
            sums[:, b] = np.bincount(where.ravel(), weights=weights.ravel(), minlength=m * self.n_bins)
        return sums.reshape(m, self.n_bins, -1)

    @cached_property
    def _scatter(self) -> "csr_array":
        from scipy.sparse import csr_array

        n, m = self.data.shape
        return csr_array((self.data.ravel(), self.cell.ravel(), m * np.arange(n + 1)), shape=(n, m * self.n_bins)).T

    @cached_property
    def _indicators(self) -> FloatArray | None:
        """Whether each row is in each bin, (n_bins, n); None unless there are few of both and all values are 1."""
        n, m = self.data.shape
        if m > 1 or n * self.n_bins > DENSE_CELLS or not (self.data == 1).all():
            return None
        return (np.arange(self.n_bins)[:, None] == self.cell[:, 0]).astype(np.float64)
