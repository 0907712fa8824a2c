"""What must hold for a calibrator of predictive distributions that comes from a file."""

import numpy as np
from numpy.typing import NDArray

from calibrant._border.types import FloatArray, IntArray
from calibrant.calibrators.forecasts.compose import ForecastCompose
from calibrant.calibrators.forecasts.conformal import ConformalIntervals
from calibrant.calibrators.forecasts.forecast_calibrator import NEEDS, ForecastCalibrator
from calibrant.calibrators.stored_rules import Rule, finite, positive, vector
from calibrant.exceptions import InputError
from calibrant.forecasts import Distribution, MvNormal, Normal, Quantiles, Samples


def _ascending(*arrays: FloatArray) -> bool:
    """Whether all are of one length, and ascend strictly between 0 and 1."""
    inside = all(np.all(np.diff(vector(one), prepend=0.0, append=1.0) > 0) for one in arrays)
    return inside and len({len(one) for one in arrays}) == 1


def _shifts(levels: FloatArray, shifts: FloatArray) -> bool:
    return _ascending(levels) and len(vector(shifts)) == len(levels) >= 2


def _stages(stages: object) -> bool:
    return isinstance(stages, list) and len(stages) > 0 and all(isinstance(s, ForecastCalibrator) for s in stages)


def _thresholds(groups: NDArray[np.str_], thresholds: FloatArray, ranks: IntArray, n_fitted: IntArray) -> bool:
    names, n = groups.tolist(), len(groups)
    counts = all(one.shape == (n,) and one.dtype.kind == "i" and one.min() >= 0 for one in (ranks, n_fitted))
    return n > 0 and names == sorted(set(names)) and counts and thresholds.shape in ((n, 1), (n, 2))


def _scored(scores: FloatArray, ratios: FloatArray) -> bool:
    return scores.shape in ((len(ratios), 1), (len(ratios), 2)) and bool(vector(ratios).min() > 0)


_FACTOR = Rule(("factor_",), positive, "must be a positive number")
_SHIFT = Rule(("shift_",), finite, "must be finite")

FORECAST_RULES: dict[str, tuple[Rule, ...]] = {
    "SpreadScaling": (_FACTOR,),
    "ShiftScaling": (_SHIFT, _FACTOR),
    "StudentScaling": (_SHIFT, _FACTOR, Rule(("df_",), lambda df: df > 1, "must exceed 1")),
    "SpreadByLevel": (Rule(("intercept_", "slope_"), finite, "must be finite"),),
    "PITMap": (Rule(("levels_", "shares_"), _ascending, "must be as many, and ascend between 0 and 1"),),
    "EnsembleInflation": (
        Rule(("shift_",), lambda a: len(vector(a)) > 0 and np.isfinite(a).all(), "must be finite numbers"),
        _FACTOR,
    ),
    "QuantileShift": (Rule(("levels_", "shifts_"), _shifts, "must be ascending levels, with one shift each"),),
    "ConformalIntervals": (
        Rule(("groups_", "thresholds_", "ranks_", "n_fitted_"), _thresholds, "must be one entry per group"),
    ),
    "WeightedConformalIntervals": (
        Rule(("scores_", "ratios_"), _scored, "must be scores, with a positive ratio each"),
    ),
    "ForecastCompose": (Rule(("stages_",), _stages, "must be calibrators of forecasts"),),
}
"""Rules by class."""


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
