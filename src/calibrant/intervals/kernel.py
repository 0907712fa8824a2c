"""Limits of the unbiased squared kernel calibration error."""

from typing import TYPE_CHECKING

import numpy as np

from calibrant._border.types import FloatArray
from calibrant._core.threads import in_order
from calibrant.exceptions import InputError
from calibrant.intervals.limits import Limits, PairLaw
from calibrant.kernels.algebra import JointKernel, Kernel, TensorProduct
from calibrant.kernels.discrepancy import Data, pair_matrix, prediction_pairs, row_sums, tune
from calibrant.kernels.general import GeneralKernel
from calibrant.kernels.pairs import PairMatrix
from calibrant.kernels.radial import RadialKernel
from calibrant.kernels.targets import WhiteKernel
from calibrant.metrics import KCE, SKCE
from calibrant.predictions import Predictions
from calibrant.resampling.bootstrap import Bootstrap

if TYPE_CHECKING:
    from collections.abc import Callable

SHORTEST = 1 / 3
"""With a lengthscale below this share of the median distance, few rows are close to each other."""

LEAST_SCATTER = 0.85
"""If the squares of pairs are below this share of the expected ones, limits are too wide."""

N_COMPARED = 256
"""Approximate number of predictions from which their median distance is estimated."""

N_ROWS = 1024
"""Number of rows, chosen at random, that represent all in a mean over pairs, so that H is never stored."""


def is_known(metric: "SKCE | KCE", data: Data) -> bool:
    """Return whether the law applies: for the unbiased estimate, rows of equal weight in one block, an exact kernel."""
    if getattr(data, "copies", None) is not None:
        return False
    whole = metric.unbiased and metric.rows_in_block(data) == data.n_samples
    return whole and metric.features is None and np.ptp(data.weights) == 0 and data.n_samples > 2


def has_short_lengthscale(metric: "SKCE | KCE", data: Predictions) -> bool:
    """Return whether the lengthscale is a number far below the median distance of the predictions."""
    kernel = getattr(metric.kernel, "predictions", None)
    if not isinstance(kernel, RadialKernel) or kernel.lengthscale == "median":
        return False
    some = data.probs[:: max(1, data.n_samples // N_COMPARED)]
    return bool(kernel.lengthscale < SHORTEST * np.median(kernel.distance.pairwise(some, some)))


def has_little_scatter(metric: "SKCE | KCE", data: Predictions) -> bool:
    """Return whether the labels scatter much less than predicted, as they do if predictions are under-confident."""
    seen, expected = _squares(data, metric)
    return seen < LEAST_SCATTER * expected


def law(
    data: Data,
    metric: SKCE | KCE,
    level: float,
    bootstrap: Bootstrap,
    rng: np.random.Generator,  # noqa: ARG001 (the rows chosen at random are always the same)
) -> Limits:
    r"""Return the limits of the (squared) kernel calibration error by the law of its unbiased estimate U.

    As a U-statistic, U has the variance :math:`\frac2{n(n-1)} \zeta_2 + \frac4n \zeta_1`, where :math:`\zeta_2` is the
    mean of :math:`H_{ij}^2` and :math:`\zeta_1` the variance of the expected pair value of a row. The first term
    dominates without miscalibration, where :math:`\zeta_1 = 0`, and the second with it, as in a `PairLaw`. Above 1024
    rows, :math:`\zeta_2` is that of 1024 rows chosen at random, so that H is never stored. For classes and the white
    kernel on labels, its value without miscalibration follows from the predictions.

    A third term matters if few rows are wrong, and few of those are close to each other. An error :math:`\theta` may
    then consist of few pairs, with values up to the largest possible one :math:`h`, and their number varies like that
    of any rare events. With values of :math:`h / 2` this adds :math:`\frac{h}{n (n - 1)} \theta` to the variance for
    the upper limit, even if no such pair was seen.
    """
    if not is_known(metric, data) or bootstrap.clusters is not None:
        raise InputError(
            "the distribution of the kernel calibration error is known only for the unbiased estimate from independent "
            "rows of equal weight, in one block and without random features."
        )
    n, kernel = data.n_samples, tune(metric.kernel, data)
    pairs = pair_matrix(data, kernel)
    row_means = row_sums(data, kernel) / (n - 1)
    seen, expected = _squares(data, metric)
    without_error = expected or seen  # Predictions of 0 and 1 expect no scatter.
    n_pairs, diagonal = n * (n - 1), float(pairs.diagonal().mean())
    known = PairLaw(
        estimate=float(row_means.mean()),
        expected=2 * without_error / n_pairs,
        seen=2 * seen / n_pairs,
        # The variance of the row means includes that of the pairs, zeta_2 / (n - 1).
        observed=2 * seen / n_pairs + 4 / n * (float(row_means.var(ddof=1)) - seen / (n - 1)),
        typical=4 / n * without_error / diagonal if diagonal > 0 else 0.0,
        rare=_largest(pairs, data, kernel) / n_pairs,
    )
    low, high = known.limits(level)
    if isinstance(metric, KCE):
        root_low, root_high = (float(np.sign(limit) * np.sqrt(abs(limit))) for limit in (low, high))
        return Limits(root_low, root_high)
    return Limits(low, high)


def _squares(data: Data, metric: SKCE | KCE) -> tuple[float, float]:
    """Return `_mean_squares` of a fixed choice of rows, kept with the predictions."""

    def compute() -> tuple[float, float]:
        n, kernel = data.n_samples, tune(metric.kernel, data)
        if n <= N_ROWS:
            return _mean_squares(data, kernel)
        return _mean_squares(data.take(np.sort(np.random.default_rng(0).choice(n, N_ROWS, replace=False))), kernel)

    return data.once(("squared pairs", metric.kernel), compute) if isinstance(data, Predictions) else compute()


def _mean_squares(data: Data, kernel: JointKernel | GeneralKernel) -> tuple[float, float]:
    """Return the mean of H_ij^2 over pairs of different rows, observed and expected under calibration."""
    n = data.n_samples
    rows, count = np.arange(n), n * (n - 1)
    between = _between_predictions(data, kernel)
    if between is None:
        seen = float(np.sum(pair_matrix(data, kernel).take(rows) ** 2)) / count
        return seen, seen
    predictions, own = between
    probs, residuals = predictions.probs, predictions.residuals
    jobs: tuple[Callable[[], FloatArray], ...] = (
        lambda: prediction_pairs(predictions, own).take(rows),
        lambda: residuals @ residuals.T,
        lambda: _expected_squares(probs, probs),
    )
    kernels, products, squares = in_order(lambda job: job(), jobs)
    # In place, here and below: fresh memory for such matrices costs more time than the arithmetic.
    np.square(kernels, out=kernels)
    np.square(products, out=products)
    seen, expected = (float(np.sum(np.multiply(each, kernels, out=each))) / count for each in (products, squares))
    return seen, expected


def _between_predictions(data: Data, kernel: JointKernel | GeneralKernel) -> tuple[Predictions, Kernel] | None:
    """Return predictions and their kernel if H_ij is that kernel times the product of residuals, else None."""
    if isinstance(data, Predictions) and isinstance(kernel, TensorProduct) and kernel.targets == WhiteKernel():
        return data, kernel.predictions
    return None


def _largest(pairs: PairMatrix, data: Data, kernel: JointKernel | GeneralKernel) -> float:
    """Return the largest possible value of a pair: that of a row with itself if its label is the least probable one."""
    between = _between_predictions(data, kernel)
    if between is None:
        return float(pairs.diagonal().max())
    predictions, own = between
    squares = 1 + np.sum(predictions.probs**2, axis=1) - 2 * predictions.probs.min(axis=1)
    return float(np.max(squares * prediction_pairs(predictions, own).diagonal()))


def _expected_squares(probs: FloatArray, others: FloatArray) -> FloatArray:
    """Return the mean squared product of the residuals of two rows whose labels follow the predictions.

    It is the trace of the product of their covariance matrices diag(p) - p p'.
    """
    overlap = probs @ others.T
    squares = probs**2 @ others.T
    np.subtract(overlap, squares, out=squares)
    squares -= probs @ others.T**2
    squares += np.square(overlap, out=overlap)
    return squares
