"""H of classes, by compiled tiles."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant._core import engine, twin
from calibrant._core.kernel import Kernel as CompiledKernel
from calibrant.kernels.pairs.base import PairMatrix


@dataclass(frozen=True, eq=False)
class RadialPairs(PairMatrix):
    """H for classes: a radial kernel of the probabilities times the product of residuals."""

    points: FloatArray
    left: FloatArray
    right: FloatArray | None
    """None if it is the same as `left`."""
    kernel: CompiledKernel

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.points)

    def diagonal(self) -> FloatArray:
        """Return the entries of each row with itself."""
        return np.einsum("ik,ik->i", self.left, self.left if self.right is None else self.right)

    def pair_sum(self) -> float:
        """Return the sum of H_ij over i < j."""
        return self._engine.pair_sum(self.points, self.left, self.right, kernel=self.kernel)

    def block_sums(self, blocksize: int) -> FloatArray:
        """Return the sum over i < j within each complete block of consecutive rows."""
        return self._engine.block_sums(self.points, self.left, self.right, kernel=self.kernel, blocksize=blocksize)

    def matmul(self, columns: FloatArray) -> FloatArray:
        """Return H with its diagonal set to 0, times (n, B) columns."""
        if columns.shape[1] != 1:
            return twin.matmul(self.points, self.left, columns, self.right, kernel=self.kernel)
        weights = columns[:, 0]
        return self._engine.row_sums(self.points, self.left, self.right, kernel=self.kernel, weights=weights)[:, None]

    def take(self, columns: IntArray) -> FloatArray:
        """Return these columns of H, (n, m), with its diagonal set to 0."""
        right = self.left if self.right is None else self.right
        found = twin.rectangle(self.points, self.left, self.points[columns], right[columns], kernel=self.kernel)
        found[columns, np.arange(len(columns))] = 0.0
        return found

    def quadratic_forms(self, weights: FloatArray) -> FloatArray:
        """Return the sum of w_i w_j H_ij over i != j for each column of weights (n, B)."""
        if weights.shape[1] == 1:
            return super().quadratic_forms(weights)
        return self._engine.quadratic_forms(self.points, self.left, weights, self.right, kernel=self.kernel)

    def weighted(self, weights: FloatArray) -> PairMatrix:
        """Return the matrix of w_i w_j H_ij."""
        if np.all(weights == 1.0):
            return self
        scale = weights[:, None]
        right = None if self.right is None else self.right * scale
        return RadialPairs(self.points, self.left * scale, right, self.kernel)

    @property
    def _engine(self) -> Any:
        """Compiled code, or its NumPy twin."""
        return engine()
