"""Test of the block estimator, a mean of independent estimates."""

from dataclasses import dataclass

import numpy as np

from calibrant._border.numerals import as_given, significant
from calibrant._border.settings import check_count, check_level
from calibrant._border.types import FloatArray, Progress, Rng
from calibrant._core.laws import SMALLEST_PVALUE, student_quantile, student_tail
from calibrant._core.threads import in_order
from calibrant.exceptions import InputError
from calibrant.hypotest.calibration_test import CalibrationTest
from calibrant.hypotest.events import CERTAIN, moments, pair_sums, relative_weights
from calibrant.hypotest.skce import weighted_pairs
from calibrant.kernels.algebra import JointKernel
from calibrant.kernels.discrepancy import Data, check_kernel, tune
from calibrant.kernels.general import GeneralKernel
from calibrant.predictions import Predictions
from calibrant.results import TestResult

CELLS_AT_ONCE = 2**17
"""Residuals that a thread has in memory at once."""

LEAST_PAIRS = 5.0
"""With fewer effective pairs of events the level does not hold: chosen by simulation."""


@dataclass(frozen=True)
class BlockSKCETest(CalibrationTest):
    r"""Test with the mean of unbiased estimates over blocks of consecutive rows, in time O(n m).

    Parameters
    ----------
    kernel : tensor product of kernels, or callable, optional
        As for `SKCE`.
    blocksize : int, default=2
        Rows per block. Larger blocks cost more and have more power. Rows should be in random order.
    level : float, default=0.95
        Level of the lower confidence bound in the details.

    Notes
    -----
    With the estimates :math:`\eta_1, \ldots, \eta_B` of the B complete blocks,

    .. math:: t = \frac{\bar\eta}{s / \sqrt B}, \qquad s^2 = \frac1{B-1} \sum_b (\eta_b - \bar\eta)^2,

    is compared with Student's law of B - 1 degrees of freedom, one-sided. The usual normal law is its limit for many
    blocks; with few blocks it takes s as known and rejects too often (for peaked predictions of ten classes in five
    blocks of 20 rows, at a rate of 0.0235 instead of 0.01; Student's law, 0.005). The details hold the one-sided
    confidence bound :math:`\max(0, \bar\eta - t_{B-1}^{-1}(\text{level}) s / \sqrt B)` of the squared kernel
    calibration error, and the smallest estimate that would be significant at 0.05. The estimates of blocks are skewed,
    so the level is approximate, and mostly not reached: see the validity table.

    With weights, whose mean is made 1, :math:`w_i w_j H_{ij}` takes the place of :math:`H_{ij}`. The test refuses data
    with fewer than 5 effective pairs of events, :math:`(\sum a_i a_j)^2 / \sum c_i c_j` over pairs of rows within
    blocks, with :math:`a_i = w_i^2 E|r_i|^2`, :math:`c_i = w_i^4 E|r_i|^4` and residuals r; for rare events of
    probability p this is about :math:`n (m - 1) p^2 / 2`. With fewer it rejects calibrated predictions too often.

    References
    ----------
    D. Widmann, F. Lindsten, D. Zachariah, "Calibration tests in multi-class classification: a unifying framework",
    NeurIPS 2019.
    """

    label = "Kernel error, blocks"
    meaning = "The same as the SKCE, at less cost and with less power."
    caution = "Asymptotic in the number of blocks; rows should be in random order."
    kernel: JointKernel | GeneralKernel | None = None
    blocksize: int = 2
    level: float = 0.95

    def __post_init__(self) -> None:
        check_kernel(self.kernel)
        check_count(self.blocksize, "blocksize")
        if self.blocksize < 2:
            raise InputError("blocksize must be at least 2, but is 1.")
        check_level(self.level)

    def run(self, data: Data, rng: Rng, progress: Progress | None) -> TestResult:  # noqa: ARG002 (nothing is random)
        """Compare the mean over blocks with its standard error."""
        n_blocks = data.n_samples // self.blocksize
        if n_blocks < 2:
            raise InputError(
                f"the test needs at least two complete blocks of {self.blocksize} rows, but there are {data.n_samples} "
                "rows. Use more rows, a smaller blocksize, or OmnibusTest (--test omnibus)."
            )
        pairs = self._check_pairs(data)
        weights = relative_weights(data)
        estimates = self._block_sums(data, weights) / pair_sums(self._blocks(weights)).mean()
        mean, error = float(estimates.mean()), float(estimates.std(ddof=1) / np.sqrt(n_blocks))
        if error <= 1e-12 * abs(mean):  # Equal up to rounding.
            raise InputError("the blocks have no spread, so nothing can be tested: all estimates are equal.")
        return TestResult(
            name=repr(self),
            statistic=mean / error,
            pvalue=max(student_tail(mean / error, n_blocks - 1), SMALLEST_PVALUE),
            estimate=mean,
            details={
                "blocks": n_blocks,
                "standard_error": error,
                "lower_bound": max(0.0, mean - student_quantile(self.level, n_blocks - 1) * error),
                "detectable": student_quantile(0.95, n_blocks - 1) * error,
                "event_pairs": pairs,
            },
        )

    def _block_sums(self, data: Data, weights: FloatArray) -> FloatArray:
        """Return the sum over the pairs of each complete block, a few blocks at a time to save memory."""
        kernel, size = tune(self.kernel, data), self.blocksize
        depth = data.n_classes if isinstance(data, Predictions) else 1
        step = size * max(1, CELLS_AT_ONCE // (size * depth))
        parts = [slice(first, first + step) for first in range(0, len(weights) // size * size, step)]

        def task(rows: slice) -> FloatArray:
            return weighted_pairs(data.take(rows), kernel, weights[rows]).block_sums(size)

        return np.concatenate(list(in_order(task, parts)))

    def _check_pairs(self, data: Data) -> float:
        """Return the effective number of pairs of events, or refuse data with too few."""
        second, fourth = (
            float(pair_sums(self._blocks(values)).sum()) for values in moments(data, relative_weights(data))
        )
        if fourth == 0:
            raise InputError(CERTAIN)
        if second**2 / fourth < LEAST_PAIRS:
            raise InputError(
                f"Student's distribution over blocks needs at least {as_given(LEAST_PAIRS)} effective pairs of events "
                f"within blocks, but {data.n_samples} rows in blocks of {self.blocksize} hold "
                f"{significant(second**2 / fourth)}: it would reject calibrated predictions too often. Pass larger "
                "blocks or more rows, or use an exact test, ConsistencyTest(SKCE()) or OmnibusTest (--test omnibus)."
            )
        return second**2 / fourth

    def _blocks(self, values: FloatArray) -> FloatArray:
        """Return the values of complete blocks of consecutive rows, (n_blocks, m)."""
        return values[: len(values) // self.blocksize * self.blocksize].reshape(-1, self.blocksize)
