"""Distances between predictions, and their median."""

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant._checks import DataWarning
from calibrant._convert import InputError
from calibrant._typing import FloatArray

CELLS = 32_768
"""Distances of so many pairs are summed at a time: they stay in the cache."""

EXACT_MEDIAN_ROWS = 5000
"""The median distance is exact up to this many rows; above, it is that of so many rows drawn with a fixed seed."""


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
        return 0.5 * _sums_of_gaps(_vectors(x, "TotalVariation"), _vectors(y, "TotalVariation"))

    def paired(self, x: Any, y: Any) -> FloatArray:
        """Return the distance of each row to the row beside it, of shape (n,)."""
        return 0.5 * np.abs(x - y).sum(axis=1)


@dataclass(frozen=True)
class Euclidean(Distance):
    r"""Euclidean distance :math:`\sqrt{\sum_k (p_k - q_k)^2}`."""

    def pairwise(self, x: Any, y: Any) -> FloatArray:
        """Return the distances of all pairs, of shape (n, m)."""
        from scipy.spatial.distance import cdist

        return cdist(_vectors(x, "Euclidean"), _vectors(y, "Euclidean"))

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


def _sums_of_gaps(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return the sums over k of abs(x_k - y_k) for all pairs of rows: SciPy's take longer to import than to run."""
    sums = np.zeros((len(x), len(y)))
    columns, height = np.ascontiguousarray(y.T), max(1, CELLS // max(1, len(y)))
    gaps = np.empty((min(height, len(x)), len(y)))
    for first in range(0, len(x), height):
        total = sums[first : first + height]
        some, part = gaps[: len(total)], np.ascontiguousarray(x[first : first + height].T)
        for one, other in zip(part, columns, strict=True):
            np.subtract(one[:, None], other, out=some)
            total += np.abs(some, out=some)
    return sums


def median_distance(distance: Distance, points: Any) -> float:
    """Return the median distance between different rows: the lengthscale "median".

    Above 5000 rows it is the median over 5000 of them, drawn with a fixed seed. If more than half of all pairs
    coincide, it is the median of the positive distances, and 1 if there are none; a `DataWarning` says so. It is 1 for
    a single row.
    """
    n = len(points) if isinstance(points, np.ndarray) else points.n
    if n > EXACT_MEDIAN_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(n, EXACT_MEDIAN_ROWS, replace=False))
        points, n = points[rows] if isinstance(points, np.ndarray) else points.take(rows), EXACT_MEDIAN_ROWS
    distances = _off_diagonal(distance, points, n)
    if len(distances) and (median := _median(distances)) > 0:
        return median
    if n == 1:
        return 1.0
    positive = distances[distances > 0]
    fallback = _median(positive) if len(positive) else 1.0
    warnings.warn(
        f"the median distance of {n} predictions is 0, so the lengthscale is {fallback:.4g}, "
        f"{'the median of the positive distances' if len(positive) else 'for want of any positive distance'}.",
        DataWarning,
        stacklevel=2,
    )
    return fallback


def _off_diagonal(distance: Distance, points: Any, n: int) -> FloatArray:
    """Return the n (n - 1) / 2 distances, computed in strips so that nothing larger is ever held."""
    result = np.empty(n * (n - 1) // 2)
    done = 0
    for i in range(0, n - 1, 256):
        rows, columns = np.arange(i, min(i + 256, n)), np.arange(i, n)
        take = (lambda r: points[r]) if isinstance(points, np.ndarray) else points.take
        strip = distance.pairwise(take(rows), take(columns))
        upper = strip[columns[None, :] > rows[:, None]]
        result[done : done + len(upper)] = upper
        done += len(upper)
    return result


def _median(values: FloatArray) -> float:
    """Return the median, partitioning in place to spare a copy."""
    middle = len(values) // 2
    values.partition(middle)
    if len(values) % 2:
        return float(values[middle])
    return float((values[middle] + values[:middle].max()) / 2)
