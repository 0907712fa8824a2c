"""The sum of several matrices H."""

import math
from dataclasses import dataclass

import numpy as np

from calibrant._typing import FloatArray, IntArray
from calibrant.kernels.pairs.base import PairMatrix


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
