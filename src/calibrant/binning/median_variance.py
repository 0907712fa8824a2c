"""Cells of the simplex that adapt to the data."""

import heapq
from dataclasses import dataclass

import numpy as np

from calibrant._border.settings import check_count
from calibrant._border.types import FloatArray, IntArray
from calibrant.binning.bins import Cells, SimplexBinning
from calibrant.binning.interval import ROUNDING
from calibrant.binning.ties import NEGLIGIBLE, comparable


@dataclass(frozen=True)
class MedianVariance(SimplexBinning):
    r"""Split again and again, at the median of the class whose probability varies most.

    Parameters
    ----------
    min_size : int, default=10
        Least number of effective rows in a cell, :math:`(\sum w_i)^2 / \sum w_i^2`, unless there are fewer in all.
    max_bins : int, optional
        Largest number of cells.

    Notes
    -----
    The set of rows with the largest variance in any class is split next, at the median of that class (ties go to the
    upper part). A set whose parts would be smaller than `min_size` stays whole. Weights are relative: a constant factor
    changes nothing.

    References
    ----------
    J. Vaicenavicius et al., "Evaluating model calibration in classification", AISTATS 2019.

    Examples
    --------
    >>> probs = np.array([[0.4, 0.1, 0.5], [0.5, 0.3, 0.2], [0.3, 0.7, 0.0], [0.1, 0.0, 0.9], [0.8, 0.1, 0.1]])
    >>> MedianVariance(2).cells(probs, np.ones(5)).index.tolist()
    [1, 1, 0, 1, 0]
    """

    min_size: int = 10
    max_bins: int | None = None

    def __post_init__(self) -> None:
        check_count(self.min_size, "min_size")
        if self.max_bins is not None:
            check_count(self.max_bins, "max_bins")

    def cells(self, probs: FloatArray, weights: FloatArray) -> Cells:
        """Assign every row of probabilities to a cell."""
        weights = weights / weights.max()
        rows = np.flatnonzero(weights > NEGLIGIBLE)
        own = weights[rows]
        final: list[IntArray] = []
        queue = [(*_widest(probs[rows], own, _effective_rows(own)), 0, rows, own)]
        count, entered = 1, 1
        while queue and (self.max_bins is None or count < self.max_bins):
            _, dimension, _, rows, own = heapq.heappop(queue)
            parts = [(rows[part], own[part]) for part in _split(probs[rows, dimension], own)]
            counts = [_effective_rows(own) for _, own in parts]
            if min(counts) < self.min_size:
                final.append(rows)
                continue
            count += 1
            for (part, own), size in zip(parts, counts, strict=True):
                if size < 2 * self.min_size:
                    final.append(part)
                else:
                    heapq.heappush(queue, (*_widest(probs[part], own, size), entered, part, own))
                    entered += 1
        final += [rows for *_, rows, _ in sorted(queue, key=lambda entry: entry[:3])]
        return _numbered(final, len(weights))


# There may be hundreds of cells with few rows each, so these functions call methods and ufuncs of NumPy directly.


def _effective_rows(weights: FloatArray) -> float:
    """Return the effective number of rows, rounded to 9 decimals so that rounding does not break integers."""
    return round(float(np.add.reduce(weights)) ** 2 / float(weights.dot(weights)), 9) if len(weights) else 0.0


def _widest(probs: FloatArray, weights: FloatArray, count: float) -> tuple[float, int]:
    """Return minus the largest variance of any class, and the class; the first wins a tie."""
    if count <= 1:
        return 0.0, 0
    shares = weights / np.add.reduce(weights)
    away = probs - shares.dot(probs)
    variance = shares.dot(np.square(away, out=away)) * (count / (count - 1))
    largest = float(np.maximum.reduce(variance))
    # Two classes have the same variance: rounding must not decide between them, nor between sets.
    return -float(f"{largest:.9g}"), int((variance >= largest * (1 - 1e-9)).argmax())


def _split(values: FloatArray, weights: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the positions of values below the median, and of the others; ties of the median go to the upper part."""
    values = comparable(values)
    order = values.argsort(kind="stable")
    ascending, mass = values[order], weights[order].cumsum()
    mass /= mass[-1]
    middle = ascending[min(int(mass.searchsorted(0.5 + ROUNDING, side="right")), len(ascending) - 1)]
    below = ascending.searchsorted(middle)
    return order[:below], order[below:]


def _numbered(parts: list[IntArray], n: int) -> Cells:
    index = np.full(n, -1)
    for number, rows in enumerate(parts):
        index[rows] = number
    return Cells(index, len(parts))
