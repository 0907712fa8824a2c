r"""The matrix behind every kernel calibration error and test, reduced without ever being stored.

For rows i and j of the data, with the kernel :math:`k_P k_Y`,

.. math:: H_{ij} = k_P(p_i, p_j) \big[k_Y(y_i, y_j) - E_{Z \sim p_i} k_Y(Z, y_j) - E_{Z' \sim p_j} k_Y(y_i, Z')
    + E k_Y(Z, Z')\big].

For K classes with residuals :math:`R = \mathrm{onehot}(y) - P` and the Gram matrix G of the target kernel, the bracket
is :math:`r_i^\top G r_j`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant._core import engine, twin
from calibrant._core.blocks import slices
from calibrant._core.distances import Kernel, RadialMatrix
from calibrant._core.sorted1d import SortedLine


class PairMatrix(ABC):
    """The symmetric matrix H, known by its reductions."""

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of rows."""

    @abstractmethod
    def diagonal(self) -> FloatArray:
        """Return the entries of each row with itself."""

    @abstractmethod
    def pair_sum(self) -> float:
        """Return the sum of H_ij over i < j."""

    @abstractmethod
    def block_sums(self, blocksize: int) -> FloatArray:
        """Return the sum over i < j within each complete block of consecutive rows."""

    @abstractmethod
    def matmul(self, columns: FloatArray) -> FloatArray:
        """Return H with its diagonal set to 0, times (n, B) columns."""

    @abstractmethod
    def weighted(self, weights: FloatArray) -> "PairMatrix":
        """Return the matrix of w_i w_j H_ij."""

    def take(self, columns: IntArray) -> FloatArray:
        """Return these columns of H, (n, m), with its diagonal set to 0."""
        units = np.zeros((self.n, len(columns)))
        units[columns, np.arange(len(columns))] = 1.0
        return self.matmul(units)

    def quadratic_forms(self, weights: FloatArray) -> FloatArray:
        """Return the sum of w_i w_j H_ij over i != j for each column of weights (n, B)."""
        if weights.shape[1] == 1:
            return np.array([2 * self.weighted(weights[:, 0]).pair_sum()])
        return np.einsum("ib,ib->b", weights, self.matmul(weights))


TILE = 256
"""Rows and columns of a tile of H where NumPy computes it."""


@dataclass(frozen=True, eq=False)
class TiledPairs(PairMatrix):
    """H by a function that computes the rectangle of two slices of rows in NumPy."""

    size: int
    tile: Callable[[slice, slice], FloatArray]

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.size

    def diagonal(self) -> FloatArray:
        """Return the entries of each row with itself."""
        return np.concatenate([np.diagonal(self.tile(rows, rows)) for rows in slices(0, self.n, 64)])

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
        for rows in slices(start, end, TILE):
            for cols in slices(rows.start, end, TILE):
                tile = self.tile(rows, cols)
                yield rows, cols, np.triu(tile, 1) if rows == cols else tile

    def _small_block_sums(self, blocksize: int, n_blocks: int) -> FloatArray:
        """Compute tiles of several whole blocks, and sum the upper triangle of each block."""
        sums = np.empty(n_blocks)
        per_tile = TILE // blocksize
        for first in range(0, n_blocks, per_tile):
            last = min(first + per_tile, n_blocks)
            rows = slice(first * blocksize, last * blocksize)
            tile = self.tile(rows, rows).reshape(last - first, blocksize, last - first, blocksize)
            blocks = np.einsum("aiaj->aij", tile)
            sums[first:last] = np.triu(blocks, 1).sum(axis=(1, 2))
        return sums


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


@dataclass(frozen=True, eq=False)
class RadialPairs(RadialMatrix, PairMatrix):
    """H for classes: a radial kernel of the probabilities times the product of residuals."""

    def diagonal(self) -> FloatArray:
        """Return the entries of each row with itself."""
        return np.einsum("ik,ik->i", self.left, self.other)

    def pair_sum(self) -> float:
        """Return the sum of H_ij over i < j."""
        return float(engine().pair_sum(self))

    def block_sums(self, blocksize: int) -> FloatArray:
        """Return the sum over i < j within each complete block of consecutive rows."""
        return np.asarray(engine().block_sums(self, blocksize))

    def matmul(self, columns: FloatArray) -> FloatArray:
        """Return H with its diagonal set to 0, times (n, B) columns."""
        if columns.shape[1] != 1:
            return twin.matmul(self, columns)
        return np.asarray(engine().row_sums(self, weights=columns[:, 0])[:, None])

    def take(self, columns: IntArray) -> FloatArray:
        """Return these columns of H, (n, m), with its diagonal set to 0."""
        found = twin.columns(self, columns)
        found[columns, np.arange(len(columns))] = 0.0
        return found

    def quadratic_forms(self, weights: FloatArray) -> FloatArray:
        """Return the sum of w_i w_j H_ij over i != j for each column of weights (n, B)."""
        if weights.shape[1] == 1:
            return super().quadratic_forms(weights)
        return np.asarray(engine().quadratic_forms(self, weights))

    def weighted(self, weights: FloatArray) -> PairMatrix:
        """Return the matrix of w_i w_j H_ij."""
        if np.all(weights == 1.0):
            return self
        scale = weights[:, None]
        right = None if self.right is None else self.right * scale
        return RadialPairs(self.points, self.left * scale, right, self.kernel)


@dataclass(frozen=True, eq=False)
class SortedPairs(PairMatrix):
    r"""H on a line with an exponential kernel: exact sums in O(n log n), see `calibrant._core.sorted1d`.

    The entries are :math:`c \, r_i r_j \exp(-|p_i - p_j| / \ell)` with a number c.
    """

    positions: FloatArray
    residuals: FloatArray
    lengthscale: float
    scale: float

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.positions)

    def diagonal(self) -> FloatArray:
        """Return the entries of each row with itself."""
        return self.scale * self.residuals**2

    def pair_sum(self) -> float:
        """Return the sum of H_ij over i < j."""
        return self.scale * self._line.pair_sum(self.residuals)

    def block_sums(self, blocksize: int) -> FloatArray:
        """Return the sum over i < j within each complete block of consecutive rows."""
        return self._as_radial().block_sums(blocksize)

    def matmul(self, columns: FloatArray) -> FloatArray:
        """Return H with its diagonal set to 0, times (n, B) columns."""
        return self.scale * self._line.matmul(self.residuals, columns)[0]

    def take(self, columns: IntArray) -> FloatArray:
        """Return these columns of H, (n, m), with its diagonal set to 0."""
        return self._as_radial().take(columns)

    def weighted(self, weights: FloatArray) -> PairMatrix:
        """Return the matrix of w_i w_j H_ij."""
        weighted = SortedPairs(self.positions, self.residuals * weights, self.lengthscale, self.scale)
        weighted.__dict__["_line"] = self._line  # The rows are sorted once.
        return weighted

    @cached_property
    def _line(self) -> SortedLine:
        return SortedLine.of(self.positions, self.lengthscale)

    def _as_radial(self) -> RadialPairs:
        """Return the same matrix without the sorted order."""
        kernel, residuals = Kernel("exponential", "euclidean", self.lengthscale), self.residuals[:, None]
        return RadialPairs(self.positions[:, None], self.scale * residuals, residuals, kernel)
