"""The matrix H of class predictions approximated by random features, in linear time, with a Monte Carlo error."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.exceptions import InputError
from calibrant.kernels.algebra import JointKernel, unscaled
from calibrant.kernels.discrepancy import Data
from calibrant.kernels.distances import Euclidean, TotalVariation
from calibrant.kernels.pairs import PairMatrix
from calibrant.kernels.radial import ExponentialKernel, GaussianKernel, RadialKernel
from calibrant.kernels.targets import gram_of
from calibrant.predictions import Predictions

CELLS = 2_000_000
"""Numbers per chunk of rows, so that memory does not grow with the number of features."""


@dataclass(frozen=True, eq=False)
class FeaturePairs(PairMatrix):
    r"""H approximated by waves: :math:`k_P(p, q) = E \cos(\omega^\top (p - q))` for random frequencies.

    With the factored residuals :math:`l_i`, :math:`l_i^\top l_j = r_i^\top G r_j`, every frequency gives an unbiased
    estimate :math:`|\sum_i l_i e^{\mathrm{i} \omega^\top p_i}|^2` of the sum of H over all pairs; the diagonal is known
    exactly and subtracted.
    """

    points: FloatArray
    residuals: FloatArray
    frequencies: FloatArray

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.points)

    def diagonal(self) -> FloatArray:
        """Return the entries of each row with itself, exactly."""
        return np.einsum("ik,ik->i", self.residuals, self.residuals)

    def estimates(self) -> FloatArray:
        """Return the estimate of the sum over i < j from each frequency."""
        cosines, sines = self._projections()
        return ((cosines**2 + sines**2).sum(axis=0) - self.diagonal().sum()) / 2

    def pair_sum(self) -> float:
        """Return the sum of H_ij over i < j."""
        return float(self.estimates().mean())

    def matmul(self, columns: FloatArray) -> FloatArray:
        """Return H with its diagonal set to 0, times (n, B) columns."""
        return np.column_stack([self._times(column) for column in columns.T])

    def quadratic_forms(self, weights: FloatArray) -> FloatArray:
        """Return the sum of w_i w_j H_ij over i != j for each column of weights (n, B)."""
        return np.array([2 * self.weighted(column).pair_sum() for column in weights.T])

    def block_sums(self, blocksize: int) -> FloatArray:
        """Refuse: random features already take linear time."""
        raise InputError(f"features and blocksize exclude each other, but blocksize is {blocksize}.")

    def weighted(self, weights: FloatArray) -> "FeaturePairs":
        """Return the matrix of w_i w_j H_ij."""
        return FeaturePairs(self.points, self.residuals * weights[:, None], self.frequencies)

    def _waves(self) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        step = max(1, CELLS // self.frequencies.shape[1])
        for start in range(0, self.n, step):
            rows = slice(start, min(start + step, self.n))
            phases = self.points[rows] @ self.frequencies
            yield rows, np.cos(phases), np.sin(phases)

    def _projections(self) -> tuple[FloatArray, FloatArray]:
        shape = (self.residuals.shape[1], self.frequencies.shape[1])
        cosines, sines = np.zeros(shape), np.zeros(shape)
        for rows, cosine, sine in self._waves():
            cosines += self.residuals[rows].T @ cosine
            sines += self.residuals[rows].T @ sine
        return cosines, sines

    def _times(self, column: FloatArray) -> FloatArray:
        cosines, sines = self.weighted(column)._projections()  # noqa: SLF001 (its own class)
        product = np.empty(self.n)
        for rows, cosine, sine in self._waves():
            sums = cosine @ cosines.T + sine @ sines.T
            product[rows] = np.einsum("ik,ik->i", self.residuals[rows], sums) / self.frequencies.shape[1]
        return product - self.diagonal() * column


def feature_pairs(data: Data, kernel: object, n_features: int) -> FeaturePairs:
    """Return the approximate matrix of class predictions under a tuned tensor product of kernels."""
    if not isinstance(data, Predictions) or not isinstance(kernel, JointKernel) or len(kernel.terms) > 1:
        raise InputError("features are for class predictions and one tensor product of kernels. Pass features=None.")
    term = kernel.terms[0]
    scale, radial = unscaled(term.predictions)
    gram = gram_of(term.targets, data.n_classes, scale)
    frequencies = _frequencies(radial, data.n_classes, n_features)
    return FeaturePairs(data.probs, gram.times_factor(data.residuals), frequencies)


def _frequencies(kernel: object, k: int, n_features: int) -> FloatArray:
    """Return random frequencies, (K, D), whose expected cosine is the kernel; the seed is fixed."""
    rng = np.random.default_rng(0)
    if not isinstance(kernel, RadialKernel):
        raise InputError(f"features are for radial kernels, but the kernel is {kernel!r}. Pass features=None.")
    lengthscale = float(kernel.lengthscale)
    if isinstance(kernel, GaussianKernel) and isinstance(kernel.distance, Euclidean):
        return rng.standard_normal((k, n_features)) / lengthscale
    if isinstance(kernel, ExponentialKernel) and isinstance(kernel.distance, TotalVariation):
        # exp(-|x| / (2 l)) in each coordinate is the characteristic function of a Cauchy law of scale 1 / (2 l).
        return rng.standard_cauchy((k, n_features)) / (2 * lengthscale)
    if isinstance(kernel, ExponentialKernel) and isinstance(kernel.distance, Euclidean):
        # The exponential of the Euclidean norm belongs to the multivariate Cauchy law.
        normal = rng.standard_normal((k, n_features))
        return normal / (np.abs(rng.standard_normal(n_features)) * lengthscale)
    raise InputError(
        "features are for GaussianKernel(Euclidean()) and ExponentialKernel of TotalVariation() or Euclidean(), "
        f"but the kernel is {kernel!r}. Pass features=None."
    )
