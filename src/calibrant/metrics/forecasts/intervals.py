"""Intervals and spreads of predictive distributions: what they cover, and how wide they are."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from calibrant._border.settings import check_option
from calibrant._border.types import FloatArray
from calibrant.forecasts import Forecasts, Samples
from calibrant.forecasts.samples import member_ranks
from calibrant.metrics.base.metric import QUANTILES, SHARPNESS
from calibrant.metrics.forecasts.metric import (
    ForecastScore,
    IntervalMetric,
    central_levels,
    draw_masses,
    has_uniform_transforms,
)
from calibrant.results import Description

ROUNDING = 1e-12
"""Shares of an ensemble and levels that agree to this are equal."""


@dataclass(frozen=True)
class IntervalCoverage(IntervalMetric):
    """Share of targets in the central interval of the predicted law.

    Parameters
    ----------
    level : float, default=0.9
        Probability of the interval, which the coverage of calibrated forecasts approaches. The interval is closed and
        reaches from ``quantile((1 - level) / 2)`` to ``quantile((1 + level) / 2)``.

    Notes
    -----
    The details hold the nominal level, the gap (coverage minus level) and the shares below and above the interval.
    An interval between members of a small ensemble need not have the probability of its level.

    Examples
    --------
    >>> from calibrant.forecasts import Normal
    >>> IntervalCoverage(level=0.5)(Forecasts(Normal([0.0] * 4, 1.0), [-1.0, -0.6, 0.6, 3.0]))
    0.5
    """

    label = "Interval coverage"
    meaning = "Share of values in the predicted intervals; equal to their level if calibrated."
    group = QUANTILES
    principal = True
    better = "none"
    measures = "calibration"
    methods = ("wilson", "hall", "bootstrap-t")

    @property
    def rows_for_limits(self) -> int:
        """Number of rows of which 10 targets lie outside the interval on average."""
        return math.ceil(10 / (1 - self.level) - 1e-9)

    def by_chance(self, forecasts: Forecasts, n_redraws: int, rng: np.random.Generator) -> FloatArray | None:
        """Return B shares that calibrated forecasts have by chance.

        If the law has a density, the target lies in the interval with probability `level`. In an ensemble of m members
        the target is one more draw: it lies between those of rank a and b with probability (b - a) / (m + 1).
        """
        law, inside = forecasts.distribution, self.level
        if isinstance(law, Samples):
            first, last = member_ranks(central_levels(self.level), law.n_draws)
            inside = float(last - first) / (law.n_draws + 1)
        elif not has_uniform_transforms(law):
            return super().by_chance(forecasts, n_redraws, rng)
        weights = forecasts.weights / forecasts.weights.max()
        masses = draw_masses(weights, np.array([inside, 1 - inside]), n_redraws, rng)
        return masses[:, 0] / weights.sum()

    def per_row(self, forecasts: Forecasts) -> FloatArray:
        """Return 1 where the target is in the interval, 0 elsewhere."""
        below, above = self._outside(forecasts)
        return 1.0 - below - above

    def details(self, forecasts: Forecasts) -> Mapping[str, object]:
        """Give the nominal level, the gap, and the shares on either side."""
        below, above = (float(np.average(side, weights=forecasts.weights)) for side in self._outside(forecasts))
        return {"nominal": self.level, "gap": 1 - below - above - self.level, "below": below, "above": above}

    def _outside(self, forecasts: Forecasts) -> tuple[FloatArray, FloatArray]:
        """Return whether targets are below and above the interval, without finding its ends."""
        low, high = central_levels(self.level)
        law, y = forecasts.distribution, forecasts.targets
        below = law.cdf(y) < low - ROUNDING
        above = law.cdf_below(y) >= high - ROUNDING
        return below.astype(float), above.astype(float)


@dataclass(frozen=True)
class IntervalWidth(IntervalMetric):
    """Mean width of the central interval of the predicted law.

    Narrow is good only together with coverage: see `IntervalCoverage`, and `IntervalScore` for both in one number.

    Parameters
    ----------
    level : float, default=0.9
        Probability of the interval.

    Examples
    --------
    >>> from calibrant.forecasts import Normal
    >>> round(IntervalWidth(level=0.95)(Forecasts(Normal([0.0], 1.0), [0.0])), 4)
    3.9199
    """

    label = "Interval width"
    meaning = "Mean width of the predicted intervals; read it with coverage."
    group = SHARPNESS
    principal = True
    better = "none"
    measures = "sharpness"

    def per_row(self, forecasts: Forecasts) -> FloatArray:
        """Return the width of the interval of every row."""
        low, high = forecasts.distribution.quantile(central_levels(self.level)).T
        return high - low


@dataclass(frozen=True)
class Sharpness(ForecastScore):
    """How concentrated the predicted laws are; without regard to the targets, so it means nothing by itself.

    Parameters
    ----------
    kind : {"rms", "mean", "variance"}, default="rms"
        Root of the mean variance, mean standard deviation, or mean variance. For vectors the variance is the sum over
        coordinates.

    Examples
    --------
    >>> from calibrant.forecasts import Normal
    >>> Sharpness()(Forecasts(Normal([0.0, 0.0], [1.0, 7.0]), [0.0, 0.0]))
    5.0
    """

    label = "Sharpness"
    group = SHARPNESS
    principal = True
    better = "none"
    measures = "sharpness"
    needs = "sd"
    kind: Literal["rms", "mean", "variance"] = "rms"

    def about(self) -> Description:
        """Return the description that readers see."""
        names = {"rms": "Root mean predicted variance", "mean": "Mean predicted standard deviation"}
        meaning = f"{names.get(self.kind, 'Mean predicted variance')}; read it with calibration."
        return replace(super().about(), meaning=meaning)

    def __post_init__(self) -> None:
        check_option(self.kind, "kind", "rms", "mean", "variance")

    def per_row(self, forecasts: Forecasts) -> FloatArray:
        """Return the variance of every row, or its root."""
        law = forecasts.distribution
        variances = np.square(law.sd()).reshape(law.n, -1).sum(axis=1)
        return np.sqrt(variances) if self.kind == "mean" else variances

    def of_means(self, means: FloatArray) -> FloatArray:
        """Return the root of mean variances, or the means."""
        return np.sqrt(np.maximum(means, 0.0)) if self.kind == "rms" else means  # Limits may be negative.
