"""H of numbers on a line, by sorting."""

from dataclasses import dataclass
from functools import cached_property

from calibrant._border.types import FloatArray, IntArray
from calibrant._core.kernel import Kernel as CompiledKernel
from calibrant._core.sorted1d import SortedLine
from calibrant.kernels.pairs.base import PairMatrix
from calibrant.kernels.pairs.radial import RadialPairs


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
        return _on_a_line(self.positions, self.residuals, self.lengthscale, self.scale).block_sums(blocksize)

    def matmul(self, columns: FloatArray) -> FloatArray:
        """Return H with its diagonal set to 0, times (n, B) columns."""
        return self.scale * self._line.matmul(self.residuals, columns)[0]

    def take(self, columns: IntArray) -> FloatArray:
        """Return these columns of H, (n, m), with its diagonal set to 0."""
        return _on_a_line(self.positions, self.residuals, self.lengthscale, self.scale).take(columns)

    def weighted(self, weights: FloatArray) -> PairMatrix:
        """Return the matrix of w_i w_j H_ij."""
        weighted = SortedPairs(self.positions, self.residuals * weights, self.lengthscale, self.scale)
        weighted.__dict__["_line"] = self._line  # The rows are sorted once.
        return weighted

    @cached_property
    def _line(self) -> SortedLine:
        return SortedLine.of(self.positions, self.lengthscale)


def line_pairs(positions: FloatArray, residuals: FloatArray, lengthscale: float, scale: float) -> PairMatrix:
    """Return the matrix of scale * r_i r_j exp(-|p_i - p_j| / l) for numbers p."""
    return SortedPairs(positions, residuals, lengthscale, scale)


def _on_a_line(positions: FloatArray, residuals: FloatArray, lengthscale: float, scale: float) -> PairMatrix:
    kernel = CompiledKernel("exponential", "euclidean", lengthscale)
    return RadialPairs(positions[:, None], scale * residuals[:, None], residuals[:, None], kernel)
