"""Test of the unbiased squared kernel calibration error, whose null law is a sum of centred chi-squares."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from calibrant._border.settings import check_count, check_option
from calibrant._border.types import FloatArray, Progress, Rng
from calibrant.hypotest.calibration_test import CalibrationTest, check_rows, monte_carlo_pvalue
from calibrant.hypotest.events import check_events, relative_weights
from calibrant.kernels.algebra import JointKernel
from calibrant.kernels.discrepancy import Data, check_kernel, pair_matrix, tune
from calibrant.kernels.general import GeneralKernel
from calibrant.kernels.pairs import PairMatrix
from calibrant.resampling.redraws import draw_counts
from calibrant.results import TestResult

BLOCK_CELLS, BLOCK_COLUMNS = 4_000_000, 500
"""Replicates are multiplied in blocks of at most this many counts and columns, which limits memory."""

N_SPECTRAL_ROWS = 1500
"""The spectrum is computed from at most this many rows; if there are more, they are drawn without replacement."""

N_EIGENVALUES = 300
"""Leading eigenvalues that enter the null law one by one; the rest enters as a normal remainder."""

LEAST_EVENTS = 50.0
"""With fewer effective events the level does not hold: for equal predictions of rare events the replicates vary less if
fewer events are observed, which makes too few events look significant (with 20 expected, 0.022 instead of 0.01)."""


@dataclass(frozen=True)
class AsymptoticSKCETest(CalibrationTest):
    r"""Test with the unbiased estimate U of the squared kernel calibration error.

    Parameters
    ----------
    kernel : tensor product of kernels, or callable, optional
        As for `SKCE`; "median" lengthscales see the predictions only.
    n_resamples : int, default=999
        Bootstrap replicates, or draws from the spectral null law.
    method : {"bootstrap", "spectral"}, default="bootstrap"
        How the null law is approximated.

    Notes
    -----
    Bootstrap: with the biased estimate V, multinomial counts c of n rows and the matrix H of `calibrant.kernels.pairs`,
    the statistic is :math:`\frac{n}{n-1} U - V` and its replicates are

    .. math:: T' = \frac1{n^2} \Big[\frac{n}{n-1} \big(c^\top H c - c^\top \mathrm{diag} H\big) - 2 c^\top H 1\Big].

    Spectral: n U has the limit law :math:`\sum_l \lambda_l (\chi^2_{1,l} - 1)`, with the eigenvalues :math:`\lambda` of
    the doubly centred matrix :math:`H / n`, estimated on at most 1500 rows; the 300 leading ones are drawn one by one,
    the rest as a normal variable of the same variance. It costs one pass over the pairs, for large n.

    With weights, whose mean is made 1, :math:`w_i w_j H_{ij}` takes the place of :math:`H_{ij}`; the estimate is that
    of `SKCE`.

    Both are asymptotic. With fewer than 50 effective events (see `calibrant.hypotest.events`: about the expected number
    of rows whose label is not the likely one, and fewer if the weights differ much) calibrated predictions would be
    rejected too often, and the test refuses; `ConsistencyTest(SKCE())` is exact. It takes time O(n^2) per block of
    replicates, and memory O(n) per replicate of a block.

    References
    ----------
    D. Widmann, F. Lindsten, D. Zachariah, "Calibration tests in multi-class classification: a unifying framework",
    NeurIPS 2019; A. Gretton et al., "A fast, consistent kernel two-sample test", NIPS 2009.

    Examples
    --------
    >>> from calibrant.predictions import Predictions
    >>> p = Predictions([0.8] * 100 + [0.6] * 100, labels=[0, 1] * 100)
    >>> AsymptoticSKCETest(n_resamples=199)(p, rng=0).pvalue
    0.005
    """

    label = "Kernel error (SKCE)"
    meaning = "Miscalibration of whole probability vectors, of any form."
    caution = "Asymptotic: refused if too few events contribute or weights differ too much."
    kernel: JointKernel | GeneralKernel | None = None
    n_resamples: int = 999
    method: Literal["bootstrap", "spectral"] = "bootstrap"

    def __post_init__(self) -> None:
        check_kernel(self.kernel)
        check_count(self.n_resamples, "n_resamples")
        check_option(self.method, "method", "bootstrap", "spectral")

    def run(self, data: Data, rng: Rng, progress: Progress | None) -> TestResult:
        """Compare the estimate with its replicates."""
        check_rows(data, 2)
        events = check_events(data, LEAST_EVENTS, "the large-sample distribution of the SKCE")
        generator = np.random.default_rng(rng)
        kernel = tune(self.kernel, data)
        weights = relative_weights(data)
        pairs = weighted_pairs(data, kernel, weights)
        n = data.n_samples
        row_sums, diagonal = pairs.matmul(np.ones((n, 1)))[:, 0], pairs.diagonal()
        unbiased = float(row_sums.sum() / (n * (n - 1)))
        # Both statistics are slope * U - offset; the offset V belongs to the data, as the replicates' own -V does.
        if self.method == "bootstrap":
            slope, offset = n / (n - 1), float((row_sums.sum() + diagonal.sum()) / n**2)
            null = _bootstrap(pairs, row_sums, self.n_resamples, generator, progress)
        else:
            slope, offset = float(n), 0.0
            null = _spectral(data, kernel, self.n_resamples, generator)
        statistic = slope * unbiased - offset
        scale = n * (n - 1) / float(weights.sum() ** 2 - weights @ weights)  # From n (n - 1) pairs to their weight.
        return TestResult(
            name=repr(self),
            statistic=statistic,
            pvalue=monte_carlo_pvalue(statistic, null),
            estimate=scale * unbiased,
            null=null,
            details={
                "smallest_pvalue": 1 / (1 + self.n_resamples),
                "detectable": scale * (float(np.quantile(null, 0.95)) + offset) / slope,
                "events": events,
            },
        )


def weighted_pairs(data: Data, kernel: JointKernel | GeneralKernel, weights: FloatArray) -> PairMatrix:
    """Return the matrix of w_i w_j H_ij."""
    pairs = pair_matrix(data, kernel)
    return pairs if np.all(weights == 1) else pairs.weighted(weights)


def _bootstrap(
    pairs: PairMatrix, row_sums: FloatArray, n_resamples: int, rng: np.random.Generator, progress: Progress | None
) -> FloatArray:
    n, diagonal = pairs.n, pairs.diagonal()
    slope, full_row_sums = pairs.n / (pairs.n - 1), row_sums + diagonal
    block = max(1, min(n_resamples, BLOCK_COLUMNS, BLOCK_CELLS // n))
    null = np.empty(n_resamples)
    for start in range(0, n_resamples, block):
        stop = min(start + block, n_resamples)
        counts = draw_counts(n, stop - start, rng)
        # By einsum, not @: after a product the threads of BLAS keep spinning on the cores that our threads need.
        squares = np.einsum("i,ib,ib->b", diagonal, counts, counts)
        linear = np.einsum("i,ib->b", slope * diagonal + 2 * full_row_sums, counts)
        null[start:stop] = (slope * (pairs.quadratic_forms(counts) + squares) - linear) / n**2
        if progress is not None:
            progress(stop, n_resamples)
    return null


def _spectral(data: Data, kernel: JointKernel | GeneralKernel, n_draws: int, rng: np.random.Generator) -> FloatArray:
    n = data.n_samples
    rows = np.arange(n) if n <= N_SPECTRAL_ROWS else np.sort(rng.choice(n, N_SPECTRAL_ROWS, replace=False))
    pairs = weighted_pairs(data.take(rows), kernel, relative_weights(data)[rows])
    matrix = pairs.take(np.arange(len(rows)))
    matrix[np.diag_indices_from(matrix)] = pairs.diagonal()
    matrix -= matrix.mean(axis=0)
    matrix -= matrix.mean(axis=1, keepdims=True)
    eigenvalues = np.linalg.eigvalsh(matrix)[::-1] / len(rows)
    leading, rest = eigenvalues[:N_EIGENVALUES], eigenvalues[N_EIGENVALUES:]
    null = rng.normal(scale=np.sqrt(2 * np.sum(rest**2)), size=n_draws)
    for eigenvalue in leading:
        null += eigenvalue * (rng.standard_normal(n_draws) ** 2 - 1)
    return null
