"""A test whose p-value is a bound that holds for every distribution and every sample size."""

from dataclasses import dataclass

import numpy as np

from calibrant._border.settings import check_positive
from calibrant._border.types import FloatArray, Progress, Rng
from calibrant._core.laws import SMALLEST_PVALUE
from calibrant.exceptions import InputError
from calibrant.hypotest.calibration_test import CalibrationTest, check_rows
from calibrant.hypotest.events import pair_sums
from calibrant.kernels.algebra import JointKernel
from calibrant.kernels.discrepancy import Data, tune
from calibrant.metrics.skce import SKCE
from calibrant.predictions import effective_rows
from calibrant.results import TestResult


@dataclass(frozen=True)
class DistributionFreeSKCETest(CalibrationTest):
    r"""Test with an upper bound of the p-value of the SKCE: always valid, rarely sharp.

    Parameters
    ----------
    estimator : SKCE, default=SKCE()
        Biased or unbiased, whole or in blocks.
    bound : float, optional
        Upper bound :math:`B` of :math:`|h|`. Default: twice the bound of the kernel, which suits kernels that are never
        negative.

    Notes
    -----
    By Hoeffding's inequality for the unbiased estimate t in blocks of m rows,

    .. math:: p = \exp\Big(-\Big\lfloor \frac nm \Big\rfloor \Big\lfloor \frac m2 \Big\rfloor \frac{t^2}{2 B^2}\Big)
        \text{ if } t > 0, \text{ else } 1;

    by McDiarmid's for the biased one, :math:`p = \exp\big(-\frac12 \max(0, \sqrt{n t / B} - 1)^2\big)`.

    With weights n becomes the effective number of rows, :math:`(\sum w_i)^2 / \sum w_i^2`, which follows from the same
    inequality: row i moves the root of t by at most :math:`2 w_i \sqrt B / \sum w_j`. The unbiased estimate is a mean
    over all ways to pair the rows of a block with each other, in each of which the terms are independent. With the sum
    :math:`S_b` of :math:`w_i w_j` over the pairs of block b, and the largest sum :math:`M_b` of
    :math:`w_i^2 w_j^2` over disjoint pairs, which joins the heaviest rows,
    :math:`\lfloor n/m \rfloor \lfloor m/2 \rfloor` becomes
    :math:`(\sum_b S_b)^2 / \sum_b (m' - 1)^2 M_b`, where :math:`m' = m` if m is even and m + 1 else.

    References
    ----------
    D. Widmann, F. Lindsten, D. Zachariah, "Calibration tests in multi-class classification: a unifying framework",
    NeurIPS 2019.
    """

    label = "Kernel error, bound"
    meaning = "The same as the SKCE."
    caution = "Always valid, but with little power: a large p-value says little."
    estimator: SKCE = SKCE()
    bound: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.estimator, SKCE):
            raise TypeError(f"estimator must be an SKCE, but is {self.estimator!r}.")
        if self.estimator.features is not None or (
            not self.estimator.unbiased and self.estimator.blocksize is not None
        ):
            raise InputError("there is no bound for random features, nor for a biased estimate in blocks.")
        if self.bound is not None:
            check_positive(self.bound, "bound")

    def run(self, data: Data, rng: Rng, progress: Progress | None) -> TestResult:  # noqa: ARG002 (nothing is random)
        """Run the test."""
        check_rows(data, self.estimator.least_rows)
        estimate = self.estimator(data)
        bound = self._bound(data)
        if self.estimator.unbiased:
            pairs = _effective_pairs(data.weights, self.estimator.rows_in_block(data))
            exponent = pairs * max(estimate, 0.0) ** 2 / (2 * bound**2)
            detectable = bound * np.sqrt(-2 * np.log(0.05) / pairs)
        else:
            n = effective_rows(data.weights)
            exponent = 0.5 * max(0.0, np.sqrt(n * estimate / bound) - 1) ** 2
            detectable = bound / n * (1 + np.sqrt(-2 * np.log(0.05))) ** 2
        return TestResult(
            name=repr(self),
            statistic=estimate,
            pvalue=max(float(np.exp(-exponent)), SMALLEST_PVALUE),
            estimate=estimate,
            details={"bound": bound, "detectable": float(detectable)},
        )

    def _bound(self, data: Data) -> float:
        if self.bound is not None:
            return self.bound
        kernel = tune(self.estimator.kernel, data)
        if not isinstance(kernel, JointKernel):
            raise InputError("bound must be given for a kernel that is a function: the largest |h| it can give.")
        return 2 * kernel.bound


def _effective_pairs(weights: FloatArray, size: int) -> float:
    """Return the effective number of independent pairs in blocks of `size` rows; with unit weights, size // 2 each."""
    blocks = np.sort((weights / weights.max())[: len(weights) // size * size].reshape(-1, size), axis=1)[:, ::-1]
    mass = float(pair_sums(blocks).sum())
    even = size + size % 2
    heaviest = float((blocks[:, 0 : size - 1 : 2] ** 2 * blocks[:, 1::2] ** 2).sum())
    return mass**2 / ((even - 1) ** 2 * heaviest)
