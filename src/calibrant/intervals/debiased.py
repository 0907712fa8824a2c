"""Limits of the root-mean-square calibration error that hold with and without miscalibration."""

from typing import NamedTuple

import numpy as np

from calibrant._convert import InputError
from calibrant._typing import FloatArray
from calibrant.bootstrap import Bootstrap
from calibrant.intervals.base import Limits, PairLaw
from calibrant.intervals.parts import bins_of, diagonal_sum, parts_of, square_sums
from calibrant.metrics import Metric, Root
from calibrant.predictions import Predictions


def debiased(
    predictions: Predictions,
    metric: Metric,
    level: float,
    bootstrap: Bootstrap,
    rng: np.random.Generator,  # noqa: ARG001 (nothing is random)
) -> Limits:
    r"""Return the limits of the root-mean-square gap between prediction and frequency over the bins of the metric.

    The unbiased estimate T of the mean squared gap :math:`\theta^2` is a sum of :math:`h_{ij}` over pairs of different
    rows (`calibrant.intervals.parts`), with row sums :math:`h_i`. Its variance is

    .. math:: 2 \sum_{i \ne j} h_{ij}^2 + 4 \Big(\sum_i (h_i - T / n)^2 - \sum_{i \ne j} h_{ij}^2\Big),

    of which the first term rules without miscalibration and the second with it. How large the first is can be seen, and
    without miscalibration the predictions say it. All that enters a `PairLaw`, whose limits are the squares of those
    returned. No bin with two rows says nothing: then the limits are 0 and 1.
    """
    if bootstrap.clusters is not None:
        raise InputError("limits of calibration errors are for independent rows: they are not available by cluster.")
    own = isinstance(metric, Root)
    name = repr(metric) if own else f"root-mean-square calibration error over {bins_of(metric)!r}, debiased"
    parts = parts_of(metric, predictions)
    if not any(part.coefficient.any() for part in parts):
        return Limits(0.0, 1.0, name)
    rows = np.sum([part.row_sums() for part in parts], axis=0)
    squares, diagonal = square_sums(parts), diagonal_sum(parts)
    calm = squares.expected or squares.observed  # Predictions of 0 and 1 expect no scatter.
    typical = 4 * calm / diagonal if diagonal > 0 else 0.0
    observed = _variance(rows, squares.observed)
    law = PairLaw(float(rows.sum()), 2 * calm, 2 * squares.observed, observed, typical)
    low, high = (float(np.sqrt(np.clip(limit, 0.0, 1.0))) for limit in law.limits(level))
    return Limits(low, high, name)


def _variance(rows: FloatArray, squares: float) -> float:
    """Return the variance of a sum over pairs, given its row sums and the sum of the squares without any error."""
    return 2 * squares + 4 * (float(np.sum((rows - rows.mean()) ** 2)) - squares)


class SquaredGapDifference(NamedTuple):
    """How much larger the mean squared gap of one model is, with limits and two-sided p-value."""

    value: float
    limits: Limits
    pvalue: float


def debiased_difference(first: Predictions, second: Predictions, metric: Metric, level: float) -> SquaredGapDifference:
    """Return the mean squared gap of the second model minus that of the first, on the same rows.

    It is the same sum over pairs as for one model, with the parts of the first counted as negative. Its error is taken
    as normal, with the observed variance, or the one expected without any miscalibration if that is larger.
    """
    from scipy.special import ndtr, ndtri

    name = f"difference of mean squared calibration errors over {bins_of(metric)!r}, debiased"
    minus, plus = parts_of(metric, first, -1.0), parts_of(metric, second)
    # Added up in the same order, those of twins cancel exactly.
    rows = np.sum([part.row_sums() for part in plus], axis=0) + np.sum([part.row_sums() for part in minus], axis=0)
    squares = square_sums(minus + plus)
    variance = max(_variance(rows, squares.observed), 2 * (squares.expected or squares.observed))
    value, error = float(rows.sum()), float(np.sqrt(variance))
    half = float(ndtri((1 + level) / 2)) * error
    deviation = abs(value) / error if error > 0 else (0.0 if value == 0 else np.inf)
    pvalue = max(float(2 * ndtr(-deviation)), float(np.finfo(float).tiny))
    return SquaredGapDifference(value, Limits(value - half, value + half, name), pvalue)
