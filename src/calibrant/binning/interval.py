"""Bins of the unit interval: of equal width, or of equal mass."""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from calibrant._border.settings import check_count
from calibrant._border.types import FloatArray, IntArray
from calibrant._core.bins import bin_index
from calibrant.binning.bins import Binning, Bins, Cells, SimplexBinning
from calibrant.binning.ties import comparable, line_of, starts_of_ties
from calibrant.exceptions import InputError
from calibrant.predictions import Predictions

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROUNDING = 1e-12
"""Shares of the weight that differ by less than the rounding of running sums are equal."""

Convention = Literal["calibrant", "scikit-learn", "torchmetrics", "guo"]


def _check(n_bins: int, convention: str, known: tuple[str, ...]) -> None:
    check_count(n_bins, "n_bins")
    if convention not in known:
        raise InputError(f"convention must be one of {', '.join(known)}, but is {convention!r}.")


def _right_closed(values: FloatArray, edges: FloatArray) -> Bins:
    """Cut into (lower, upper], with the smallest edge itself in the first bin."""
    return Bins(np.searchsorted(edges[1:-1], values, side="left"), len(edges) - 1, edges[:-1], edges[1:])


@dataclass(frozen=True)
class EqualWidth(Binning, SimplexBinning):
    """Bins of equal width, right-closed: ((b - 1) / B, b / B], with 0 in the first.

    Probability vectors are cut in every coordinate, into the cells of a grid; only cells that hold rows count.

    Parameters
    ----------
    n_bins : int, default=15
    convention : {"calibrant", "scikit-learn", "torchmetrics", "guo"}, default="calibrant"
        Whose treatment of values on an edge to reproduce. "calibrant" compares at 12 decimals, so that 0.1 + 0.2
        and 0.3 share a bin. "scikit-learn" is right-closed in binary floating point. "torchmetrics" is left-closed,
        with a further bin for exactly 1. "guo" is right-closed and leaves exact zeros out of every bin while they
        still count in the denominator.

    Examples
    --------
    >>> EqualWidth(2).cut(np.array([0.0, 0.5, 0.6]), np.ones(3)).index.tolist()
    [0, 0, 1]
    """

    n_bins: int = 15
    convention: Convention = "calibrant"

    def __post_init__(self) -> None:
        _check(self.n_bins, self.convention, ("calibrant", "scikit-learn", "torchmetrics", "guo"))

    @property
    def leaves_none_out(self) -> bool:
        """Whether every row is in a bin."""
        return self.convention != "guo"

    def cut(self, values: FloatArray, weights: FloatArray) -> Bins:  # noqa: ARG002 (fixed bins ignore weights)
        """Assign every value to a bin."""
        if self.convention == "calibrant":
            edges = _edges(self.n_bins)
            return Bins(bin_index(values, largest_values(self.n_bins)), self.n_bins, edges[:-1], edges[1:])
        edges = np.linspace(0.0, 1.0, self.n_bins + 1)
        if self.convention == "torchmetrics":
            index = np.searchsorted(torch_edges(self.n_bins), values, side="right") - 1
            return Bins(index, len(edges), edges, np.append(edges[1:], 1.0))
        bins = _right_closed(values, edges)
        if self.convention == "guo":
            return replace(bins, index=np.where(values > 0, bins.index, -1))
        return bins

    def cut_columns(self, values: FloatArray, weights: FloatArray) -> list[Bins]:
        """Assign every value to a bin; all columns have the same."""
        whole = self.cut(values.ravel(order="F"), weights)
        return [replace(whole, index=index) for index in whole.index.reshape(values.shape[::-1])]

    def cells(self, probs: FloatArray, weights: FloatArray) -> Cells:
        """Assign every row of probabilities to a cell of the grid."""
        grid = self.cut(probs.ravel(), weights).index.reshape(probs.shape) + 1
        # As big-endian byte strings, rows sort like their numbers, and each is compared in one step.
        rows = grid.astype(np.min_scalar_type(self.n_bins + 1).newbyteorder(">"))
        strings: NDArray[np.void] = rows.view(f"V{rows.itemsize * probs.shape[1]}")
        occupied, index = np.unique(strings[:, 0], return_inverse=True)
        return Cells(index, len(occupied))


def _edges(n_bins: int) -> FloatArray:
    return comparable(np.arange(n_bins + 1) / n_bins)


@cache
def largest_values(n_bins: int) -> FloatArray:
    """Return the largest number in every bin but the last, of bins whose edges are compared at 12 decimals.

    So values need not be rounded before they are compared. They are found by bisection among the numbers near each
    edge.

    Examples
    --------
    >>> bool(largest_values(2)[0] > 0.5), round(float(largest_values(2)[0]), 12)
    (True, 0.5)
    """
    edges = _edges(n_bins)[1:-1]
    # The bits of positive numbers have the same order as the numbers.
    low, high = ((edges + step).view(np.int64) for step in (-2e-12, 2e-12))
    while np.any(high - low > 1):
        middle = (low + high) // 2
        inside = comparable(middle.view(np.float64)) <= edges
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    found = low.view(np.float64)
    found.setflags(write=False)
    return found


def torch_edges(n_bins: int) -> FloatArray:
    """Return equal-width edges as `torch.linspace` rounds them: from both ends inwards, one rounding per edge."""
    step = Fraction(1 / n_bins)
    half = (n_bins + 1) // 2
    return np.array([float(step * b if b < half else 1 - step * (n_bins - b)) for b in range(n_bins + 1)])


@dataclass(frozen=True)
class EqualMass(Binning):
    """Bins that hold equal shares of the weight, as far as ties allow: equal values are never split.

    The inner edges are the midpoints between the neighbouring sorted values at the b-th of B quantiles; bins are
    right-closed. Edges that coincide, as ties make them, merge their bins. Weights are relative: shares of the weight
    that differ from b / B by less than rounding, 1e-12, are equal to it.

    Parameters
    ----------
    n_bins : int, default=15
        At most this many bins.
    convention : {"calibrant", "scikit-learn"}, default="calibrant"
        "scikit-learn" takes linearly interpolated percentiles as edges (and ignores weights).

    Examples
    --------
    >>> bins = EqualMass(2).cut(np.array([0.1, 0.1, 0.1, 0.7]), np.ones(4))
    >>> bins.index.tolist()
    [0, 0, 0, 1]
    """

    n_bins: int = 15
    convention: Convention = "calibrant"

    def __post_init__(self) -> None:
        _check(self.n_bins, self.convention, ("calibrant", "scikit-learn"))

    @property
    def leaves_none_out(self) -> bool:
        """Whether every row is in a bin: always."""
        return True

    def cut(self, values: FloatArray, weights: FloatArray) -> Bins:
        """Assign every value to a bin."""
        if self.convention == "scikit-learn":
            return _right_closed(values, np.quantile(values, np.linspace(0.0, 1.0, self.n_bins + 1)))
        rounded = comparable(values)
        order = np.argsort(rounded, kind="stable")
        return self._cut(rounded[order], weights, order)

    def cut_view(self, view: Predictions) -> Bins:
        """Assign every prediction of class 1 to a bin, by their cached sorted order."""
        if self.convention == "scikit-learn":
            return super().cut_view(view)
        line = line_of(view)
        return view.once(
            ("cut", self), lambda: self._cut(comparable(line.x), view.weights, line.order), of_labels=False
        )

    def _cut(self, ascending: FloatArray, weights: FloatArray, order: IntArray) -> Bins:
        """Cut rows given in ascending order."""
        present = weights[order] / weights.max()
        n, share, target = len(order), present.cumsum(), np.arange(1, self.n_bins) / self.n_bins
        share /= share[-1]
        left = ascending[share.searchsorted(target - ROUNDING, side="left")]
        right = ascending[np.minimum(share.searchsorted(target + ROUNDING, side="right"), n - 1)]
        middle = (left + right) / 2
        # An edge at the largest value would close an empty bin above it.
        inner = middle[starts_of_ties(middle)]
        inner = inner[inner < ascending[present.nonzero()[0][-1]]]
        edges, ends = np.empty(len(inner) + 2), np.empty(len(inner) + 1, dtype=np.int64)
        edges[0], edges[1:-1], edges[-1] = 0.0, inner, 1.0
        ends[:-1], ends[-1] = ascending.searchsorted(inner, side="right"), n
        index = np.empty(n, dtype=np.int64)
        index[order] = np.bincount(ends[:-1], minlength=n).cumsum()  # Several edges may lie between two rows.
        return Bins(index, len(ends), edges[:-1], edges[1:])
