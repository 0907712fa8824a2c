"""Checks of calibrators that are read from files: their learnt attributes, and their output for trial inputs."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from calibrant._border.types import FloatArray
from calibrant.calibrators.calibrator import Calibrator
from calibrant.calibrators.estimator import Estimator
from calibrant.calibrators.forecasts.compose import ForecastCompose
from calibrant.calibrators.forecasts.conformal import ConformalIntervals
from calibrant.calibrators.forecasts.forecast_calibrator import NEEDS, ForecastCalibrator
from calibrant.calibrators.raw_logits import uses_raw_logits
from calibrant.calibrators.rules import Rule, are_not_negative
from calibrant.exceptions import InputError
from calibrant.forecasts import Distribution, MvNormal, Normal, Quantiles, Samples


def _columns(names: NDArray[np.generic], classes: NDArray[np.generic]) -> bool:
    return names.dtype.kind == "U" and names.shape in ((1,), classes.shape) and len(set(names.tolist())) == len(names)


_DIAGNOSTICS = (
    Rule(("converged_",), lambda v: isinstance(v, bool), "must be true or false"),
    Rule(("gradient_norm_",), are_not_negative, "must not be negative"),
    Rule(("feature_names_in_", "classes_"), _columns, "must be distinct names, one per column"),
    Rule(("n_iter_",), lambda v: isinstance(v, int) and not isinstance(v, bool) and v >= 0, "must be a count"),
)
"""Conditions on the diagnostics of an optimiser and on column names, where a calibrator has them."""


def check_learnt(calibrator: Estimator) -> None:
    """Refuse learnt attributes that violate the rules of their class, here and in the calibrators inside."""
    for name, value in vars(calibrator).items():
        is_float = isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")
        if is_float and np.isnan(value).any():
            raise InputError(f"{name} of {type(calibrator).__name__} must not hold NaN, but does.")
    for inner in _inner(calibrator):
        check_learnt(inner)
    # With more than two classes, the maps of a binary calibrator are in `lifted_`.
    is_lifted = hasattr(calibrator, "lifted_")
    for rule in calibrator.rules:
        if not is_lifted or any(hasattr(calibrator, name) for name in rule.names):
            _check_rule(calibrator, rule)
    for rule in _DIAGNOSTICS:
        if hasattr(calibrator, rule.names[0]):
            _check_rule(calibrator, rule)


def _inner(calibrator: Estimator) -> Iterator[Estimator]:
    """Yield the fitted calibrators inside."""
    for name, value in vars(calibrator).items():
        if name.endswith("_"):
            entries = value if isinstance(value, list) else [value]
            yield from (entry for entry in entries if isinstance(entry, Estimator))


def _check_rule(calibrator: Estimator, rule: Rule) -> None:
    name = type(calibrator).__name__
    try:
        sound = bool(rule.holds(*(getattr(calibrator, attribute) for attribute in rule.names)))
    except (AttributeError, TypeError, ValueError, IndexError):
        sound = False
    if not sound:
        raise InputError(f"{' and '.join(rule.names)} of {name} {rule.words}.")


def check_usable(calibrator: Calibrator) -> None:
    """Refuse a calibrator that does not map scores to probabilities of its classes."""
    classes = getattr(calibrator, "classes_", None)
    name = type(calibrator).__name__
    if not isinstance(classes, np.ndarray) or classes.ndim != 1 or not 2 <= len(classes) == len(np.unique(classes)):
        raise InputError(f"{name} must have at least two different classes.")
    try:
        with np.errstate(all="ignore"):
            probs = calibrator.predict_proba(_trial_scores(calibrator, len(classes)))
    except (AttributeError, TypeError, ValueError, IndexError, KeyError, ArithmeticError) as error:
        raise InputError(f"{name} cannot be used: {str(error)[:200]}") from error
    if probs.shape[1:] != (len(classes),) or not np.all(np.abs(probs.sum(axis=1) - 1) < 1e-9):
        raise InputError(f"{name} does not return {len(classes)} probabilities that sum to 1.")


def _trial_scores(calibrator: Calibrator, k: int) -> FloatArray:
    """Return some rows to try: uniform ones, certain ones, and some in between."""
    if calibrator.scores == "raw":
        return np.linspace(-3.0, 3.0, 7)
    if uses_raw_logits(calibrator):
        return np.vstack([np.zeros((1, k)), 9.0 * np.eye(min(k, 100), k) - 5.0])
    certain = np.eye(k)[sorted({0, 1, k // 2, k - 1})] if k < 10**4 else np.empty((0, k))
    probs = np.vstack([np.full((1, k), 1 / k), certain, 0.5 * certain + 0.5 / k])
    return np.log(probs) if calibrator.scores == "logits" else probs


def check_usable_forecasts(calibrator: ForecastCalibrator) -> None:
    """Refuse a calibrator that does not return one distribution per row."""
    name = type(calibrator).__name__
    dim = getattr(calibrator, "dim_", None)
    if not isinstance(dim, int) or isinstance(dim, bool) or not 1 <= dim <= 10**4:
        raise InputError(f"{name} must have the number of coordinates of the targets, dim_, from 1 to 10,000.")
    trial = _trial_forecasts(calibrator, dim)
    try:
        with np.errstate(all="ignore"):
            values = _tried(calibrator, trial)
    except (AttributeError, TypeError, ValueError, IndexError, KeyError, ArithmeticError) as error:
        raise InputError(f"{name} cannot be used: {str(error)[:200]}") from error
    if len(values) != trial.n or np.isnan(values).any():
        raise InputError(f"{name} does not return one distribution per row.")


def _tried(calibrator: ForecastCalibrator, trial: Distribution) -> FloatArray:
    """Return numbers from the calibrated distributions."""
    if isinstance(calibrator, ConformalIntervals):
        return calibrator.interval(trial, groups=[calibrator.groups_[0]] * trial.n).high
    law = calibrator.apply(trial)
    return law.quantile([0.3, 0.5, 0.7]) if law.has_cdf else law.mean()


def _trial_forecasts(calibrator: ForecastCalibrator, dim: int) -> Distribution:
    """Return two distributions that the calibrator accepts."""
    first = calibrator.stages_[0] if isinstance(calibrator, ForecastCompose) else calibrator
    if first.accepts == "quantiles":
        levels = np.asarray(getattr(first, "levels_", [0.1, 0.9]))
        return Quantiles(levels, np.arange(2.0)[:, None] + np.arange(len(levels)))
    if first.accepts == "ensemble":
        return Samples(np.arange(6.0 * dim).reshape(2, 3, dim))
    law: Distribution = Normal([0.0, 1.0], [1.0, 2.0]) if dim == 1 else MvNormal(np.zeros((2, dim)), 1.0)
    if not NEEDS[first.accepts].holds(law):
        raise InputError(f"{type(calibrator).__name__} does not accept distributions with {dim} coordinates.")
    return law
