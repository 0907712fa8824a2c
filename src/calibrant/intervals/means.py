"""Limits of means over rows, and of shares."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

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


class Mean(NamedTuple):
    """A mean with its limits, and the two-sided p-value of the hypothesis that it is 0."""

    value: float
    low: float
    high: float
    pvalue: float


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
    found = []
    for a, d in zip(upper.T, deviations.T, strict=True):
        found.append(
            law_of_sum(float(a.sum()) / total, d / total, lower, skewed=True, copies=1.0 if copies is None else copies)
        )
    effective = _effective_number(deviations, each)
    if redraw is None or rng is None or effective.min() > MANY_EFFECTIVE:
        return found
    expected = _expected_variances(redraw(rng), weights, bootstrap)
    errors = _with_expected(np.array([[law.error for law in found]]), deviations, expected)[0]
    return [replace(law, error=float(error)) for law, error in zip(found, errors, strict=True)]


def _chance(data: object, metric: RowMean) -> Redraw | None:
    """Return a function that draws the scores of rows under calibration, if the metric allows it."""
    if not isinstance(data, Predictions) or not isinstance(metric, Score):
        return None
    return lambda rng: (rows[:, None] for rows in _redrawn(data, metric, rng))


def bootstrap_t(data: Any, metric: RowMean, level: float, bootstrap: Bootstrap, rng: np.random.Generator) -> Limits:
    """Return the limits of a mean by the studentised bootstrap, see `studentised_means`; infinite if a row is."""
    rows = metric.per_row(data)
    if np.isinf(rows[data.weights > 0]).any():
        return Limits(np.inf, np.inf)
    (mean,) = studentised_means(rows[:, None], data.weights, level, bootstrap, rng, _chance(data, metric))
    return _of_means(metric, Limits(mean.low, mean.high))


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


def studentised_means(
    rows: FloatArray,
    weights: FloatArray,
    level: float,
    bootstrap: Bootstrap,
    rng: np.random.Generator,
    redraw: Redraw | None = None,
) -> list[Mean]:
    r"""Return the weighted mean of each column of finite numbers (n, m), with limits by the studentised bootstrap.

    With the sums :math:`A_g = \sum_{i \in g} w_i l_i` and :math:`B_g = \sum_{i \in g} w_i` of each cluster (each row,
    unless rows come in clusters), the mean is :math:`m = \sum A_g / \sum B_g` and its squared standard error
    :math:`s^2 = \sum_g d_g^2 / (\sum_g B_g)^2` with :math:`d_g = A_g - m B_g`. The quantiles of
    :math:`t^* = (m^* - m) / s^*` over bootstrap samples take the place of those of Student's law; the p-value is that
    of :math:`m / s` among the :math:`t^*`.

    Unless `redraw` is None, :math:`s` takes the predictions into account, as in `hall_laws`.
    """
    n, m = rows.shape
    columns, deviations = _columns(rows, weights, bootstrap)
    means, errors = _moments(columns.sum(axis=0, keepdims=True), m)
    draws = [_moments(counts.T @ columns, m) for counts in bootstrap.cluster_counts(n, rng)]
    drawn_means, drawn_errors = (np.concatenate(parts) for parts in zip(*draws, strict=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        studentised = np.where(drawn_means == means, 0.0, (drawn_means - means) / drawn_errors)
    equal = ~deviations.any(axis=0)
    errors[:, equal], studentised[:, equal] = 0.0, 0.0
    if redraw is not None:
        errors = _with_expected(errors, deviations, _expected_variances(redraw(rng), weights, bootstrap))
    return [_mean(float(means[0, c]), float(errors[0, c]), studentised[:, c], level) for c in range(m)]


def _columns(rows: FloatArray, weights: FloatArray, bootstrap: Bootstrap) -> tuple[FloatArray, FloatArray]:
    """Return A, A^2, A B, B and B^2 of each cluster, side by side, and the deviations A - m B."""
    upper, mass, deviations = _sums(rows, weights, bootstrap)
    lower = mass[:, None]
    return np.hstack([upper, upper**2, upper * lower, lower, lower**2]), deviations


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
    """Return standard errors (1, m) to which the expected variance contributes like one further row."""
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


def _mean(mean: float, error: float, studentised: FloatArray, level: float) -> Mean:
    if error == 0:
        return Mean(mean, mean, mean, 1.0 if mean == 0 else 2 / (1 + len(studentised)))
    if not studentised.any():  # All rows are equal: only the expected error is known.
        studentised = _normal(len(studentised))
    low, high = np.quantile(studentised, tails(level), method="inverted_cdf").tolist()
    # With few resamples both quantiles may lie on one side of 0.
    low, high = min(low, 0.0), max(high, 0.0)
    return Mean(mean, mean - high * error, mean - low * error, tail_pvalue(studentised, mean / error))


def _normal(n: int) -> FloatArray:
    """Return n quantiles of the normal distribution."""
    from scipy.special import ndtri

    return np.asarray(ndtri(np.arange(1, n + 1) / (n + 1)))


def tail_pvalue(draws: FloatArray, value: float) -> float:
    """Return the two-sided p-value of a value among draws, never 0."""
    beyond = min(int((draws >= value).sum()), int((draws <= value).sum()))
    return min(1.0, 2 * (1 + beyond) / (1 + len(draws)))


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


def _moments(sums: FloatArray, m: int) -> tuple[FloatArray, FloatArray]:
    """Return means and standard errors (B, m) from sums of A, A^2, A B, then of B and B^2."""
    upper, squares, products = sums[:, :m], sums[:, m : 2 * m], sums[:, 2 * m : 3 * m]
    lower, lower_squares = sums[:, 3 * m : 3 * m + 1], sums[:, 3 * m + 1 :]
    mean = upper / lower
    spread = squares - 2 * mean * products + mean**2 * lower_squares
    return mean, np.sqrt(np.maximum(spread, 0.0)) / lower
