"""Save calibrators to files and load them: JSON with a checksum, which cannot run code."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant._border.sealed import Kind, read_sealed, write_sealed
from calibrant._border.types import FloatArray
from calibrant.calibrators.calibrator import Calibrator
from calibrant.calibrators.encoding import decode, encode
from calibrant.calibrators.estimator import Estimator, check_is_fitted
from calibrant.calibrators.forecasts import ConformalIntervals, ForecastCalibrator, ForecastCompose
from calibrant.calibrators.forecasts.forecast_calibrator import NEEDS
from calibrant.calibrators.inputs import RAW_LOGITS
from calibrant.calibrators.rules import check_learnt
from calibrant.exceptions import InputError
from calibrant.forecasts import Distribution, MvNormal, Normal, Quantiles, Samples

Stored = Calibrator | ForecastCalibrator
"""A calibrator of classes or of predictive distributions."""

KIND = Kind("calibrator", "calibrator", format=1, most_bytes=100 * 2**20)
"""What the files are."""


@dataclass(frozen=True)
class StoredCalibrator:
    """The content of a file.

    Attributes
    ----------
    calibrator : Calibrator or ForecastCalibrator
    details : dict
        What was stored with it.
    sha256 : str
        The checksum, which identifies this calibrator.
    """

    calibrator: Any
    details: dict[str, Any]
    sha256: str


def save(calibrator: Stored, path: str | os.PathLike[str], *, details: Mapping[str, object] | None = None) -> str:
    """Write a fitted calibrator to a file, completely or not at all.

    Parameters
    ----------
    calibrator : Calibrator or ForecastCalibrator
        Fitted, and of a class of calibrant: other classes could not be loaded again. For a `CalibratedModel`, save its
        `calibrator_`.
    path : str or path
        Usually with the extension .json. An existing file is replaced.
    details : mapping, optional
        Strings and numbers to store with it, such as the name of the model.

    Returns
    -------
    str
        The checksum in the file.

    Notes
    -----
    Settings and learnt numbers are written as JSON, and arrays as base64 of 64-bit little-endian numbers, so the loaded
    calibrator gives the same probabilities to the last bit.
    """
    if not isinstance(calibrator, Estimator):
        raise TypeError(
            f"calibrator must be a calibrator, but is {calibrator!r:.80}. For a CalibratedModel, save its calibrator_."
        )
    check_is_fitted(calibrator)
    if isinstance(calibrator, Calibrator) and not hasattr(calibrator, "classes_"):
        raise InputError(
            "the calibrator must know its classes, but it was fitted inside another one. Save the outer calibrator."
        )
    return write_sealed(path, KIND, encode(_checked(calibrator)), details or {})


def load(path: str | os.PathLike[str]) -> Any:
    """Return the calibrator, of classes or of predictive distributions, from a file that `save` has written.

    Nothing in the file is executed, and only classes of calibrant are instantiated. The checksum must match, and the
    content must make sense: a negative temperature, for instance, is refused.

    Parameters
    ----------
    path : str or path

    Raises
    ------
    InputError
        If the content is damaged or does not describe a calibrator.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.calibrators import TemperatureScaling
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = save(TemperatureScaling().fit([0.9, 0.8, 0.9], [1, 0, 1]), f"{folder}/ts.json")
    ...     load(f"{folder}/ts.json")
    TemperatureScaling()
    """
    return load_with_details(path).calibrator


def load_with_details(path: str | os.PathLike[str]) -> StoredCalibrator:
    """Return the calibrator in a file, with the details stored with it and its checksum."""
    return StoredCalibrator(*read_sealed(path, KIND, lambda content: _checked(decode(content))))


def _checked(calibrator: object) -> Stored:
    """Return a calibrator, unless no fit can give its learnt attributes or its output for trial inputs."""
    if not isinstance(calibrator, (Calibrator, ForecastCalibrator)):
        raise InputError("it does not describe a calibrator.")
    check_learnt(calibrator)
    if isinstance(calibrator, Calibrator):
        _check_usable(calibrator)
    else:
        _check_usable_forecasts(calibrator)
    return calibrator


def _check_usable(calibrator: Calibrator) -> None:
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
    if calibrator.scores == RAW_LOGITS:
        return np.vstack([np.zeros((1, k)), 9.0 * np.eye(min(k, 100), k) - 5.0])
    certain = np.eye(k)[sorted({0, 1, k // 2, k - 1})] if k < 10**4 else np.empty((0, k))
    probs = np.vstack([np.full((1, k), 1 / k), certain, 0.5 * certain + 0.5 / k])
    return np.log(probs) if calibrator.scores == "logits" else probs


def _check_usable_forecasts(calibrator: ForecastCalibrator) -> None:
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
