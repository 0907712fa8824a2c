"""Calibrators of predictive distributions: estimators that learn from `Forecasts`.

Each of them has

* ``fit(forecasts) -> self``, where a row of weight w counts as w copies;
* ``apply(distribution) -> Distribution``, with one calibrated distribution per row, which all metrics accept;
* ``calibrate(forecasts) -> Forecasts``, the same with the targets; also as ``calibrate(calibrator, forecasts)``;
* ``suits(distribution)``, whether it accepts such distributions, and the attributes `accepts`, `n_parameters`,
  `keeps_mean`, `keeps_median`, `has_density`, `guarantee`, `gives`, `least_rows` and `use_when`.

Conformal intervals (`gives` is "intervals") also have ``interval(distribution)``, with groups or density ratios.
`coverage_test` tests their guarantee, and `check_intervals` holds out rows to do so. Their `apply` returns `Quantiles`
with the interval ends as columns, for metrics of that level.

`FORECAST_CALIBRATORS` lists them by name, including compositions such as "shift-scale>pit"; `parse_forecast` builds one
from any accepted spelling. ``save`` and ``load`` of `calibrant.calibrators` store them in files, and
``calibrant.recommend(forecasts)`` and ``calibrant.fix(forecasts)`` choose between them.
"""

from functools import partial

from calibrant.calibrators.forecasts.compose import (
    FORECAST_CALIBRATORS,
    ForecastCompose,
    composed_forecasts,
    forecast_calibrator_name,
    parse_forecast,
)
from calibrant.calibrators.forecasts.conformal import ConformalIntervals
from calibrant.calibrators.forecasts.ensembles import EnsembleInflation, QuantileShift
from calibrant.calibrators.forecasts.forecast_calibrator import ForecastCalibrator
from calibrant.calibrators.forecasts.interval_check import check_intervals, coverage_test, judge_intervals
from calibrant.calibrators.forecasts.pit import PITMap
from calibrant.calibrators.forecasts.scaling import ShiftScaling, SpreadScaling, UnchangedForecasts
from calibrant.calibrators.forecasts.spread_by_level import SpreadByLevel
from calibrant.calibrators.forecasts.student import StudentScaling
from calibrant.calibrators.forecasts.weighted_conformal import WeightedConformalIntervals

__all__ = [
    "FORECAST_CALIBRATORS",
    "ConformalIntervals",
    "EnsembleInflation",
    "ForecastCalibrator",
    "ForecastCompose",
    "PITMap",
    "QuantileShift",
    "ShiftScaling",
    "SpreadByLevel",
    "SpreadScaling",
    "StudentScaling",
    "UnchangedForecasts",
    "WeightedConformalIntervals",
    "check_intervals",
    "coverage_test",
    "forecast_calibrator_name",
    "judge_intervals",
    "parse_forecast",
]

FORECAST_CALIBRATORS.fill(
    {
        "identity": UnchangedForecasts,
        "scale": SpreadScaling,
        "scale-crps": partial(SpreadScaling, score="crps"),
        "shift-scale": ShiftScaling,
        "shift-scale-crps": partial(ShiftScaling, score="crps"),
        "offset-scale": partial(ShiftScaling, shift="constant"),
        "student": StudentScaling,
        "spread-by-level": SpreadByLevel,
        "pit": PITMap,
        "pit-all": partial(PITMap, knots="all"),
        "inflate": EnsembleInflation,
        "inflate-moments": partial(EnsembleInflation, score="moments"),
        "quantile-shift": QuantileShift,
        "conformal": ConformalIntervals,
        "conformal-absolute": partial(ConformalIntervals, score="absolute"),
        "cqr": partial(ConformalIntervals, score="quantiles"),
        "conformal-weighted": WeightedConformalIntervals,
    },
    composed_forecasts,
)
