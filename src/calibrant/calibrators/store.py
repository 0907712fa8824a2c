"""Save calibrators to files and load them: JSON of numbers, strings, arrays and known classes, with a checksum."""

import base64
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import fields
from inspect import isabstract
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant import binning, calibrators
from calibrant._border.sealed import Kind, read_sealed, write_sealed
from calibrant._border.types import FloatArray
from calibrant.calibrators import forecasts
from calibrant.calibrators.calibrator import Calibrator
from calibrant.calibrators.estimator import Estimator, check_is_fitted
from calibrant.calibrators.forecasts import ConformalIntervals, ForecastCalibrator, ForecastCompose, QuantileShift
from calibrant.calibrators.inputs import RAW_LOGITS
from calibrant.calibrators.rules import check_learnt
from calibrant.counts import LaplaceCorrection, MEstimate, RelativeFrequency
from calibrant.exceptions import InputError
from calibrant.forecasts import Distribution, MvNormal, Normal, Quantiles, Samples

Stored = Calibrator | ForecastCalibrator
"""A calibrator of classes or of predictive distributions."""

KIND = Kind("calibrator", "calibrator", format=1, most_bytes=100 * 2**20)
"""What the files are."""

MAX_DEPTH = 20
"""Largest depth of nested calibrators."""

_DTYPES = {"f": "<f8", "i": "<i8", "u": "<i8", "b": "|b1"}
_READ: dict[object, tuple[str, type]] = {"<f8": ("<f8", float), "<i8": ("<i8", int), "|b1": ("u1", bool)}
_PUBLIC = [vars(room).get(name) for room in (calibrators, forecasts) for name in room.__all__]
_ESTIMATORS = [v for v in _PUBLIC if isinstance(v, type) and issubclass(v, Estimator) and not isabstract(v)]
_SETTINGS: list[type] = [binning.EqualMass, binning.EqualWidth, LaplaceCorrection, MEstimate, RelativeFrequency]
_CLASSES = {one.__name__: one for one in (*_ESTIMATORS, *_SETTINGS)}
"""The classes that a file may name: public calibrators, of classes and of forecasts, and dataclasses that may be their
settings."""


class StoredCalibrator(NamedTuple):
    """A calibrator from a file, what was stored with it, and the checksum of the file, which identifies it."""

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
    return write_sealed(path, KIND, _encode(_checked(calibrator)), details or {})


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
    return StoredCalibrator(*read_sealed(path, KIND, lambda content: _checked(_decode(content))))


def _encode(value: object) -> object:
    """Return a value as JSON values."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_encode(entry) for entry in value]
    if isinstance(value, np.ndarray):
        return _encode_array(value)
    return _encode_object(value)


def _encode_object(value: Any) -> dict[str, object]:
    name = type(value).__name__
    if type(value) not in _CLASSES.values():
        raise TypeError(
            "only calibrators of calibrant can be saved, with numbers, strings, arrays, and binnings and smoothings of "
            f"calibrant as settings, but {value!r:.80} is defined elsewhere."
        )

    def encoded(names: Iterable[str]) -> dict[str, object]:
        return {key: _encode(getattr(value, key)) for key in names}

    if not isinstance(value, Estimator):
        return {"choice": name, "fields": encoded(field.name for field in fields(value))}
    learnt = filter(_is_learnt, sorted(vars(value)))
    return {"class": name, "params": encoded(value.get_params(deep=False)), "fitted": encoded(learnt)}


def _encode_array(array: NDArray[np.generic]) -> dict[str, object]:
    shape = list(array.shape)
    if array.dtype.kind == "U":
        return {"dtype": "str", "shape": shape, "data": array.ravel().tolist()}
    if array.dtype.kind not in _DTYPES:
        raise TypeError(f"only arrays of numbers or strings can be saved, but one has the type {array.dtype}.")
    dtype = _DTYPES[array.dtype.kind]
    return {"dtype": dtype, "shape": shape, "data": base64.b64encode(array.astype(dtype).tobytes()).decode("ascii")}


def _decode(value: object, depth: int = 0) -> object:
    """Return the value that `_encode` was given, built from the innermost parts outwards."""
    if depth > 3 * MAX_DEPTH:
        raise InputError(f"calibrators must be nested at most {MAX_DEPTH} levels deep, but these are deeper.")
    if isinstance(value, list):
        return [_decode(entry, depth + 1) for entry in value]
    if isinstance(value, dict):
        return _decode_object({key: _decode(entry, depth + 1) for key, entry in value.items()})
    if not math.isfinite(value) if isinstance(value, float) else isinstance(value, int) and abs(value) >= 2**63:
        raise InputError(f"numbers must be finite, and integers below 2^63, but one is {str(value)[:30]}.")
    return value


def _decode_object(parts: dict[str, object]) -> object:
    """Return what decoded parts describe; without known keys they are settings or learnt attributes by name."""
    match parts:
        case {"dtype": dtype, "shape": list(shape), "data": data} if -1 not in shape:  # -1 would be any size.
            return _decode_array(dtype, shape, data)
        case {"float": text}:
            if text not in ("inf", "-inf"):
                raise InputError(f"a number must be finite, inf or -inf, but is {text!r:.30}.")
            return float(str(text))
        case {"choice": name, "fields": settings}:
            return _built(name, settings, {})
        case {"class": name, "params": settings, "fitted": learnt}:
            return _built(name, settings, learnt)
    return parts


def _decode_array(dtype: object, shape: list[int], data: object) -> NDArray[np.generic]:
    try:
        return (_texts(data) if dtype == "str" else _numbers(dtype, data)).reshape(shape)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        what = f"an array of type {dtype!r:.40} and shape {shape!r:.60}"
        raise InputError(f"{what} must have such content, but has not: {error}.") from error


def _numbers(dtype: object, data: object) -> NDArray[np.generic]:
    written, native = _READ[dtype]
    return np.frombuffer(base64.b64decode(str(data), validate=True), written).astype(native)


def _texts(data: object) -> NDArray[np.str_]:
    if not isinstance(data, list) or not all(isinstance(text, str) for text in data):
        raise TypeError("strings must be in a list")
    lengths = [len(text) for text in data]
    if max(lengths, default=0) * len(data) > 100 * sum(lengths) + 10**6:  # NumPy gives all strings the longest's size.
        raise ValueError("strings must have similar lengths")
    return np.array(data, dtype=str)


def _is_learnt(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_") and name.isidentifier()


def _built(name: object, settings: object, learnt: object) -> object:
    """Build an object of a known class from its settings, and set its learnt attributes."""
    if not isinstance(name, str) or name not in _CLASSES:
        raise InputError(
            f"a class must be one of calibrant's, but is {name!r:.60}. A newer version of calibrant may know it."
        )
    if not isinstance(learnt, dict) or not all(map(_is_learnt, learnt)):
        raise InputError(f"the learnt attributes of {name} must have names that end in an underscore.")
    try:
        built = _CLASSES[name](**settings)  # type: ignore[arg-type]  # a TypeError if it is not a mapping
    except TypeError as error:
        raise InputError(f"{name} does not have the settings {settings!r:.80}.") from error
    for key, entry in learnt.items():
        try:
            setattr(built, key, entry)
        except AttributeError as error:  # It is a property.
            raise InputError(f"{name} has no learnt attribute {key}.") from error
    return built


def _checked(calibrator: object) -> Stored:
    """Return a calibrator, unless no fit can give its learnt attributes or its output for trial inputs."""
    if not isinstance(calibrator, (Calibrator, ForecastCalibrator)):
        raise InputError("it does not describe a calibrator.")
    check_learnt(calibrator)
    name = type(calibrator).__name__
    try:
        with np.errstate(all="ignore"):
            fault = _fault(calibrator) if isinstance(calibrator, Calibrator) else _fault_of_forecasts(calibrator)
    except (AttributeError, TypeError, ValueError, IndexError, KeyError, ArithmeticError) as error:
        raise InputError(f"{name} cannot be used: {str(error)[:200]}") from error
    if fault:
        raise InputError(f"{name} {fault}.")
    return calibrator


def _fault(calibrator: Calibrator) -> str:
    """Return why a calibrator does not map scores to probabilities of its classes, or ""."""
    classes = getattr(calibrator, "classes_", None)
    if not isinstance(classes, np.ndarray) or classes.ndim != 1 or not 2 <= len(classes) == len(np.unique(classes)):
        return "must have at least two different classes"
    probs = calibrator.predict_proba(_trial_scores(calibrator, len(classes)))
    if probs.shape[1:] != (len(classes),) or not np.all(np.abs(probs.sum(axis=1) - 1) < 1e-9):
        return f"does not return {len(classes)} probabilities that sum to 1"
    return ""


def _trial_scores(calibrator: Calibrator, k: int) -> FloatArray:
    """Return some rows to try: uniform ones, certain ones, and some in between."""
    if calibrator.scores == "raw":
        return np.linspace(-3.0, 3.0, 7)
    if calibrator.scores == RAW_LOGITS:
        return np.vstack([np.zeros((1, k)), 9.0 * np.eye(min(k, 100), k) - 5.0])
    certain = np.eye(k)[sorted({0, 1, k // 2, k - 1})] if k < 10**4 else np.empty((0, k))
    probs = np.vstack([np.full((1, k), 1 / k), certain, 0.5 * certain + 0.5 / k])
    return np.log(probs) if calibrator.scores == "logits" else probs


def _fault_of_forecasts(calibrator: ForecastCalibrator) -> str:
    """Return why a calibrator does not return one distribution per row, or ""."""
    dim = getattr(calibrator, "dim_", None)
    if not isinstance(dim, int) or isinstance(dim, bool) or not 1 <= dim <= 10**4:
        return "must have the number of coordinates of the targets, dim_, from 1 to 10,000"
    trial = _trial_forecasts(calibrator, dim)
    if isinstance(calibrator, ConformalIntervals):
        values = calibrator.interval(trial, groups=[calibrator.groups_[0]] * trial.n).high
    else:
        law = calibrator.apply(trial)
        values = law.quantile([0.3, 0.5, 0.7]) if law.has_cdf else law.mean()
    return "does not return one distribution per row" if len(values) != trial.n or np.isnan(values).any() else ""


def _trial_forecasts(calibrator: ForecastCalibrator, dim: int) -> Distribution:
    """Return two distributions that the calibrator accepts, if any have this number of coordinates."""
    first = calibrator.stages_[0] if isinstance(calibrator, ForecastCompose) else calibrator
    if isinstance(first, QuantileShift):
        return Quantiles(first.levels_, np.arange(2.0)[:, None] + np.arange(len(first.levels_)))
    if first.accepts == "ensemble":
        return Samples(np.arange(6.0 * dim).reshape(2, 3, dim))
    return Normal([0.0, 1.0], [1.0, 2.0]) if dim == 1 else MvNormal(np.zeros((2, dim)), 1.0)
