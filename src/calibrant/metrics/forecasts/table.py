"""The table of metrics of forecasts, and which of them suit given laws."""

from calibrant._border.types import FloatArray
from calibrant.forecasts import Distribution, Forecasts, Quantiles, Samples
from calibrant.metrics.base.metric import Metric
from calibrant.metrics.forecasts.calibration import ENCE, QuantileCalibration
from calibrant.metrics.forecasts.intervals import IntervalCoverage, IntervalWidth, Sharpness
from calibrant.metrics.forecasts.metric import Columns, ForecastMetric
from calibrant.metrics.forecasts.scores import CRPS, IntervalScore, LogScore, PinballLoss
from calibrant.metrics.table import METRICS

FAIR = "crps-fair"
"""The score by which calibrators of ensembles are chosen; for other laws it equals the CRPS and is not shown."""

FORECAST_METRICS: dict[str, Metric] = {
    "crps": CRPS(),
    FAIR: CRPS(ensemble="fair"),
    "log-score": LogScore(),
    "pinball": PinballLoss(),
    "interval-score": IntervalScore(),
    "mace": QuantileCalibration(),
    "rmsce": QuantileCalibration(norm=2),
    "mace-interval": QuantileCalibration(form="interval"),
    "ence": ENCE(),
    "interval-coverage": IntervalCoverage(),
    "interval-width": IntervalWidth(),
    "sharpness": Sharpness(),
    "skce": METRICS["skce"],
    "kce": METRICS["kce"],
    "ucme": METRICS["ucme"],
}
"""Every metric of predictive distributions by its name on the command line; those in both tables take either."""


def suited_metrics(forecasts: Forecasts) -> dict[str, Metric]:
    """Return the metrics of FORECAST_METRICS that can be computed from these forecasts.

    Of laws given as columns of quantiles, only these quantiles are known; what lies between and beyond them is assumed.
    So quantiles are measured at their own levels, intervals between two of the columns, and no metric depends on tails.
    """
    table = FORECAST_METRICS
    if isinstance(forecasts.distribution, Quantiles):
        table = _at_levels(forecasts.distribution)
    n_weighted = int((forecasts.weights > 0).sum())
    found = {key: m for key, m in table.items() if m.suits(forecasts) and m.least_rows <= n_weighted}
    law = forecasts.distribution
    if not (isinstance(law, Samples) and law.n_draws > 1):
        found.pop(FAIR, None)
    return found


def central_pairs(levels: FloatArray) -> list[float]:
    """Return the levels of the central intervals between two columns of quantiles, ascending.

    Examples
    --------
    >>> import numpy as np
    >>> central_pairs(np.array([0.05, 0.25, 0.5, 0.75, 0.95]))
    [0.5, 0.9]
    """
    known = {round(float(level), 12) for level in levels}
    return sorted(round(1 - 2 * level, 12) for level in known if level < 0.5 and round(1 - level, 12) in known)


def _at_levels(law: Quantiles) -> dict[str, Metric]:
    """Return the metrics that need no more than quantiles at given levels."""
    columns = Columns(tuple(law.levels.tolist()), tuple(central_pairs(law.levels)))
    found = {key: m.at_columns(columns) for key, m in FORECAST_METRICS.items() if isinstance(m, ForecastMetric)}
    return {key: metric for key, metric in found.items() if metric is not None}


def known_levels(law: Distribution) -> FloatArray | None:
    """Return the levels at which the laws are known, or None if they are known everywhere."""
    return law.levels if isinstance(law, Quantiles) else None
