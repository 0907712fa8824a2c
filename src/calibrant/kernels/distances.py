"""Distances between predictions, and their median."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np

from calibrant._border.numerals import significant
from calibrant._border.types import FloatArray, IntArray
from calibrant._border.warn import warn
from calibrant._core.distances import distances
from calibrant._core.quantiles import neighbours, quantiles
from calibrant._core.threads import in_order
from calibrant.binning.ties import DECIMALS
from calibrant.exceptions import InputError
from calibrant.forecasts import Distribution

EXACT_MEDIAN_ROWS = 5000
"""The median distance is exact up to this many rows; above, it is that of this many rows drawn with a fixed seed."""

MEDIAN_WORK = 2 * 10**9
"""Largest number of pairs times classes: with more than 160 classes fewer rows are used, 2000 for 1000 classes."""

Result = TypeVar("Result")

FEW_ROWS, ROWS_AT_ONCE = 2000, 128
"""Up to this many rows all distances are stored to find their median; rows whose distances are computed together."""

PAIRS_PER_ROW, CLOSE = 8, 1e-16
"""Bisection ends when it leaves this many pairs per row, which are sorted, or an interval as short as this."""

TOGETHER = 512
"""Up to this many rows all distances are computed together: splitting takes longer than what the cache saves."""

SAMPLED_PAIRS, NEAR = 20_000, 0.02
"""With more rows, the median is within this rank of the median of this many random pairs: about six standard errors."""

Points: TypeAlias = FloatArray | Distribution
"""Predictions: class probabilities, or predictive distributions."""


class Distance(ABC):
    """A distance between predictions."""

    @abstractmethod
    def pairwise(self, x: object, y: object) -> FloatArray:
        """Return the distances of all pairs, of shape (n, m)."""

    def paired(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Return the distance between row i of x and row i of y, of shape (n,)."""
        return np.array([self.pairwise(x[i : i + 1], y[i : i + 1])[0, 0] for i in range(len(x))])


def _vectors(points: object, name: str) -> FloatArray:
    if not isinstance(points, np.ndarray):
        raise InputError(
            f"{name} compares vectors such as class probabilities, but got {type(points).__name__}. "
            "For predictive distributions use Wasserstein() or MixtureWasserstein()."
        )
    return points


@dataclass(frozen=True)
class TotalVariation(Distance):
    r"""Total variation distance of class probabilities, :math:`\frac12 \sum_k |p_k - q_k|`.

    With more than two classes only the exponential kernel, and the gamma-exponential up to gamma 1, are positive
    definite for this distance; others give a `DataWarning`, and squared errors may be negative.
    """

    def pairwise(self, x: object, y: object) -> FloatArray:
        """Return the distances of all pairs, of shape (n, m)."""
        found = distances(_vectors(x, "TotalVariation"), _vectors(y, "TotalVariation"), squared=False)
        found *= 0.5
        return found

    def paired(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Return the distance between row i of x and row i of y, of shape (n,)."""
        return 0.5 * np.abs(x - y).sum(axis=1)


@dataclass(frozen=True)
class Euclidean(Distance):
    r"""Euclidean distance :math:`\sqrt{\sum_k (p_k - q_k)^2}`."""

    def pairwise(self, x: object, y: object) -> FloatArray:
        """Return the distances of all pairs, of shape (n, m)."""
        return np.sqrt(distances(_vectors(x, "Euclidean"), _vectors(y, "Euclidean"), squared=True))

    def paired(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Return the distance between row i of x and row i of y, of shape (n,)."""
        return np.linalg.norm(x - y, axis=1)


@dataclass(frozen=True)
class Wasserstein(Distance):
    """2-Wasserstein distance of predictive distributions."""

    def pairwise(self, x: object, y: object) -> FloatArray:
        """Return the distances of all pairs, of shape (n, m)."""
        return _distributions(x, "Wasserstein").wasserstein(_distributions(y, "Wasserstein"))


@dataclass(frozen=True)
class MixtureWasserstein(Distance):
    """2-Wasserstein distance of mixtures where mass may only move between whole components."""

    def pairwise(self, x: object, y: object) -> FloatArray:
        """Return the distances of all pairs, of shape (n, m)."""
        return _distributions(x, "MixtureWasserstein").mixture_wasserstein(_distributions(y, "MixtureWasserstein"))


def _distributions(points: object, name: str) -> Distribution:
    if not isinstance(points, Distribution):
        raise InputError(
            f"{name} compares predictive distributions, but got vectors. For class probabilities use TotalVariation()."
        )
    return points


def median_distance(distance: Distance, points: Points) -> float:
    """Return the median distance between different rows: the lengthscale "median".

    Above 5000 rows it is the median over 5000 of them, drawn with a fixed seed; with more than 160 classes, of fewer
    rows, so that pairs times classes are at most 2e9: 2000 rows of 1000 classes. If more than half of
    all pairs coincide, class probabilities to 12 decimals, it is the median of the positive distances, and 1 if there
    are none; a `DataWarning` says so. It is 1 for a single row.
    """
    n = len(points) if isinstance(points, np.ndarray) else points.n
    least = 10.0**-DECIMALS if isinstance(points, np.ndarray) else 0.0  # Distributions have the unit of their targets.
    most = EXACT_MEDIAN_ROWS
    if isinstance(points, np.ndarray):
        most = min(most, int(np.sqrt(2 * MEDIAN_WORK / points.shape[1])))
    if n > most:
        rows = np.sort(np.random.default_rng(0).choice(n, most, replace=False))
        points, n = points[rows] if isinstance(points, np.ndarray) else points.take(rows), most
    if n > 2 and isinstance(points, np.ndarray) and points.shape[1] == 2 and (median := _line_median(points)) > least:
        return float(distance.paired(np.array([[0.0, median]]), np.array([[median, 0.0]]))[0])
    if n == 1:
        return 1.0
    if (median := _median(*_near_middle(distance, points, n))) > least:
        return median
    positive = _all(distance, points, n)
    positive = positive[positive > least]
    fallback = float(np.median(positive)) if len(positive) else 1.0
    warn(
        f"the median distance of {n} predictions is 0, so kernels have the lengthscale {significant(fallback, 4)}, "
        f"{'the median of the positive distances' if len(positive) else 'because no distance is positive'}."
    )
    return fallback


def _line_median(points: FloatArray) -> float:
    """Return the median of |p - q| over pairs of different rows of two classes; 0 if most coincide.

    Pairs that differ by at most a given number are quick to count in sorted order. So bisection narrows the median down
    to few pairs, whose differences are sorted.
    """
    x = np.sort(points[:, 1])
    n, pairs = len(x), len(x) * (len(x) - 1) // 2
    # Candidates are the pairs of each row with the rows from `first` to before `last`.
    first, last = np.arange(1, n + 1), np.full(n, n)
    before, low, high, tried = int(first.sum()), 0.0, float(x[-1] - x[0]), 0.0
    while int(last.sum() - first.sum()) > PAIRS_PER_ROW * n:
        until = np.searchsorted(x, x + tried, side="right")
        within = int(until.sum()) - before
        if (pairs - 1) // 2 < within <= pairs // 2:  # One of the two middle differences is on either side.
            inner = until < n
            return float((x[until - 1] - x).max() + (x[until[inner]] - x[inner]).min()) / 2
        if within > pairs // 2:
            last, high = until, tried
        else:
            first, low = until, tried
        tried = (low + high) / 2
        # All candidates are equal. Near 1, neighbouring floats differ by more than `CLOSE`.
        if high - low < CLOSE or not low < tried < high:
            return high
    return _median(_differences(x, first, last), int(first.sum()) - before, pairs)


def _differences(x: FloatArray, first: IntArray, last: IntArray) -> FloatArray:
    """Return the differences between each of the ascending numbers and those from `first` to before `last`."""
    number = last - first
    start = np.repeat(np.cumsum(number) - number - first, number)
    return x[np.arange(len(start)) - start] - np.repeat(x, number)


def _near_middle(distance: Distance, points: Points, n: int) -> tuple[FloatArray, int, int]:
    """Return the distances around their median, how many others are smaller, and how many there are in all.

    Random pairs show roughly where the median is, so that only few distances are stored.
    """
    pairs = n * (n - 1) // 2
    if not isinstance(points, np.ndarray) or n <= FEW_ROWS:
        return _all(distance, points, n), 0, pairs
    left, right = np.random.default_rng(0).integers(0, n, (2, SAMPLED_PAIRS))
    low, high = quantiles(distance.paired(points[left], points[right]), [0.5 - NEAR, 0.5 + NEAR])

    def split(part: FloatArray) -> tuple[FloatArray, int]:
        below = part < low
        return part[(part <= high) & ~below], int(np.count_nonzero(below))

    found = list(_of_strips(split, distance, points, n))
    near, below = np.concatenate([part for part, _ in found]), sum(number for _, number in found)
    if below <= (pairs - 1) // 2 and pairs // 2 < below + len(near):
        return near, below, pairs
    return _all(distance, points, n), 0, pairs


def _all(distance: Distance, points: Points, n: int) -> FloatArray:
    return np.concatenate([*_of_strips(np.ravel, distance, points, n)])


def _of_strips(use: Callable[[FloatArray], Result], distance: Distance, points: Points, n: int) -> Iterator[Result]:
    """Yield the results of `use`, which is given the n (n - 1) / 2 distances between different rows in parts."""
    take = points.__getitem__ if isinstance(points, np.ndarray) else points.take
    at_once = ROWS_AT_ONCE if n > TOGETHER else n

    def task(first: int) -> tuple[Result, Result]:
        height = min(at_once, n - first)
        strip = distance.pairwise(take(slice(first, first + height)), take(slice(first, n)))
        above = ~np.tri(height, dtype=bool)
        return use(strip[:, :height][above]), use(strip[:, height:])

    for among, rest in in_order(task, range(0, n - 1, at_once)):
        yield among
        yield rest


def _median(near: FloatArray, below: int, pairs: int) -> float:
    """Return the median of all pairs, given the distances around it."""
    low, high = neighbours(near, pairs // 2 - below)
    return high if pairs % 2 else (low + high) / 2
