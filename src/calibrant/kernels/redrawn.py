"""Squared kernel calibration errors for many sets of redrawn labels or targets at once."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant._border.types import Evaluator, FloatArray, IntArray
from calibrant._core.blocks import slices
from calibrant.exceptions import InputError
from calibrant.forecasts import Distribution, Forecasts, Profile
from calibrant.forecasts.convolution import kernel_value
from calibrant.kernels.algebra import JointKernel, Kernel, TensorProduct, unscaled
from calibrant.kernels.discrepancy import prediction_pairs, target_profile
from calibrant.kernels.targets import gram_of
from calibrant.predictions import Predictions
from calibrant.resampling.redraws import in_blocks

CELLS = 4_000_000
"""Largest number of redrawn residuals in memory at a time."""


def relabelled(data: Predictions, kernel: JointKernel, *, unbiased: bool) -> Evaluator:
    """Return the map from labels, (n, B), to B means over pairs of k_P(p_i, p_j) r_i' G r_j with weights w_i w_j."""
    weights = data.weights[:, None] / data.weights.max()
    total, square = float(weights.sum()) ** 2, float((weights**2).sum())
    terms = [(prediction_pairs(data, term.predictions), gram_of(term.targets, data.n_classes)) for term in kernel.terms]

    def evaluate(labels: IntArray) -> FloatArray:
        residuals = np.repeat(-data.probs[:, None, :], labels.shape[1], axis=1)  # (n, B, K)
        rows, redraws = np.ogrid[: labels.shape[0], : labels.shape[1]]
        residuals[rows, redraws, labels] += 1.0
        residuals *= weights[:, :, None]
        sums = np.zeros(labels.shape[1])
        for pairs, gram in terms:  # r G r is the sum of squares of the columns of r F, where G = F F'.
            columns = gram.times_factor(residuals).reshape(len(labels), -1)
            forms = pairs.quadratic_forms(columns)
            if not unbiased:
                forms += pairs.diagonal() @ columns**2
            sums += forms.reshape(len(sums), -1).sum(axis=1)
        return per_pair(sums, np.array(total - square)) if unbiased else sums / total

    return in_blocks(evaluate, max(1, CELLS // (data.n_samples * data.n_classes)))


def retargeted(data: Forecasts, kernel: JointKernel, *, unbiased: bool) -> Evaluator:
    """Return the map from targets, (n, B) or (n, B, d), to B means over pairs of H with weights w_i w_j."""
    weights = data.weights / data.weights.max()
    total, square = float(weights.sum()) ** 2, float((weights**2).sum())
    parts = [RedrawnPairs.of(data, weights, term, diagonal=not unbiased) for term in kernel.terms]

    def evaluate(targets: FloatArray) -> FloatArray:
        sums = np.sum([part.sums(targets) for part in parts], axis=0)
        return per_pair(sums, np.array(total - square)) if unbiased else sums / total

    return evaluate


def per_pair(numerator: FloatArray, pairs: FloatArray) -> FloatArray:
    """Divide sums over pairs of different rows by the weight of these pairs."""
    if not np.all(pairs > 0):
        raise InputError("the unbiased SKCE needs at least two rows of positive weight, but there is one.")
    return numerator / pairs


TILE = 128
"""Rows and columns of a tile of pairs."""

CHUNK_CELLS = 2**16
"""Number of pairs times redraws computed at a time: few enough that their kernel values stay in the cache."""

STORED_ROWS = 2000
"""Up to this many rows the kernel of the predictions is stored (20 MB); above, each block of redraws computes it."""


@dataclass(frozen=True, eq=False)
class RedrawnPairs:
    r"""The sum of w_i w_j H_ij, for a tensor product of kernels, as a function of the targets.

    Of the four parts of H (see `calibrant.kernels.pairs`), the kernel of the predictions and :math:`E k_Y(Z_i, Z_j)` do
    not depend on targets. The two mixed expectations have the same sum, as the kernel is symmetric. So with
    :math:`A_{ij} = w_i w_j k_P(p_i, p_j)` each redraw costs

    .. math:: \sum_{i, j} A_{ij} k_Y(y_i, y_j) - 2 \sum_{i, j} A_{ij} E k_Y(Z_i, y_j)

    and the rest is one number for all redraws.
    """

    law: Distribution
    weights: FloatArray
    predictions: Kernel
    scale: float
    profile: Profile
    lengthscale: float
    diagonal: bool
    """Whether rows are paired with themselves."""

    @classmethod
    def of(cls, data: Forecasts, weights: FloatArray, term: TensorProduct, *, diagonal: bool) -> "RedrawnPairs":
        """Return the sum over the pairs of these forecasts, for a tuned kernel."""
        scale, targets = unscaled(term.targets)
        return cls(data.distribution, weights, term.predictions, scale, *target_profile(targets), diagonal)

    def sums(self, targets: FloatArray) -> FloatArray:
        """Return the sums for targets of shape (n, B) or (n, B, d)."""
        total = np.full(targets.shape[1], self._constant)
        for rows, cols, values in self._tiles():
            width = max(1, CHUNK_CELLS // values.size)
            for start in range(0, targets.shape[1], width):
                chunk = slice(start, start + width)
                total[chunk] += self._tile_sums(rows, cols, values, targets[:, chunk])
        return total

    def _tile_sums(self, rows: slice, cols: slice, values: FloatArray, targets: FloatArray) -> FloatArray:
        """Sum the terms that depend on targets over one tile and, off the diagonal, its mirror image."""
        kernel = kernel_value(self.profile, self.lengthscale, _distances(targets[rows], targets[cols]))
        same, mixed = _weighted_sums(values, kernel), self._mixed_sums(rows, values, targets[cols])
        if rows == cols:
            return same - 2 * mixed
        return 2 * (same - mixed - self._mixed_sums(cols, np.ascontiguousarray(values.T), targets[rows]))

    def _mixed_sums(self, rows: slice, values: FloatArray, targets: FloatArray) -> FloatArray:
        """Sum A_ij E k(Z_i, y_j) over the rows i and all targets, for each redraw."""
        points = targets.swapaxes(0, 1).reshape(-1, *targets.shape[2:])
        expected = self._paired.take(rows).expect(self.profile, self.lengthscale, points)
        return _weighted_sums(values, expected.reshape(len(values), targets.shape[1], -1))

    @cached_property
    def _paired(self) -> Distribution:
        """The laws by which expectations over pairs are computed."""
        return self.law.for_pairs()

    @cached_property
    def _constant(self) -> float:
        total = 0.0
        for rows, cols, values in self._tiles():
            first, second = self._paired.take(rows), self._paired.take(cols)
            expected = first.expect_pair(self.profile, self.lengthscale, second)
            total += (1 if rows == cols else 2) * float(np.vdot(values, expected))
        return total

    def _tiles(self) -> Iterator[tuple[slice, slice, FloatArray]]:
        """Yield the tiles of A on and above the diagonal."""
        return iter(self._stored) if self.law.n <= STORED_ROWS else self._computed()

    @cached_property
    def _stored(self) -> list[tuple[slice, slice, FloatArray]]:
        return list(self._computed())

    def _computed(self) -> Iterator[tuple[slice, slice, FloatArray]]:
        parts = slices(0, self.law.n, TILE)
        for a, rows in enumerate(parts):
            for cols in parts[a:]:
                values = self.scale * self.predictions.matrix(self.law.take(rows), self.law.take(cols))
                values *= self.weights[rows, None] * self.weights[None, cols]
                if rows == cols and not self.diagonal:
                    np.fill_diagonal(values, 0.0)
                yield rows, cols, values


def _distances(y: FloatArray, z: FloatArray) -> FloatArray:
    """Return the distances between all rows of y and of z in each redraw, (n, B, m)."""
    differences = y[:, :, None] - z.swapaxes(0, 1)[None]
    return np.abs(differences) if differences.ndim == 3 else np.linalg.norm(differences, axis=-1)


def _weighted_sums(values: FloatArray, kernel: FloatArray) -> FloatArray:
    """Sum kernel values of shape (n, B, m) with weights (n, m)."""
    return np.einsum("rc,rbc->b", values, kernel)
