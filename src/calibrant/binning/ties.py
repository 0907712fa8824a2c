"""Equal predictions and negligible weights: one rule for bins, pools and running sums, and equal predictions pooled."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from calibrant._border.types import BoolArray, FloatArray, IntArray
from calibrant._core.isotonic import isotonic_regression
from calibrant._core.line.boxes import Line
from calibrant.predictions import Predictions


def line_of(view: Predictions) -> Line:
    """Return the predicted probabilities of class 1 in ascending order, cached with the predictions.

    Examples
    --------
    >>> line = line_of(Predictions([0.9, 0.2, 0.4], labels=[1, 0, 0]))
    >>> line.order.tolist(), line.x.tolist()
    ([1, 2, 0], [0.2, 0.4, 0.9])
    """
    return view.once("line", lambda: Line.of(view.positive), of_labels=False)


def at_equal_ranks(view: Predictions, n: int) -> IntArray:
    """Return the cells of n rows at equal ranks in ascending order of the predictions, counting copies as rows.

    Examples
    --------
    >>> at_equal_ranks(Predictions([0.2, 0.9, 0.5, 0.4], labels=[0, 1, 1, 0]), 2).tolist()
    [3, 1]
    """
    order = line_of(view).order
    copies = np.ones(len(order)) if view.copies is None else view.copies[order]
    until = np.cumsum(copies)
    return np.asarray(order[np.searchsorted(until, (np.arange(n) + 0.5) * until[-1] / n, side="right")])


NEGLIGIBLE = 1e-100
"""Rows with less than this share of the largest weight are left out: their share could underflow."""

DECIMALS = 12
"""Decimals to which predictions are compared: 0.1 + 0.2 and 0.3 are equal."""


def comparable(values: FloatArray) -> FloatArray:
    """Return predictions rounded for comparison: those that count as equal are equal.

    Examples
    --------
    >>> bool(0.1 + 0.2 == 0.3), bool(comparable(0.1 + 0.2) == comparable(0.3))
    (False, True)
    """
    return np.round(values, DECIMALS)


def pooled(values: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the distinct predictions, ascending, and the index into them of each row.

    Examples
    --------
    >>> distinct, index = pooled(np.array([0.3, 0.1, 0.1 + 0.2]))
    >>> distinct.tolist(), index.tolist()
    ([0.1, 0.3], [1, 0, 1])
    """
    return np.unique(comparable(values), return_inverse=True)


def starts_of_ties(ascending: FloatArray | IntArray) -> IntArray:
    """Return where each run of equal numbers begins.

    Examples
    --------
    >>> starts_of_ties(np.array([0.1, 0.1, 0.3, 0.3, 0.4])).tolist()
    [0, 2, 4]
    """
    begins = np.empty(len(ascending), dtype=bool)
    begins[:1] = True
    np.not_equal(ascending[1:], ascending[:-1], out=begins[1:])
    return begins.nonzero()[0]


@dataclass(frozen=True, eq=False)
class Pools:
    """Sums over the rows of each of m distinct predictions that has weight, in ascending order."""

    mass: FloatArray  # Sum of the weights.
    predicted: FloatArray  # Sum of the weighted predictions.
    hits: FloatArray  # Sum of the weighted labels.
    fixed: dict[Hashable, object] = field(default_factory=dict)
    """Results that depend on weights and predictions alone, shared by the pools of other labels."""

    @classmethod
    def of(cls, view: Predictions) -> Self:
        """Pool binary predictions at their own weights; cached with the predictions."""
        return view.once("pools", lambda: cls._of(view))

    @classmethod
    def _of(cls, view: Predictions) -> Self:
        ties = Ties.of_view(view)
        columns = (view.weights, view.weights * view.positive, view.weights * view.labels)
        mass, predicted, hits = (ties.sums(column) for column in columns)
        fixed: dict[Hashable, object] = view.once("fixed of pools", dict, of_labels=False)
        return cls.of_sums(mass, predicted, hits, fixed)

    @classmethod
    def of_sums(cls, mass: FloatArray, predicted: FloatArray, hits: FloatArray, fixed: dict[Hashable, object]) -> Self:
        """Return the pools that hold weight, given the sums over each distinct prediction."""
        kept = present(mass)
        return cls(mass[kept], predicted[kept], hits[kept], fixed)

    @cached_property
    def values(self) -> FloatArray:
        """The distinct predictions."""
        return self.predicted / self.mass

    @cached_property
    def frequencies(self) -> FloatArray:
        """The frequency of the event at each distinct prediction."""
        return self.hits / self.mass

    def merged(self, starts: IntArray) -> "Pools":
        """Merge neighbouring pools into one for each of these first indices, which begin with 0."""
        mass, predicted, hits = (np.add.reduceat(sums, starts) for sums in (self.mass, self.predicted, self.hits))
        return Pools(mass, predicted, hits)

    def with_hits(self, hits: FloatArray) -> "Pools":
        """Return the same pools with the weighted events, (m,), of other labels."""
        return Pools(self.mass, self.predicted, hits, self.fixed)

    def once(self, key: Hashable, compute: Callable[[], FloatArray]) -> FloatArray:
        """Return the result of `compute`, cached by its key: several metrics share a curve."""
        if key not in self._kept:
            self._kept[key] = compute()
        return self._kept[key]

    @cached_property
    def _kept(self) -> dict[Hashable, FloatArray]:
        return {}

    def isotonic(self) -> FloatArray:
        """Return the isotonic regression of the frequencies on the predictions."""
        return self.once("isotonic", self._isotonic)

    def _isotonic(self) -> FloatArray:
        return isotonic_regression(self.frequencies, weights=self.mass / self.mass.sum()).x.clip(0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Ties:
    """The order of predictions: sorted once, used for many weights."""

    order: NDArray[np.intp]  # (n,): the rows in ascending order of the predictions.
    starts: NDArray[np.intp]
    """Where each distinct prediction begins in this order, (m,). Predictions that agree to 12 decimals are equal."""

    @staticmethod
    def of_view(view: Predictions) -> "Ties":
        """Find the ties among binary predictions; cached with them."""

        def find() -> "Ties":
            line = line_of(view)
            return Ties(line.order, starts_of_ties(comparable(line.x)))  # Rounding does not change the order.

        return view.once("ties", find, of_labels=False)

    @property
    def are_all_different(self) -> bool:
        """Whether there are no ties."""
        return len(self.starts) == len(self.order)

    def rows(self, start: int, end: int) -> NDArray[np.intp]:
        """Return the rows of distinct values number `start` to `end`, exclusive, in ascending order."""
        last = self.starts[end] if end < len(self.starts) else len(self.order)
        return self.order[self.starts[start] : last]

    def sums(self, columns: FloatArray) -> FloatArray:
        """Return the sums over each distinct value, (m,) or (m, B), of one column (n,) or several (n, B)."""
        ascending = columns[self.order]
        return ascending if self.are_all_different else np.add.reduceat(ascending, self.starts, axis=0)


def present(mass: FloatArray) -> BoolArray | slice:
    """Return which pools hold weight, as a slice in the usual case that all do."""
    held = mass > NEGLIGIBLE * mass.max()
    return slice(None) if held.all() else held
