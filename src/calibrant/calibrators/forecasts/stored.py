"""What must hold for a calibrator of predictive distributions that comes from a file."""

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.calibrators.forecasts.compose import ForecastCompose
from calibrant.calibrators.forecasts.conformal import ConformalIntervals
from calibrant.calibrators.forecasts.forecast_calibrator import NEEDS, ForecastCalibrator
from calibrant.exceptions import InputError
from calibrant.forecasts import Distribution, MvNormal, Normal, Quantiles, Samples


def check_usable_forecasts(calibrator: ForecastCalibrator) -> None:
    """Refuse a calibrator that does not turn laws into laws."""
    name = type(calibrator).__name__
    dim = getattr(calibrator, "dim_", None)
    if not isinstance(dim, int) or isinstance(dim, bool) or not 1 <= dim <= 10**4:
        raise InputError(f"{name} must know the number of coordinates of the targets, dim_.")
    trial = _trial(calibrator, dim)
    try:
        with np.errstate(all="ignore"):
            values = _tried(calibrator, trial)
    except (AttributeError, TypeError, ValueError, IndexError, KeyError, ArithmeticError) as error:
        raise InputError(f"{name} cannot be used: {str(error)[:200]}") from error
    if len(values) != trial.n or np.isnan(values).any():
        raise InputError(f"{name} does not give a distribution for every row.")


def _tried(calibrator: ForecastCalibrator, trial: Distribution) -> FloatArray:
    """Return numbers that the calibrator gives for some laws."""
    if isinstance(calibrator, ConformalIntervals):
        return calibrator.interval(trial, groups=[calibrator.groups_[0]] * trial.n).high
    law = calibrator.apply(trial)
    return law.quantile([0.3, 0.5, 0.7]) if law.has_cdf else law.mean()


def _trial(calibrator: ForecastCalibrator, dim: int) -> Distribution:
    """Return some laws to try that a calibrator takes."""
    first = calibrator.stages_[0] if isinstance(calibrator, ForecastCompose) else calibrator
    if first.accepts == "quantiles":
        levels = np.asarray(getattr(first, "levels_", [0.1, 0.9]))
        return Quantiles(levels, np.arange(2.0)[:, None] + np.arange(len(levels)))
    if first.accepts == "ensemble":
        return Samples(np.arange(6.0 * dim).reshape(2, 3, dim))
    law: Distribution = Normal([0.0, 1.0], [1.0, 2.0]) if dim == 1 else MvNormal(np.zeros((2, dim)), 1.0)
    if not NEEDS[first.accepts].holds(law):
        raise InputError(f"{type(calibrator).__name__} does not take distributions of {dim} coordinates.")
    return law
