"""What every form of the matrix H can do."""

from abc import ABC, abstractmethod

import numpy as np

from calibrant._border.types import FloatArray, IntArray


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
