"""Limits of the root-mean-square calibration error that hold with and without miscalibration."""

from typing import NamedTuple

import numpy as np

from calibrant._convert import InputError
from calibrant.bootstrap import Bootstrap
from calibrant.intervals.base import Limits, PairLaw
from calibrant.intervals.parts import bins_of, diagonal_sum, parts_of, square_sums
from calibrant.metrics import Metric
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

    of which the first term rules without miscalibration and the second with it. They enter a `PairLaw`, whose limits
    are the squares of those returned. No bin with two rows says nothing: then the limits are 0 and 1.
    """
    if bootstrap.clusters is not None:
        raise InputError("limits of calibration errors are for independent rows: they are not available by cluster.")
    name = f"root-mean-square calibration error over {bins_of(metric)!r}, debiased"
    parts = parts_of(metric, predictions)
    if not any(part.coefficient.any() for part in parts):
        return Limits(0.0, 1.0, name)
    rows = np.sum([part.row_sums() for part in parts], axis=0)
    squares, diagonal = square_sums(parts), diagonal_sum(parts)
    observed = 4 * (float(np.sum((rows - rows.mean()) ** 2)) - squares)
    typical = 4 * squares / diagonal if diagonal > 0 else 0.0
    low, high = PairLaw.of(float(rows.sum()), 2 * squares, observed, typical).limits(level)
    return Limits(float(np.sqrt(np.clip(low, 0.0, 1.0))), float(np.sqrt(np.clip(high, 0.0, 1.0))), name)


class SquaredGapDifference(NamedTuple):
    """How much larger the mean squared gap of one model is, with limits and two-sided p-value."""

    value: float
    limits: Limits
    pvalue: float


def debiased_difference(first: Predictions, second: Predictions, metric: Metric, level: float) -> SquaredGapDifference:
    """Return the mean squared gap of the second model minus that of the first, on the same rows.

    It is the same sum over pairs as for one model, with the parts of the first counted as negative. Its error is taken
    as normal, with the two variances added.
    """
    from scipy.special import ndtr, ndtri

    name = f"difference of mean squared calibration errors over {bins_of(metric)!r}, debiased"
    minus, plus = parts_of(metric, first, -1.0), parts_of(metric, second)
    # Added up in the same order, those of twins cancel exactly.
    rows = np.sum([part.row_sums() for part in plus], axis=0) + np.sum([part.row_sums() for part in minus], axis=0)
    squares = square_sums(minus + plus)
    observed = 4 * (float(np.sum((rows - rows.mean()) ** 2)) - squares)
    value, error = float(rows.sum()), float(np.sqrt(2 * squares + max(observed, 0.0)))
    half = float(ndtri((1 + level) / 2)) * error
    deviation = abs(value) / error if error > 0 else (0.0 if value == 0 else np.inf)
    pvalue = max(float(2 * ndtr(-deviation)), float(np.finfo(float).tiny))
    return SquaredGapDifference(value, Limits(value - half, value + half, name), pvalue)
