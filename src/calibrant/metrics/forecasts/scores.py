"""Proper scores of predictive distributions: means of per-row scores."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.forecasts import Distribution, Forecasts, MonteCarlo
from calibrant.forecasts.transform import Ensemble, check_ensemble
from calibrant.metrics.base.kernel import N_BATCHES, monte_carlo_error
from calibrant.metrics.base.metric import infinite_rows
from calibrant.metrics.forecasts.metric import (
    Columns,
    ForecastScore,
    IntervalMetric,
    central_levels,
    check_levels,
    level_array,
)
from calibrant.results import Description

CELLS = 2**16
"""Largest number of quantiles computed at a time: few enough to stay in the cache."""


@dataclass(frozen=True)
class CRPS(ForecastScore):
    r"""Continuous ranked probability score; for vectors, its generalisation, the energy score.

    Parameters
    ----------
    ensemble : {"empirical", "fair"}, default="empirical"
        How to read `Samples` of m members. "empirical": they are the predicted law; pairs of members are averaged over
        all :math:`m^2`. "fair": they are draws from an unseen law, whose score is estimated without bias by the
        average over :math:`m (m - 1)` pairs; it may be negative. Other laws are the same in both.

    Notes
    -----
    With independent :math:`Z, Z'` from the predicted law,

    .. math:: E |Z - y| - \tfrac12 E |Z - Z'| = \int (F(x) - 1[x \ge y])^2 dx,

    in the unit of the targets; for a point forecast it is the absolute error. Exact for normals, Laplace laws and their
    mixtures (in :math:`O(M^2)` per row) and for ensembles (:math:`O(m \log m)` per row; for vectors :math:`O(m^2)`).
    For normal vectors it is an integral with a relative error below 1e-12. For a `MonteCarlo` law it is an unbiased
    average, with its standard error in the details.

    References
    ----------
    T. Gneiting, A. E. Raftery, "Strictly proper scoring rules, prediction, and estimation", JASA 102 (2007);
    C. A. T. Ferro, "Fair scores for ensemble forecasts", QJRMS 140 (2014).

    Examples
    --------
    >>> from calibrant.forecasts import Normal, Samples
    >>> round(CRPS()(Forecasts(Normal([0.0], [1.0]), [0.0])), 6)  # (sqrt(2) - 1) / sqrt(pi)
    0.233695
    >>> CRPS()(Forecasts(Samples([[0.0, 1.0, 3.0]]), [1.5]))
    0.5
    """

    label = "CRPS"
    meaning = "Continuous ranked probability score, in units of the values: rewards sharp and calibrated forecasts."
    principal = True
    measures = "both"
    ensemble: Ensemble = "empirical"

    def about(self) -> Description:
        """Return the description that readers see."""
        if self.ensemble == "empirical":
            return super().about()
        meaning = "Unbiased estimate of the CRPS of the law behind the members; calibrators are chosen by it."
        return replace(super().about(), label="Fair CRPS", meaning=meaning)

    def __post_init__(self) -> None:
        check_ensemble(self.ensemble)

    def at_columns(self, columns: Columns) -> Self:  # noqa: ARG002 (all are used)
        """Return the metric itself: the laws define what lies between the quantiles."""
        return self

    def per_row(self, forecasts: Forecasts) -> FloatArray:
        """Return the score of every row."""
        law = forecasts.distribution
        return law.mean_distance(forecasts.targets) - 0.5 * law.mean_spread(fair=self.ensemble == "fair")

    def details(self, forecasts: Forecasts) -> Mapping[str, object]:
        """Give the Monte Carlo error, if there is one."""
        halves = [part.n_draws // 2 for part in forecasts.distribution.components if isinstance(part, MonteCarlo)]
        n_batches = math.gcd(N_BATCHES, *halves)
        if not halves or n_batches < 2:
            return {}
        values = [self(batch) for batch in forecasts.batches(n_batches)]
        return monte_carlo_error(np.array(values))


@dataclass(frozen=True)
class LogScore(ForecastScore):
    r"""Negative log-likelihood: the mean of minus the logarithm of the predicted density at the target.

    Its value depends on the unit of the targets: in a unit c times as large, it falls by :math:`d \ln c` for vectors of
    d coordinates. Ensembles have no density. It is infinite if a target was given density 0; `details` then counts such
    rows.

    Examples
    --------
    >>> from calibrant.forecasts import Normal
    >>> round(LogScore()(Forecasts(Normal([0.0], [1.0]), [0.0])), 4)  # ln sqrt(2 pi)
    0.9189
    """

    label = "Log score"
    meaning = "Mean of minus the logarithm of the predicted density at the value."
    principal = True
    measures = "both"
    needs = "density"

    rows_for_limits = 500  # More than for other scores: it grows with the squared distance from the mean of a normal.

    def per_row(self, forecasts: Forecasts) -> FloatArray:
        """Return minus the log density at the target."""
        return -forecasts.distribution.log_density(forecasts.targets)

    def details(self, forecasts: Forecasts) -> Mapping[str, object]:
        """Give the number of rows whose target was given density 0, and the first of them."""
        return infinite_rows(self.per_row(forecasts), forecasts.weights)


@dataclass(frozen=True)
class PinballLoss(ForecastScore):
    r"""Pinball, or quantile, loss of the predicted quantiles, averaged over levels.

    Parameters
    ----------
    levels : int or tuple of float, default=9
        Levels between 0 and 1, or the number of equally spaced ones: 9 means 0.1, 0.2, ..., 0.9.

    Notes
    -----
    At level q and predicted quantile x, :math:`\max(q (y - x), (q - 1) (y - x))`. Twice its mean over many equally
    spaced levels approaches the `CRPS`.

    Examples
    --------
    >>> from calibrant.forecasts import Normal
    >>> PinballLoss(levels=(0.5,))(Forecasts(Normal([0.0, 0.0], 1.0), [1.0, -3.0]))  # half the mean absolute error
    1.0
    """

    label = "Pinball loss"
    meaning = "Loss of the predicted quantiles, averaged over levels."
    measures = "both"
    needs = "cdf"
    levels: int | tuple[float, ...] = 9

    def __post_init__(self) -> None:
        check_levels(self.levels)

    def at_columns(self, columns: Columns) -> Self:
        """Return the loss of these quantiles."""
        return replace(self, levels=columns.levels)

    def per_row(self, forecasts: Forecasts) -> FloatArray:
        """Return the loss of every row, averaged over levels."""
        levels = level_array(self.levels)
        loss = np.empty(forecasts.n_samples)
        for part, quantiles in quantile_blocks(forecasts.distribution, levels):
            gaps = forecasts.targets[part, None] - quantiles
            loss[part] = np.maximum(levels * gaps, (levels - 1) * gaps).mean(axis=1)
        return loss


@dataclass(frozen=True)
class IntervalScore(IntervalMetric):
    r"""Width of the central interval, and a penalty for targets outside it.

    Parameters
    ----------
    level : float, default=0.9
        Probability of the interval.

    Notes
    -----
    For the interval :math:`[l, u]` of probability p, :math:`u - l + \frac{2}{1 - p} \max(l - y, y - u, 0)`.

    Examples
    --------
    >>> from calibrant.forecasts import Samples
    >>> members = [[float(i) for i in range(1, 11)]] * 2
    >>> IntervalScore(level=0.8)(Forecasts(Samples(members), [5.0, 10.0]))  # from 1 to 9: (8 + 8 + 10) / 2
    13.0
    """

    label = "Interval score"
    meaning = "Width of intervals plus a penalty for values outside."
    measures = "both"

    @property
    def rows_for_limits(self) -> int:
        """Number of rows of which 15 targets lie outside the interval on average: the variance depends on these."""
        return math.ceil(15 / (1 - self.level) - 1e-9)

    def per_row(self, forecasts: Forecasts) -> FloatArray:
        """Return the score of every row."""
        low, high = forecasts.distribution.quantile(central_levels(self.level)).T
        y = forecasts.targets
        return high - low + 2 / (1 - self.level) * np.maximum(np.maximum(low - y, y - high), 0.0)


def quantile_blocks(law: Distribution, levels: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
    """Yield slices of rows and their quantiles, (rows, q), so that memory does not grow with n times q."""
    size = max(1, CELLS // len(levels))
    if law.n <= size:
        yield slice(None), law.quantile(levels)
        return
    for start in range(0, law.n, size):
        part = slice(start, start + size)
        yield part, law.take(part).quantile(levels)
