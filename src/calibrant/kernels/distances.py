"""Distances between predictions, and their median."""

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant._core.distances import distances
from calibrant._typing import FloatArray
from calibrant.exceptions import DataWarning, InputError

EXACT_MEDIAN_ROWS = 5000
"""The median distance is exact up to this many rows; above, it is that of this many, drawn with a fixed seed."""

MEDIAN_WORK = 2 * 10**9
"""Pairs of these rows times classes: with more than 160 classes there are fewer rows, 2000 of 1000 classes."""


class Distance(ABC):
    """A distance between predictions."""

    @abstractmethod
    def pairwise(self, x: Any, y: Any) -> FloatArray:
        """Return the distances of all pairs, of shape (n, m)."""

    def paired(self, x: Any, y: Any) -> FloatArray:
        """Return the distance of each row to the row beside it, of shape (n,)."""
        return np.array([self.pairwise(x[i : i + 1], y[i : i + 1])[0, 0] for i in range(len(x))])


def _vectors(points: Any, name: str) -> FloatArray:
    if not isinstance(points, np.ndarray):
        raise InputError(
            f"{name} compares vectors such as class probabilities, but got {type(points).__name__}. "
            "For predictive distributions use Wasserstein() or MixtureWasserstein()."
        )
    return points


@dataclass(frozen=True)
class TotalVariation(Distance):
    r"""Total variation distance of class probabilities, :math:`\frac12 \sum_k |p_k - q_k|`.

    For more than two classes only the exponential kernel of it, and the gamma-exponential up to gamma 1, is positive
    definite; others work, with a `DataWarning`, and may have negative squares.
    """

    def pairwise(self, x: Any, y: Any) -> FloatArray:
        """Return the distances of all pairs, of shape (n, m)."""
        return 0.5 * distances(_vectors(x, "TotalVariation"), _vectors(y, "TotalVariation"), squared=False)

    def paired(self, x: Any, y: Any) -> FloatArray:
        """Return the distance of each row to the row beside it, of shape (n,)."""
        return 0.5 * np.abs(x - y).sum(axis=1)


@dataclass(frozen=True)
class Euclidean(Distance):
    r"""Euclidean distance :math:`\sqrt{\sum_k (p_k - q_k)^2}`."""

    def pairwise(self, x: Any, y: Any) -> FloatArray:
        """Return the distances of all pairs, of shape (n, m)."""
        return np.sqrt(distances(_vectors(x, "Euclidean"), _vectors(y, "Euclidean"), squared=True))

    def paired(self, x: Any, y: Any) -> FloatArray:
        """Return the distance of each row to the row beside it, of shape (n,)."""
        return np.linalg.norm(x - y, axis=1)


@dataclass(frozen=True)
class Wasserstein(Distance):
    """2-Wasserstein distance of predictive distributions."""

    def pairwise(self, x: Any, y: Any) -> FloatArray:
        """Return the distances of all pairs, of shape (n, m)."""
        return _distributions(x, "Wasserstein").wasserstein(y)


@dataclass(frozen=True)
class MixtureWasserstein(Distance):
    """2-Wasserstein distance of mixtures when mass may only move from component to component."""

    def pairwise(self, x: Any, y: Any) -> FloatArray:
        """Return the distances of all pairs, of shape (n, m)."""
        return _distributions(x, "MixtureWasserstein").mixture_wasserstein(y)


def _distributions(points: Any, name: str) -> Any:
    if isinstance(points, np.ndarray):
        raise InputError(
            f"{name} compares predictive distributions, but got vectors. For class probabilities use TotalVariation()."
        )
    return points


def median_distance(distance: Distance, points: Any) -> float:
    """Return the median distance between different rows: the lengthscale "median".

    Above 5000 rows it is the median over 5000 of them, drawn with a fixed seed; with more than 160 classes, of fewer
    rows, so that pairs times classes are at most 2e9: 2000 rows of 1000 classes. If more than half of
    all pairs coincide, it is the median of the positive distances, and 1 if there are none; a `DataWarning` says so. It
    is 1 for a single row.
    """
    n = len(points) if isinstance(points, np.ndarray) else points.n
    most = EXACT_MEDIAN_ROWS
    if isinstance(points, np.ndarray):
        most = min(most, int(np.sqrt(2 * MEDIAN_WORK / points.shape[1])))
    if n > most:
        rows = np.sort(np.random.default_rng(0).choice(n, most, replace=False))
        points, n = points[rows] if isinstance(points, np.ndarray) else points.take(rows), most
    if n > 2 and isinstance(points, np.ndarray) and points.shape[1] == 2 and (median := _line_median(points)) > 0:
        return float(distance.paired(np.array([[0.0, median]]), np.array([[median, 0.0]]))[0])
    between = _off_diagonal(distance, points, n)
    if len(between) and (median := _median(between)) > 0:
        return median
    if n == 1:
        return 1.0
    positive = between[between > 0]
    fallback = _median(positive) if len(positive) else 1.0
    warnings.warn(
        f"the median distance of {n} predictions is 0, so the lengthscale is {fallback:.4g}, "
        f"{'the median of the positive distances' if len(positive) else 'because no distance is positive'}.",
        DataWarning,
        stacklevel=2,
    )
    return fallback


def _line_median(points: FloatArray) -> float:
    """Return the median of |p - q| over pairs of different rows of two classes; 0 if most coincide.

    Pairs up to a difference are counted in sorted order, and the difference is found by bisection.
    """
    x = np.sort(points[:, 1])
    pairs = len(x) * (len(x) - 1) // 2
    return (_difference(x, pairs // 2) + _difference(x, (pairs - 1) // 2)) / 2


def _difference(ascending: FloatArray, rank: int) -> float:
    """Return the difference of two numbers given how many are smaller than each, to the last digit or two."""
    before = np.arange(1, len(ascending) + 1)
    low, high = 0.0, float(ascending[-1] - ascending[0])
    if np.searchsorted(ascending, ascending, side="right").sum() - before.sum() > rank:
        return 0.0
    while low < (middle := (low + high) / 2) < high:
        within = np.searchsorted(ascending, ascending + middle, side="right") - before
        low, high = (low, middle) if within.sum() > rank else (middle, high)
        if high - low < 1e-16:
            break
    return high


def _off_diagonal(distance: Distance, points: Any, n: int) -> FloatArray:
    """Return the n (n - 1) / 2 distances, computed in strips so that nothing larger is ever held."""
    result = np.empty(n * (n - 1) // 2)
    done = 0
    for i in range(0, n - 1, 256):
        rows, columns = np.arange(i, min(i + 256, n)), np.arange(i, n)
        take = (lambda r: points[r]) if isinstance(points, np.ndarray) else points.take
        strip = distance.pairwise(take(rows), take(columns))
        corner, beside = strip[:, : len(rows)], strip[:, len(rows) :]
        upper = corner[np.triu_indices(len(rows), 1)]
        result[done : done + len(upper)] = upper
        done += len(upper)
        result[done : done + beside.size].reshape(beside.shape)[:] = beside
        done += beside.size
    return result


def _median(values: FloatArray) -> float:
    """Return the median, partitioning in place to spare a copy."""
    middle = len(values) // 2
    values.partition(middle)
    if len(values) % 2:
        return float(values[middle])
    return float((values[middle] + values[:middle].max()) / 2)
