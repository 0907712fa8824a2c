"""Test of the block estimator, a mean of independent estimates."""

from dataclasses import dataclass

import numpy as np

from calibrant._checks import check_count
from calibrant._convert import InputError
from calibrant._typing import Progress, Rng
from calibrant.discrepancy import Data, check_kernel, pair_matrix, tune
from calibrant.hypotest.base import CalibrationTest
from calibrant.kernels.general import GeneralKernel
from calibrant.kernels.joint import JointKernel
from calibrant.results import TestResult


@dataclass(frozen=True)
class BlockSKCETest(CalibrationTest):
    r"""Test with the mean of unbiased estimates over blocks of consecutive rows, in time O(n m).

    Parameters
    ----------
    kernel : tensor product of kernels, or callable, optional
        As for `SKCE`.
    blocksize : int, default=2
        Rows of a block. Larger blocks cost more and see more. Rows should be in random order.
    level : float, default=0.95
        Of the lower confidence bound in the details.

    Notes
    -----
    With the estimates :math:`\eta_1, \ldots, \eta_B` of the B complete blocks,

    .. math:: t = \frac{\bar\eta}{s / \sqrt B}, \qquad s^2 = \frac1{B-1} \sum_b (\eta_b - \bar\eta)^2,

    is compared with Student's law of B - 1 degrees of freedom, one-sided. The usual normal law is its limit for many
    blocks; with few blocks it takes s as known and rejects too often (of peaked predictions of ten classes in five
    blocks of 20 rows, 0.0235 instead of 0.01, where Student's law rejects 0.005). The details hold the one-sided
    confidence bound :math:`\max(0, \bar\eta - t_{B-1}^{-1}(\text{level}) s / \sqrt B)` of the squared kernel
    calibration error, and the smallest estimate that would be significant at 0.05. The estimates of blocks are skewed,
    so the level is approximate, and mostly not reached: see the validity table.

    References
    ----------
    D. Widmann, F. Lindsten, D. Zachariah, "Calibration tests in multi-class classification: a unifying framework",
    NeurIPS 2019.
    """

    kernel: JointKernel | GeneralKernel | None = None
    blocksize: int = 2
    level: float = 0.95

    def __post_init__(self) -> None:
        check_kernel(self.kernel)
        check_count(self.blocksize, "blocksize")
        if self.blocksize < 2:
            raise InputError("blocksize must be at least 2, but is 1.")
        if not 0 < self.level < 1:
            raise InputError(f"level must be a number between 0 and 1, but is {self.level!r}.")

    def __call__(self, data: Data, rng: Rng = None, *, progress: Progress | None = None) -> TestResult:  # noqa: ARG002 (nothing is random)
        """Run the test."""
        from scipy.special import stdtr, stdtrit

        n_blocks = data.n_samples // self.blocksize
        if n_blocks < 2:
            raise InputError(
                f"the test needs at least two complete blocks of {self.blocksize} rows, but there are {data.n_samples} "
                "rows. Pass a smaller blocksize."
            )
        sums = pair_matrix(data, tune(self.kernel, data)).block_sums(self.blocksize)
        estimates = sums / (self.blocksize * (self.blocksize - 1) / 2)
        mean, error = float(estimates.mean()), float(estimates.std(ddof=1) / np.sqrt(n_blocks))
        if error == 0:
            raise InputError("the blocks have no spread, so nothing can be tested: all estimates are equal.")
        return TestResult(
            name=repr(self),
            statistic=mean / error,
            pvalue=max(float(stdtr(n_blocks - 1, -mean / error)), np.finfo(float).tiny),
            estimate=mean,
            details={
                "blocks": n_blocks,
                "standard_error": error,
                "lower_bound": max(0.0, mean - float(stdtrit(n_blocks - 1, self.level)) * error),
                "detectable": float(stdtrit(n_blocks - 1, 0.95)) * error,
            },
        )
