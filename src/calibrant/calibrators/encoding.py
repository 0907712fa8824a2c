"""Encode calibrators as JSON and decode them: numbers, strings, arrays and known classes, never code."""

import base64
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from calibrant import binning, calibrators, counts
from calibrant._border.numerals import count
from calibrant.calibrators import forecasts
from calibrant.calibrators.calibrator import Calibrator
from calibrant.calibrators.estimator import Estimator
from calibrant.exceptions import InputError

Built = TypeVar("Built")

MAX_DEPTH = 20
"""Largest depth of nested calibrators."""

_DTYPES = {"f": "<f8", "i": "<i8", "u": "<i8", "b": "|b1"}
_SMOOTHINGS = (counts.LaplaceCorrection, counts.MEstimate, counts.RelativeFrequency)
_CHOICES: dict[str, type] = {c.__name__: c for c in (binning.EqualMass, binning.EqualWidth, *_SMOOTHINGS)}
"""The frozen dataclasses that may be settings of a calibrator, by name."""


_PUBLIC = {name: vars(room)[name] for room in (calibrators, forecasts) for name in room.__all__ if name in vars(room)}
_BASES = (Calibrator, forecasts.ForecastCalibrator)
_CALIBRATORS: dict[str, type[Estimator]] = {
    name: v for name, v in _PUBLIC.items() if isinstance(v, type) and issubclass(v, _BASES) and v not in _BASES
}
"""The classes that a file may name: all public calibrators, of classes and of forecasts."""


def encode(value: object) -> object:
    """Return a value as JSON values."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [encode(entry) for entry in value]
    if isinstance(value, np.ndarray):
        return _encode_array(value)
    if isinstance(value, Estimator):
        return _encode_calibrator(value)
    name = type(value).__name__
    if _CHOICES.get(name) is not type(value) or not is_dataclass(value):
        raise TypeError(
            "a setting must be a number, a string, an array, or a binning or smoothing of calibrant, but is "
            f"{value!r:.80}."
        )
    return {"choice": name, "fields": {field.name: encode(getattr(value, field.name)) for field in fields(value)}}


def _encode_calibrator(calibrator: Estimator) -> dict[str, object]:
    name = type(calibrator).__name__
    if _CALIBRATORS.get(name) is not type(calibrator):
        raise TypeError(f"only calibrators of calibrant can be saved, but {name} is defined elsewhere.")
    return {
        "class": name,
        "params": {key: encode(value) for key, value in calibrator.get_params(deep=False).items()},
        "fitted": {key: encode(value) for key, value in sorted(vars(calibrator).items()) if _is_learnt(key)},
    }


def _encode_array(array: NDArray[np.generic]) -> dict[str, object]:
    if array.dtype.kind == "U":
        return {"dtype": "str", "shape": list(array.shape), "data": array.ravel().tolist()}
    if array.dtype.kind not in _DTYPES:
        raise TypeError(f"only arrays of numbers or strings can be saved, but one has the type {array.dtype}.")
    dtype = _DTYPES[array.dtype.kind]
    content = np.ascontiguousarray(array, dtype=dtype).tobytes()
    return {"dtype": dtype, "shape": list(array.shape), "data": base64.b64encode(content).decode("ascii")}


def decode(value: object, depth: int = 0) -> object:
    """Return the value that `encode` was given, built from the innermost parts outwards."""
    if depth > 3 * MAX_DEPTH:
        raise InputError(f"calibrators must be nested at most {MAX_DEPTH} levels deep, but these are deeper.")
    if isinstance(value, list):
        return [decode(entry, depth + 1) for entry in value]
    if isinstance(value, dict):
        parts = {key: decode(entry, depth + 1) for key, entry in value.items()}
        keys, build = next((found for found in _BUILDERS.items() if set(found[0]) == set(parts)), ((), None))
        return parts if build is None else build(*(parts[key] for key in keys))
    if not math.isfinite(value) if isinstance(value, float) else isinstance(value, int) and abs(value) >= 2**63:
        raise InputError(f"numbers must be finite, and integers below 2^63, but one is {str(value)[:30]}.")
    return value


def _array(dtype: object, shape: object, data: object) -> NDArray[np.generic]:
    if not isinstance(shape, list) or len(shape) > 2 or not all(type(n) is int and 0 <= n < 2**40 for n in shape):
        raise InputError(f"the shape of an array must be one or two sizes, but is {shape!r:.60}.")
    if dtype == "str" and isinstance(data, list):
        return _texts(data, shape)
    if dtype not in _DTYPES.values() or not isinstance(data, str):
        raise InputError(f"an array must be of type <f8, <i8, |b1 or str, but is {dtype!r:.40}.")
    try:
        content = base64.b64decode(data, validate=True)
    except ValueError as error:
        raise InputError("an array must be written in base64, but is not.") from error
    kind = np.dtype(str(dtype))
    if len(content) != math.prod(shape) * kind.itemsize:
        raise InputError(f"an array of shape {tuple(shape)} does not have {count(len(content))} bytes.")
    if kind == np.bool_:
        return (np.frombuffer(content, np.uint8) != 0).reshape(shape)
    return np.frombuffer(content, kind).astype(kind.newbyteorder("=")).reshape(shape)


def _texts(data: list[object], shape: list[int]) -> NDArray[np.generic]:
    texts = [text for text in data if isinstance(text, str)]
    if not len(texts) == len(data) == math.prod(shape):
        raise InputError(
            f"an array of strings of shape {tuple(shape)} must be a list of {math.prod(shape)} strings, but is not."
        )
    longest = max(map(len, texts), default=0)
    if longest * len(texts) > 100 * sum(map(len, texts)) + 10**6:  # NumPy gives every string the size of the longest.
        raise InputError(f"strings must have similar lengths, but one has {count(longest)} characters.")
    return np.array(texts, dtype=str).reshape(shape)


def _float(text: object) -> float:
    if text not in ("inf", "-inf"):
        raise InputError(f"a number must be finite, inf or -inf, but is {text!r:.30}.")
    return float(str(text))


def _choice(name: object, settings: object) -> object:
    return _built(_CHOICES, name, settings)


def _calibrator(name: object, settings: object, learnt: object) -> Estimator:
    calibrator = _built(_CALIBRATORS, name, settings)
    if not isinstance(learnt, dict) or not all(map(_is_learnt, learnt)):
        raise InputError(f"the learnt attributes of {name} must have names that end in an underscore.")
    for key, entry in learnt.items():
        try:
            setattr(calibrator, key, entry)
        except AttributeError as error:  # It is a property.
            raise InputError(f"{name} has no learnt attribute {key}.") from error
    return calibrator


def _is_learnt(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_") and name.isidentifier()


def _built(classes: Mapping[str, Callable[..., Built]], name: object, settings: object) -> Built:
    """Build an object of a known class from its settings."""
    if not isinstance(name, str) or name not in classes:
        raise InputError(
            f"a class must be one of calibrant's, but is {name!r:.60}. A newer version of calibrant may know it."
        )
    try:
        return classes[name](**settings)  # type: ignore[arg-type]  # a TypeError if it is not a mapping
    except TypeError as error:
        raise InputError(f"{name} does not have the settings {settings!r:.80}.") from error


_BUILDERS: dict[tuple[str, ...], Callable[..., object]] = {
    ("dtype", "shape", "data"): _array,
    ("float",): _float,
    ("choice", "fields"): _choice,
    ("class", "params", "fitted"): _calibrator,
}
"""How to build a value from a JSON object, by its keys; an object with other keys stays a dict of settings."""
