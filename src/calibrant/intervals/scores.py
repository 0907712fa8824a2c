"""Limits of means over rows, of shares, and of numbers that resampling does not bias."""

from typing import Any, NamedTuple

import numpy as np

from calibrant._convert import InputError
from calibrant._typing import FloatArray
from calibrant.bootstrap import Bootstrap
from calibrant.curves import bands
from calibrant.intervals.base import Limits
from calibrant.metrics import Metric, Score


class Mean(NamedTuple):
    """A mean with its limits, and the two-sided p-value of the hypothesis that it is 0."""

    value: float
    low: float
    high: float
    pvalue: float


def bootstrap_t(data: Any, metric: Score, level: float, bootstrap: Bootstrap, rng: np.random.Generator) -> Limits:
    """Return the limits of a mean by the studentised bootstrap, see `studentised_means`; infinite if a row is."""
    rows = metric.per_row(data)
    if np.isinf(rows[data.weights > 0]).any():
        return Limits(np.inf, np.inf, repr(metric))
    (mean,) = studentised_means(rows[:, None], data.weights, level, bootstrap, rng)
    return Limits(mean.low, mean.high, repr(metric))


def studentised_means(
    rows: FloatArray, weights: FloatArray, level: float, bootstrap: Bootstrap, rng: np.random.Generator
) -> list[Mean]:
    r"""Return the weighted mean of each column of finite numbers (n, m), with limits by the studentised bootstrap.

    With the sums :math:`A_g = \sum_{i \in g} w_i l_i` and :math:`B_g = \sum_{i \in g} w_i` of each cluster (each row,
    unless rows come in clusters), the mean is :math:`m = \sum A_g / \sum B_g` and its squared standard error
    :math:`s^2 = \sum_g (A_g - m B_g)^2 / (\sum_g B_g)^2`. The quantiles of :math:`t^* = (m^* - m) / s^*` over bootstrap
    samples take the place of those of Student's law; the p-value is that of :math:`m / s` among the :math:`t^*`.
    """
    n, m = rows.shape
    mass = weights / weights.max()  # So that squares of huge weights do not overflow.
    values = np.where(mass[:, None] > 0, rows, 0.0)
    sums = bootstrap.cluster_sums(np.column_stack([values * mass[:, None], mass]))
    upper, lower = sums[:, :m], sums[:, m:]
    columns = np.hstack([upper, upper**2, upper * lower, lower, lower**2])
    means, errors = _moments(columns.sum(axis=0, keepdims=True), m)
    draws = [_moments(counts.T @ columns, m) for counts in bootstrap.cluster_counts(n, rng)]
    drawn_means, drawn_errors = (np.concatenate(parts) for parts in zip(*draws, strict=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        studentised = np.where(drawn_means == means, 0.0, (drawn_means - means) / drawn_errors)
    return [_mean(float(means[0, c]), float(errors[0, c]), studentised[:, c], level) for c in range(m)]


def _mean(mean: float, error: float, studentised: FloatArray, level: float) -> Mean:
    if error == 0:
        return Mean(mean, mean, mean, 1.0 if mean == 0 else 2 / (1 + len(studentised)))
    low, high = np.quantile(studentised, tails(level), method="inverted_cdf").tolist()
    return Mean(mean, mean - high * error, mean - low * error, tail_pvalue(studentised, mean / error))


def tail_pvalue(draws: FloatArray, value: float) -> float:
    """Return the two-sided p-value of a value among draws, never 0."""
    beyond = min(int((draws >= value).sum()), int((draws <= value).sum()))
    return min(1.0, 2 * (1 + beyond) / (1 + len(draws)))


def wilson(data: Any, metric: Score, level: float, bootstrap: Bootstrap, rng: np.random.Generator) -> Limits:
    """Return Wilson's limits of a share, with Kish's effective number of rows; clusters need the bootstrap."""
    if bootstrap.clusters is not None:
        return bootstrap_t(data, metric, level, bootstrap, rng)
    weights = data.weights / data.weights.max()
    trials = weights.sum() ** 2 / np.sum(weights**2)
    low, high = bands.wilson(np.array([metric(data)]), np.array([trials]), level)
    return Limits(float(low[0]), float(high[0]), repr(metric))


def percentile(data: Any, metric: Metric, level: float, bootstrap: Bootstrap, rng: np.random.Generator) -> Limits:
    """Return quantiles over bootstrap samples, for numbers that can be too large as well as too small."""
    if metric.measures == "calibration" and metric.better != "none":
        raise InputError(
            f"percentile intervals of {metric!r} do not cover: chance makes it positive, and resampling adds the same "
            'once more. Pass method="auto".'
        )
    evaluate = metric.prepare(data)
    weights = data.weights[:, None]
    draws = np.concatenate([evaluate(counts * weights) for counts in bootstrap.counts(data.n_samples, rng)])
    low, high = np.quantile(draws, tails(level), method="inverted_cdf").tolist()
    return Limits(low, high, repr(metric))


def tails(level: float) -> list[float]:
    """Return the shares below the lower and below the upper limit."""
    return [(1 - level) / 2, (1 + level) / 2]


def _moments(sums: FloatArray, m: int) -> tuple[FloatArray, FloatArray]:
    """Return means and standard errors (B, m) from sums of A, A^2, A B, then of B and B^2."""
    upper, squares, products = sums[:, :m], sums[:, m : 2 * m], sums[:, 2 * m : 3 * m]
    lower, lower_squares = sums[:, 3 * m : 3 * m + 1], sums[:, 3 * m + 1 :]
    mean = upper / lower
    spread = squares - 2 * mean * products + mean**2 * lower_squares
    return mean, np.sqrt(np.maximum(spread, 0.0)) / lower
