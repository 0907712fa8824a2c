"""Sums of random waves over rows, with weights or without: integers, so that any order gives the same."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._border.types import FloatArray, IntArray
from calibrant.binning.cells.weights import BITS, ONE

BLOCKS = 16
"""Rows are divided into this many blocks by a hash of what they hold."""

FINE = 15
"""Binary digits of waves and residuals."""

MOST_WEIGHTED = 2**10
"""Rows with weights at a time: products of a wave, a residual and 13 digits of a weight have exact sums in a double."""

_LIMB = 40
_DIGITS = 13

Wholes = NDArray[Any]
"""Whole numbers, of 64 bits or, as objects, of any size."""


class WaveSums(NamedTuple):
    """Sums over the rows of every block.

    Attributes
    ----------
    waves : ndarray of shape (blocks, 2 D, K), or (2, blocks, 2 D, K)
        Cosines and sines times residuals, in units of 2^-30. Times weights, in units of 2^-50, they have two parts, of
        which the second has 40 binary digits.
    squares : ndarray of shape (blocks,)
        Squared lengths of the residuals, in units of 2^-30; times squared weights, in units of 2^-70.
    rows : ndarray of shape (blocks,)
        How many they are; or their weights, in units of 2^-20.
    pairs : ndarray of shape (blocks,) or None
        Squared weights, in units of 2^-40; None while every row has weight 1.
    """

    waves: IntArray
    squares: Wholes
    rows: Wholes
    pairs: Wholes | None = None

    @classmethod
    def empty(cls, n_waves: int, n_classes: int) -> "WaveSums":
        """Return the sums of no rows."""
        none = (np.zeros(BLOCKS, np.int64) for _ in range(2))
        return cls(np.zeros((BLOCKS, n_waves, n_classes), np.int64), *none)

    def __add__(self, other: "WaveSums") -> "WaveSums":  # type: ignore[override]  # A sum, not a longer tuple.
        if self.pairs is None and other.pairs is None:
            return WaveSums(self.waves + other.waves, self.squares + other.squares, self.rows + other.rows)
        mine, yours = self.weighted(), other.weighted()
        waves = normalised(mine.waves + yours.waves)
        return WaveSums(waves, *(np.asarray(a) + np.asarray(b) for a, b in zip(mine[1:], yours[1:], strict=True)))

    def weighted(self) -> "WaveSums":
        """Return the same sums with weights; if there are none yet, every row gets a weight of 1."""
        if self.pairs is not None:
            return self
        waves = np.stack([self.waves >> (_LIMB - BITS), (self.waves & (2 ** (_LIMB - BITS) - 1)) << BITS])
        squares, rows = self.squares.astype(object), self.rows.astype(object)
        return WaveSums(waves, squares * ONE**2, rows * ONE, rows * ONE**2)

    def add(self, block: IntArray, waves: FloatArray, residuals: FloatArray, units: IntArray | None) -> None:
        """Add rows in place: waves (n, 2 D) and residuals (n, K) in units of 2^-15, and weights if there are any."""
        lengths = (residuals**2).sum(axis=1).astype(np.int64)
        if units is None:
            np.add.at(self.squares, block, lengths)
            np.add.at(self.rows, block, 1)
        else:
            whole = units.astype(object)
            np.add.at(self.squares, block, whole**2 * lengths.astype(object))
            np.add.at(self.rows, block, whole)
            np.add.at(np.asarray(self.pairs), block, whole**2)
        for b in np.unique(block):
            own = block == b  # Products of whole numbers below 2^15: their sums are exact in any order.
            if units is None:
                self.waves[b] += (waves[own].T @ residuals[own]).astype(np.int64)
            else:
                self._add_weighted(int(b), waves[own], residuals[own], units[own])

    def _add_weighted(self, b: int, waves: FloatArray, residuals: FloatArray, units: IntArray) -> None:
        """Add rows of one block, some digits of their weights after the other."""
        high, low = self.waves[:, b]
        for shift in range(0, _LIMB + 1, _DIGITS):
            digits = (units >> shift) & (2**_DIGITS - 1)
            if digits.any():
                found = (waves.T @ (residuals * digits[:, None])).astype(np.int64)
                high += found >> (_LIMB - shift)
                low += (found & (2 ** (_LIMB - shift) - 1)) << shift
        normalised(self.waves[:, b])

    def means(self, b: int | slice) -> tuple[FloatArray, float, float]:
        """Return of a block, or of all, waves (2 D, K), squares, and how much all pairs of different rows weigh."""
        all_of = [np.sum(one[b]) for one in self[1:] if one is not None]
        waves = (self.waves if self.pairs is None else self.waves.swapaxes(0, 1))[b]
        waves = waves.sum(axis=0) if isinstance(b, slice) else waves
        squares, rows = int(all_of[0]), int(all_of[1])
        if self.pairs is None:
            return np.asarray(waves * 2.0 ** (-2 * FINE)), squares * 2.0 ** (-2 * FINE), float(rows * (rows - 1))
        joined = waves[0] * 2.0 ** (_LIMB - BITS - 2 * FINE) + waves[1] * 2.0 ** (-BITS - 2 * FINE)
        return joined, squares / 2 ** (2 * FINE + 2 * BITS), (rows**2 - int(all_of[2])) / ONE**2

    def head(self) -> dict[str, list[int]]:
        """Return all but the waves, as the bytes of a sketch hold it."""
        found = {"squares": self.squares, "rows": self.rows, "pairs": self.pairs}
        sums = {name: list(map(int, one)) for name, one in found.items() if one is not None}
        return {"shape": list(self.waves.shape)} | sums

    @classmethod
    def of(cls, head: dict[str, object], waves: IntArray) -> "WaveSums":
        """Return the sums of which `head` was a part."""
        kind = object if "pairs" in head else np.int64
        sums = [np.array(head[name], dtype=kind) for name in ("squares", "rows", "pairs") if name in head]
        return cls(waves.astype(np.int64), *sums)


def normalised(waves: IntArray) -> IntArray:
    """Carry what second parts have beyond their digits into the first ones, in place."""
    high, low = waves
    high += low >> _LIMB
    low &= 2**_LIMB - 1
    return waves
