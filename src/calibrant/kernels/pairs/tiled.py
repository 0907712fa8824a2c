"""H of anything, by tiles that a function computes."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant.kernels.pairs.base import PairMatrix

TILE = 256
"""Rows and columns of a tile of H where NumPy computes it."""


@dataclass(frozen=True, eq=False)
class TiledPairs(PairMatrix):
    """H for anything else: a function computes the rectangle of two slices of rows with NumPy."""

    size: int
    tile: Callable[[slice, slice], FloatArray]

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.size

    def diagonal(self) -> FloatArray:
        """Return the entries of each row with itself."""
        return np.concatenate([np.diagonal(self.tile(rows, rows)) for rows in _slices(0, self.n, 64)])

    def pair_sum(self) -> float:
        """Return the sum of H_ij over i < j."""
        return math.fsum(float(tile.sum()) for _, _, tile in self._upper(0, self.n))

    def block_sums(self, blocksize: int) -> FloatArray:
        """Return the sum over i < j within each complete block of consecutive rows."""
        starts = range(0, self.n - blocksize + 1, blocksize)
        if blocksize < TILE // 8:
            return self._small_block_sums(blocksize, len(starts))
        return np.array([sum(float(t.sum()) for _, _, t in self._upper(s, s + blocksize)) for s in starts])

    def matmul(self, columns: FloatArray) -> FloatArray:
        """Return H with its diagonal set to 0, times (n, B) columns."""
        result = np.zeros(columns.shape)
        for rows, cols, tile in self._upper(0, self.n):
            result[rows] += tile @ columns[cols]
            result[cols] += tile.T @ columns[rows]
        return result

    def quadratic_forms(self, weights: FloatArray) -> FloatArray:
        """Return the sum of w_i w_j H_ij over i != j for each column of weights (n, B)."""
        forms = np.zeros(weights.shape[1])
        for rows, cols, tile in self._upper(0, self.n):
            forms += np.einsum("ib,ib->b", weights[rows], tile @ weights[cols])
        return 2 * forms

    def weighted(self, weights: FloatArray) -> PairMatrix:
        """Return the matrix of w_i w_j H_ij."""
        return TiledPairs(self.n, lambda i, j: self.tile(i, j) * weights[i, None] * weights[None, j])

    def _upper(self, start: int, end: int) -> Iterator[tuple[slice, slice, FloatArray]]:
        """Yield the tiles that reach above the diagonal, with zeros on and below it."""
        for rows in _slices(start, end, TILE):
            for cols in _slices(rows.start, end, TILE):
                tile = self.tile(rows, cols)
                yield rows, cols, np.triu(tile, 1) if rows == cols else tile

    def _small_block_sums(self, blocksize: int, n_blocks: int) -> FloatArray:
        """Compute a tile of several whole blocks at once and pick their triangles out of it."""
        sums = np.empty(n_blocks)
        per_tile = TILE // blocksize
        for first in range(0, n_blocks, per_tile):
            last = min(first + per_tile, n_blocks)
            rows = slice(first * blocksize, last * blocksize)
            tile = self.tile(rows, rows).reshape(last - first, blocksize, last - first, blocksize)
            blocks = np.einsum("aiaj->aij", tile)
            sums[first:last] = np.triu(blocks, 1).sum(axis=(1, 2))
        return sums


def _slices(start: int, end: int, step: int) -> Iterator[slice]:
    return (slice(i, min(i + step, end)) for i in range(start, end, step))


@dataclass(frozen=True, eq=False)
class SummedPairs(PairMatrix):
    """The sum of several matrices, for sums of tensor products."""

    parts: tuple[PairMatrix, ...]

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.parts[0].n

    def diagonal(self) -> FloatArray:
        """Return the entries of each row with itself."""
        return np.sum([part.diagonal() for part in self.parts], axis=0)

    def pair_sum(self) -> float:
        """Return the sum of H_ij over i < j."""
        return math.fsum(part.pair_sum() for part in self.parts)

    def block_sums(self, blocksize: int) -> FloatArray:
        """Return the sum over i < j within each complete block of consecutive rows."""
        return np.sum([part.block_sums(blocksize) for part in self.parts], axis=0)

    def matmul(self, columns: FloatArray) -> FloatArray:
        """Return H with its diagonal set to 0, times (n, B) columns."""
        return np.sum([part.matmul(columns) for part in self.parts], axis=0)

    def take(self, columns: IntArray) -> FloatArray:
        """Return these columns of H, (n, m), with its diagonal set to 0."""
        return np.sum([part.take(columns) for part in self.parts], axis=0)

    def quadratic_forms(self, weights: FloatArray) -> FloatArray:
        """Return the sum of w_i w_j H_ij over i != j for each column of weights (n, B)."""
        return np.sum([part.quadratic_forms(weights) for part in self.parts], axis=0)

    def weighted(self, weights: FloatArray) -> PairMatrix:
        """Return the matrix of w_i w_j H_ij."""
        return SummedPairs(tuple(part.weighted(weights) for part in self.parts))
