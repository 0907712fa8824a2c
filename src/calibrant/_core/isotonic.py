"""Isotonic regression: compiled, or in NumPy. Importing `scipy.optimize` would take longer than most uses."""

from typing import NamedTuple

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant._core.library import library

PASSES = 100
"""Largest number of passes. Nearly all data needs fewer; the rest is left to SciPy, whose time is always linear."""


class Isotonic(NamedTuple):
    """An isotonic fit.

    Attributes
    ----------
    x : array of shape (n,)
        The fitted values.
    blocks : array of shape (n_blocks + 1,)
        The first entry of each block of equal values, and n.
    """

    x: FloatArray
    blocks: IntArray


def isotonic_regression(y: FloatArray, *, weights: FloatArray, increasing: bool = True) -> Isotonic:
    """Return the monotone values with the least weighted squared distance to y; weights are positive.

    Neighbours in the wrong order, or equal, share their value in the solution.

    Examples
    --------
    >>> fit = isotonic_regression(np.array([1.0, 3.0, 2.0, 4.0]), weights=np.ones(4))
    >>> fit.x.tolist(), fit.blocks.tolist()
    ([1.0, 2.5, 2.5, 4.0], [0, 1, 3, 4])
    """
    if not increasing:
        fit = isotonic_regression(y[::-1], weights=weights[::-1])
        return Isotonic(fit.x[::-1].copy(), len(y) - fit.blocks[::-1])
    core, n = library(), len(y)
    if core is None:
        return by_passes(y, weights)
    starts, (means, sums, masses), n_blocks = np.empty(n + 1, dtype=np.int64), np.empty((3, n)), np.empty(1, np.int64)
    y, weights = np.ascontiguousarray(y, dtype=np.float64), np.ascontiguousarray(weights, dtype=np.float64)
    core.isotonic(y, weights, n, starts, means, sums, masses, n_blocks)
    last = n_blocks.item()
    blocks = starts[: last + 1]
    return Isotonic(means[:last].repeat(blocks[1:] - blocks[:-1]), blocks)


def by_passes(y: FloatArray, weights: FloatArray) -> Isotonic:
    """Return the increasing regression without compiled code.

    Every run of blocks whose means do not increase becomes one block, all runs in one pass, until the means increase.
    """
    means, mass, sums = y, weights, y * weights
    starts = np.arange(len(y))
    for _ in range(PASSES):
        begins = np.empty(len(means), dtype=bool)
        begins[0] = True
        np.greater(means[1:], means[:-1], out=begins[1:])
        (first,) = begins.nonzero()
        if len(first) == len(means):
            blocks = np.append(starts, len(y))
            return Isotonic(np.repeat(means, blocks[1:] - blocks[:-1]), blocks)
        sums, mass, starts = np.add.reduceat(sums, first), np.add.reduceat(mass, first), starts[first]
        # A block that was not merged, because it and the next entry both begin one, keeps its mean exactly.
        alone = begins.copy()
        alone[:-1] &= begins[1:]
        means = np.where(alone[first], means[first], sums / mass)
    from scipy.optimize import isotonic_regression as of_scipy

    fit = of_scipy(y, weights=weights)
    return Isotonic(fit.x, fit.blocks.astype(np.int64))
