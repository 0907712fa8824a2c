"""Limits of means over rows, and of shares."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.curves import bands
from calibrant.intervals.limits import Limits
from calibrant.intervals.student import StudentLaw, law_of_sum
from calibrant.kernels.discrepancy import Data
from calibrant.metrics import Score
from calibrant.predictions import Predictions, effective_rows
from calibrant.resampling.bootstrap import Bootstrap
from calibrant.resampling.redraws import redraw_labels

if TYPE_CHECKING:
    from calibrant.metrics.forecasts.metric import ForecastScore

N_REDRAWS = 20
"""Largest number of redraws of the labels, from which the expected variance of a mean is estimated."""

MOST_REDRAWN = 2 * 10**5
"""Largest number of labels redrawn for that: with more rows there are fewer redraws."""

MANY_EFFECTIVE = 1000
"""If more rows than this determine the variance, its expectation is not computed: its share would be below 0.001."""

Redraw: TypeAlias = Callable[[np.random.Generator], Iterator[FloatArray]]
"""From a generator to the scores (n, m) of redrawn labels, some of which may be infinite."""

RowMean: TypeAlias = "Score | ForecastScore"
"""Metrics that are means over rows, of classes and of forecasts."""


def hall(data: Any, metric: RowMean, level: float, bootstrap: Bootstrap, rng: np.random.Generator) -> Limits:
    """Return the limits of a mean by Student's law corrected for skewness, see `hall_laws`; infinite if a row is."""
    rows = metric.per_row(data)
    if np.isinf(rows[data.weights > 0]).any():
        return Limits(np.inf, np.inf)
    copies = getattr(data, "copies", None)
    (law,) = hall_laws(rows[:, None], data.weights, bootstrap, rng, _chance(data, metric), copies)
    return _of_means(metric, law.limits(level))


def _of_means(metric: RowMean, limits: Limits) -> Limits:
    """Return limits of the metric, given those of a mean over rows."""
    if isinstance(metric, Score):
        return limits
    low, high = metric.of_means(np.array(limits)).tolist()
    return Limits(low, high)


def hall_laws(
    rows: FloatArray,
    weights: FloatArray,
    bootstrap: Bootstrap,
    rng: np.random.Generator | None = None,
    redraw: Redraw | None = None,
    copies: FloatArray | None = None,
) -> list[StudentLaw]:
    r"""Return the laws of the weighted means of each column of finite numbers (n, m).

    With the sums :math:`A_g = \sum_{i \in g} w_i l_i` and :math:`B_g = \sum_{i \in g} w_i` of each cluster (each row,
    unless rows come in clusters), the mean is :math:`m = \sum A_g / \sum B_g`, and
    :math:`u_g = (A_g - m B_g) / \sum B_g` is what the cluster contributes to its error (`law_of_sum`).

    If nearly all predictions are right, a few large :math:`u_g` determine the standard error s, and if by chance there
    are none, it is far too small. The predictions are then the better guide: with the mean :math:`s_0^2` of the squared
    standard error over labels drawn from them, and the effective number :math:`\nu = (\sum u_g^2)^2 / \sum u_g^4` of
    rows that determine it, :math:`s^2` is replaced by :math:`(\nu s^2 + s_0^2) / (\nu + 1)`, unless `redraw` is None or
    :math:`\nu` exceeds a thousand.
    """
    upper, lower, deviations = _sums(rows, weights, bootstrap)
    total, each = float(lower.sum()), np.ones(len(lower)) if copies is None else copies
    found = [
        law_of_sum(float(a.sum()) / total, d / total, lower, skewed=True, copies=each)
        for a, d in zip(upper.T, deviations.T, strict=True)
    ]
    effective = _effective_number(deviations, each)
    if redraw is None or rng is None or effective.min() > MANY_EFFECTIVE:
        return found
    expected = _expected_variances(redraw(rng), weights, bootstrap)
    errors = _with_expected(np.array([law.error for law in found]), deviations, expected)
    return [replace(law, error=float(error)) for law, error in zip(found, errors, strict=True)]


def _chance(data: object, metric: RowMean) -> Redraw | None:
    """Return a function that draws the scores of rows under calibration, if the metric allows it."""
    if not isinstance(data, Predictions) or not isinstance(metric, Score):
        return None
    return lambda rng: (rows[:, None] for rows in _redrawn(data, metric, rng))


def bootstrap_t(data: Any, metric: RowMean, level: float, bootstrap: Bootstrap, rng: np.random.Generator) -> Limits:
    """Return the limits of a mean by the studentised bootstrap; infinite if a row is.

    The quantiles of :math:`t^* = (m^* - m) / s^*` over bootstrap samples take the place of those of Student's law, with
    mean m and standard error s as in `hall_laws`.
    """
    rows = metric.per_row(data)
    if np.isinf(rows[data.weights > 0]).any():
        return Limits(np.inf, np.inf)
    upper, lower, deviations = _sums(rows[:, None], data.weights, bootstrap)
    columns = np.column_stack([upper, upper**2, upper * lower[:, None], lower, lower**2])
    (mean,), errors = _moments(columns.sum(axis=0, keepdims=True))
    draws = [_moments(counts.T @ columns) for counts in bootstrap.cluster_counts(len(rows), rng)]
    means, drawn = (np.concatenate(parts) for parts in zip(*draws, strict=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        studentised = np.where(means == mean, 0.0, (means - mean) / drawn)
    if not deviations.any():
        errors, studentised = np.zeros(1), np.zeros_like(studentised)
    if not studentised.any():  # All rows are equal: only the expected error is known.
        studentised = _normal(len(studentised))
    if redraw := _chance(data, metric):
        errors = _with_expected(errors, deviations, _expected_variances(redraw(rng), data.weights, bootstrap))
    low, high = np.quantile(studentised, tails(level), method="inverted_cdf").tolist()
    # With few resamples both quantiles may lie on one side of 0.
    error = float(errors[0])
    return _of_means(metric, Limits(float(mean) - max(high, 0.0) * error, float(mean) - min(low, 0.0) * error))


def _moments(sums: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return means and standard errors, (B,), from sums of A, A^2, A B, B and B^2, (B, 5)."""
    upper, squares, products, lower, lower_squares = sums.T
    mean = upper / lower
    spread = squares - 2 * mean * products + mean**2 * lower_squares
    return mean, np.sqrt(np.maximum(spread, 0.0)) / lower


def _redrawn(data: Predictions, metric: Score, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Yield the scores of the rows with labels drawn from the predictions.

    A row has one score per possible label. If there are fewer classes than redraws, these scores are computed once.
    """
    n_redraws = int(np.clip(MOST_REDRAWN // data.n_samples, 1, N_REDRAWS))
    if data.n_classes >= n_redraws:
        for labels in redraw_labels(data, n_redraws, rng):
            yield from (metric.per_row(data.with_labels(column)) for column in labels.T)
        return
    same = (np.full(data.n_samples, k) for k in range(data.n_classes))
    by_class = np.column_stack([metric.per_row(data.with_labels(labels)) for labels in same])
    for labels in redraw_labels(data, n_redraws, rng):
        yield from np.take_along_axis(by_class, labels, axis=1).T


def _sums(rows: FloatArray, weights: FloatArray, bootstrap: Bootstrap) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return A (G, m), B (G,) and the deviations A - m B of each cluster."""
    m = rows.shape[1]
    mass = weights / weights.max()  # So that squares of huge weights do not overflow.
    values = np.where(mass[:, None] > 0, rows, 0.0)
    sums = bootstrap.cluster_sums(np.column_stack([values * mass[:, None], mass]))
    upper, lower = sums[:, :m], sums[:, m:]
    deviations = upper - lower * (upper.sum(axis=0) / lower.sum())
    deviations[:, np.abs(deviations).max(axis=0) <= 1e-12 * np.abs(upper).max(axis=0)] = 0.0  # Rounding errors.
    return upper, lower[:, 0], deviations


def _expected_variances(redrawn: Iterator[FloatArray], weights: FloatArray, bootstrap: Bootstrap) -> FloatArray:
    """Return the mean squared standard errors of the means of rows (n, m), NaN where a row is infinite."""
    draws = list(redrawn)
    with np.errstate(invalid="ignore"):
        _, mass, deviations = _sums(np.hstack(draws), weights, bootstrap)
        squares = np.einsum("gm,gm->m", deviations, deviations) / mass.sum() ** 2
    return np.asarray(squares.reshape(len(draws), -1).mean(axis=0))


def _with_expected(errors: FloatArray, deviations: FloatArray, expected: FloatArray) -> FloatArray:
    """Return standard errors (m,) to which the expected variance contributes like one further row."""
    effective = _effective_number(deviations, np.ones(len(deviations)))
    combined = np.sqrt((effective * errors**2 + expected) / (effective + 1))
    return np.where(np.isfinite(expected), combined, errors)


def _effective_number(deviations: FloatArray, copies: FloatArray) -> FloatArray:
    """Return the effective number of rows that determine the variance, by column."""
    deviations = deviations / copies[:, None]
    largest = np.abs(deviations).max(axis=0)
    shares = np.divide(deviations, largest, out=np.zeros_like(deviations), where=largest > 0) ** 2
    powers = copies @ shares**2
    return np.divide((copies @ shares) ** 2, powers, out=np.zeros_like(powers), where=powers > 0)


def _normal(n: int) -> FloatArray:
    """Return n quantiles of the normal distribution."""
    from scipy.special import ndtri

    return np.asarray(ndtri(np.arange(1, n + 1) / (n + 1)))


def wilson(data: Data, metric: RowMean, level: float, bootstrap: Bootstrap, rng: np.random.Generator) -> Limits:
    """Return Wilson's limits of a share, with Kish's effective number of rows; with clusters, those of `hall`."""
    if bootstrap.clusters is not None:
        return hall(data, metric, level, bootstrap, rng)
    trials = effective_rows(data.weights, getattr(data, "copies", None))
    low, high = bands.wilson(np.array([metric(data)]), np.array([trials]), level)
    return Limits(float(low[0]), float(high[0]))


def tails(level: float) -> list[float]:
    """Return the probabilities below the lower and below the upper limit."""
    return [(1 - level) / 2, (1 + level) / 2]
