r"""Kernel regression of outcomes on predicted probabilities.

The estimated frequency at c is :math:`\hat\pi(c) = \sum_j w_j y_j K_h(c, c_j) / \sum_j w_j K_h(c, c_j)`, after
Nadaraya and Watson. Sums take O(n log n) at any bandwidth; see `calibrant._core.line`.
"""

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, TypeVar, cast, get_args

import numpy as np

from calibrant._border.spellings import Spellings
from calibrant._border.types import FloatArray
from calibrant._core.library import library
from calibrant._core.line.beta import BetaSums
from calibrant._core.line.boxes import Line
from calibrant._core.line.sums import KernelSums
from calibrant._core.line.twin import FEW_ROWS, PlainSums
from calibrant.exceptions import InputError

KernelName: TypeAlias = Literal["gaussian", "triweight", "epanechnikov", "beta"]
Boundary: TypeAlias = Literal["reflect", "none"]
Choice = TypeVar("Choice")

# The word for reflection in texts on density estimation.
_SPELLINGS = Spellings(aliases={"mirror": "reflect"})

NO_NEIGHBOUR = 1e-9
"""Neighbours with less kernel mass than this, in rows of mean weight at distance 0, are rounding and count as none."""


class Sums(Protocol):
    """Kernel sums over given rows."""

    def leave_one_out(self, charges: FloatArray) -> FloatArray:
        """Return the sums over all other rows, (n, m), of charges (n, m)."""

    def at(self, points: FloatArray, charges: FloatArray) -> FloatArray:
        """Return the sums over all rows, (g, m), at points (g,)."""

    def peak(self, points: FloatArray) -> FloatArray:
        """Return the kernel at distance 0 from the points."""


@dataclass(frozen=True, eq=False)
class CopiedSums:
    """Kernel sums over the cells of a sketch, which stand for many rows each; one row is left out, not a cell."""

    sums: Sums
    positions: FloatArray
    copies: FloatArray  # (n,): how many rows each stands for.

    def leave_one_out(self, charges: FloatArray) -> FloatArray:
        """Return the sums over all other rows, (n, m), of charges (n, m), which the rows of a cell share."""
        whole = self.sums.at(self.positions, charges)
        own = whole - self.sums.leave_one_out(charges)
        return whole - own / self.copies[:, None]

    def at(self, points: FloatArray, charges: FloatArray) -> FloatArray:
        """Return the sums over all rows, (g, m), at points (g,)."""
        return self.sums.at(points, charges)

    def peak(self, points: FloatArray) -> FloatArray:
        """Return the kernel at distance 0 from the points."""
        return self.sums.peak(points)


def kernel_sums(line: Line, bandwidth: float, kernel: KernelName, boundary: Boundary) -> Sums:
    """Return the kernel sums over the rows of a line: compiled, or in NumPy for few rows or without compiled code."""
    reflect = boundary == "reflect"
    if library() is None or len(line) <= FEW_ROWS:
        return PlainSums(line, bandwidth, kernel, reflect)
    return BetaSums(line, bandwidth) if kernel == "beta" else KernelSums(line, bandwidth, kernel, reflect)


def check_bandwidth(bandwidth: object) -> float:
    """Return a bandwidth as a float; refuse anything but a positive, finite number."""
    if isinstance(bandwidth, bool) or not isinstance(bandwidth, (int, float, np.integer, np.floating)):
        raise TypeError(f"bandwidth must be a number, but is {bandwidth!r}.")
    if not 0 < bandwidth < np.inf:
        raise InputError(f"bandwidth must be positive and finite, but is {bandwidth!r}.")
    return float(bandwidth)


def check_choice(value: Choice, name: str, choices: object) -> Choice:
    """Return a setting as it is written in a `Literal`, given in upper or lower case; refuse any other.

    Examples
    --------
    >>> check_choice("Gaussian", "kernel", KernelName), check_choice("mirror", "boundary", Boundary)
    ('gaussian', 'reflect')
    """
    names = get_args(choices)
    found = _SPELLINGS.find(value, names) if isinstance(value, str) else value
    if found not in names:
        listed = ", ".join(f'"{choice}"' for choice in names)
        raise InputError(f"{name} must be one of {listed}, but is {value!r}.")
    return cast("Choice", found)


def frequency_at(
    points: FloatArray, sums: Sums, outcomes: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the estimated frequency of an event at points (g,), and how much supports it, both (g,) or (g, B).

    Outcomes, 0 or 1, and weights are (n,), or (n, B) with one column for each set of labels or each replicate. The
    frequency is NaN where there are no neighbours. The support is their weight, where a row at distance 0 counts in
    full. Sorting takes longer than the sums: where many labels have the same positions, pass the same `sums` for all.

    Examples
    --------
    >>> p, y = np.array([0.2, 0.4, 0.8]), np.array([0.0, 1.0, 1.0])
    >>> sums = kernel_sums(Line.of(p), bandwidth=0.2, kernel="triweight", boundary="reflect")
    >>> frequency, mass = frequency_at(np.array([0.3]), sums, y, np.ones(3))
    >>> frequency.round(6).tolist(), mass.round(6).tolist()  # Two rows at half a bandwidth, each (1 - 1/4)^3
    ([0.5], [0.84375])
    """
    flat = outcomes.ndim == weights.ndim == 1
    Y, W = (a.reshape(len(a), -1).astype(float) for a in (outcomes, weights))
    found = sums.at(points, np.hstack([W * Y, W]))
    hits, mass = found[:, : -W.shape[1]], found[:, -W.shape[1] :]
    peak = sums.peak(points)
    mean_weights = W.sum(axis=0) / np.maximum(np.count_nonzero(W, axis=0), 1)  # Of rows that have weight.
    isolated = mass <= NO_NEIGHBOUR * peak[:, None] * mean_weights
    ratio = np.clip(hits / np.where(isolated, 1.0, mass), 0.0, 1.0)
    frequency = np.where(isolated, np.nan, ratio)
    mass = np.broadcast_to(mass / peak[:, None], frequency.shape)
    return (frequency[:, 0], mass[:, 0]) if flat else (frequency, mass)
