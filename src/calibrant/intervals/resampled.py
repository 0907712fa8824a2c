"""Limits from bootstrap samples, for metrics that resampling does not bias."""

from collections.abc import Iterator

import numpy as np

from calibrant._border.types import Evaluator, FloatArray, IntArray
from calibrant.exceptions import InputError
from calibrant.intervals.limits import Limits
from calibrant.intervals.means import tails
from calibrant.kernels.discrepancy import Data
from calibrant.metrics import Metric
from calibrant.resampling.bootstrap import Bootstrap, group_rows
from calibrant.resampling.redraws import BLOCK_CELLS

N_GROUPS = 200
"""With more rows than this, the jackknife leaves out this many groups of rows, one at a time."""


def percentile(data: Data, metric: Metric, level: float, bootstrap: Bootstrap, rng: np.random.Generator) -> Limits:
    """Return quantiles over bootstrap samples."""
    draws = _replicates(metric.prepare(data), data, metric, bootstrap, rng)
    low, high = np.quantile(draws, tails(level), method="inverted_cdf").tolist()
    return Limits(low, high)


def bca(data: Data, metric: Metric, level: float, bootstrap: Bootstrap, rng: np.random.Generator) -> Limits:
    r"""Return bias-corrected and accelerated quantiles over bootstrap samples.

    Instead of the quantile :math:`\alpha` it takes :math:`\Phi(z_0 + (z_0 + z_\alpha) / (1 - a (z_0 + z_\alpha)))`.
    The bias :math:`z_0` is the normal quantile of the share of replicates below the value. The acceleration
    :math:`a = \sum d_g^3 / (6 (\sum d_g^2)^{3/2})` describes how the spread grows with the value, where :math:`d_g` is
    the mean of the values without one group of rows, minus the value without group g.

    References
    ----------
    B. Efron, "Better bootstrap confidence intervals", Journal of the American Statistical Association 82 (1987).
    """
    from scipy.special import ndtr, ndtri

    evaluate = metric.prepare(data)
    draws = _replicates(evaluate, data, metric, bootstrap, rng)
    value = float(evaluate(data.weights[:, None])[0])
    below = float(np.sum(draws < value) + np.sum(draws == value) / 2)
    bias = ndtri((below + 0.5) / (len(draws) + 1))
    shifted = bias + ndtri(np.array(tails(level)))
    others = [evaluate(block) for block in _without_groups(data, bootstrap.clusters)]
    acceleration = _acceleration(np.concatenate(others))
    levels = ndtr(bias + shifted / np.maximum(1 - acceleration * shifted, 1e-9))
    low, high = np.quantile(draws, levels, method="inverted_cdf").tolist()
    return Limits(low, high)


def _replicates(
    evaluate: Evaluator, data: Data, metric: Metric, bootstrap: Bootstrap, rng: np.random.Generator
) -> FloatArray:
    if metric.measures == "calibration" and metric.better != "none":
        raise InputError(
            f"bootstrap intervals of {metric!r} miss the true value: chance makes the metric positive, and resampling "
            'adds as much again. Pass method="auto".'
        )
    weights = data.weights[:, None]
    return np.concatenate([evaluate(counts * weights) for counts in bootstrap.counts(data.n_samples, rng)])


def _without_groups(data: Data, clusters: object) -> Iterator[FloatArray]:
    """Yield blocks of weights, (n, block), in which each column leaves out one group of whole clusters."""
    groups = _clusters(data.n_samples, clusters) % N_GROUPS
    names, width = np.unique(groups), max(1, BLOCK_CELLS // data.n_samples)
    for start in range(0, len(names), width):
        weights = data.weights[:, None] * (groups[:, None] != names[start : start + width])
        yield weights[:, weights.any(axis=0)]


def _clusters(n: int, clusters: object) -> IntArray:
    """Return the number of the cluster of each row; without clusters, every row is a cluster."""
    numbers = np.arange(n)
    if clusters is not None:
        for number, rows in enumerate(group_rows(clusters, n).values()):
            numbers[rows] = number
    return numbers


def _acceleration(values: FloatArray) -> float:
    """Return a, from the values without each group; 0 if they are all equal or not all finite."""
    if not len(values) or not np.isfinite(values).all():
        return 0.0
    below = values.mean() - values
    scale = float(np.abs(below).max())
    if scale == 0:
        return 0.0
    below = below / scale
    return float(np.sum(below**3) / (6 * np.sum(below**2) ** 1.5))
