"""What must hold for learnt attributes of a calibrator that comes from a file: it stands on the class, as `rules`."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from calibrant._border.types import FloatArray


class Rule(NamedTuple):
    """A statement about learnt attributes."""

    names: tuple[str, ...]
    holds: Callable[..., object]
    words: str


def vector(value: object) -> FloatArray:
    """Return a value that must be an array of numbers of one dimension."""
    if not isinstance(value, np.ndarray) or value.ndim != 1 or value.dtype != np.float64:
        raise TypeError
    return value


def number(value: object) -> float:
    """Return a value that must be a number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError
    return float(value)


def is_positive(value: object) -> bool:
    """Whether it is a positive number."""
    return bool(0 < number(value) < np.inf)


def are_not_negative(*values: object) -> bool:
    """Whether they are numbers of at least 0."""
    return all(0 <= number(value) < np.inf for value in values)


def are_finite(*values: object) -> bool:
    """Whether they are finite numbers."""
    return all(np.isfinite(number(value)) for value in values)


def is_rising(values: object) -> bool:
    """Whether no number is less than the one before it."""
    numbers = vector(values)
    return bool(np.all(numbers[1:] >= numbers[:-1]))


def _probabilities(values: object) -> bool:
    numbers = vector(values)
    return len(numbers) > 0 and bool(numbers.min() >= 0 and numbers.max() <= 1)


def are_shares(weights: object, n: int | None = None) -> bool:
    """Whether they are shares that sum to 1, n of them if that is given."""
    shares = vector(weights)
    return _probabilities(shares) and abs(float(shares.sum()) - 1) < 1e-9 and len(shares) == (n or len(shares))


def are_steps(*arrays: FloatArray, more: int = 0, rising: bool = True) -> bool:
    """Whether the last array is a step function over the others, which have `more` entries more."""
    *places, values = arrays
    in_order = all(is_rising(p) and len(p) == len(values) + more for p in places)
    return in_order and _probabilities(values) and (not rising or is_rising(values))


def _affine(coef: FloatArray, intercept: FloatArray) -> bool:
    k = len(vector(intercept))
    return coef.shape in ((k,), (k, k)) and bool(np.isfinite(coef).all() and np.isfinite(intercept).all())


def is_curve(knots: FloatArray, values: FloatArray) -> bool:
    """Whether the knots rise, and each has a finite value."""
    same_length = len(vector(knots)) == len(vector(values))
    return same_length and bool(np.all(np.diff(knots) > 0) and np.isfinite(values).all())


def are_levels(*arrays: FloatArray) -> bool:
    """Whether all are of one length, and ascend strictly between 0 and 1."""
    inside = all(np.all(np.diff(vector(one), prepend=0.0, append=1.0) > 0) for one in arrays)
    return inside and len({len(one) for one in arrays}) == 1


AFFINE = Rule(("coef_", "intercept_"), _affine, "must be finite, with one row per class")
TEMPERATURE = Rule(("temperature_",), is_positive, "must be a positive number")
RISING_STEPS = "must be of the same length and must not fall, and the last must hold probabilities"
STEPS = "must be edges that do not fall, and one probability per bin"
CURVE = "must be rising knots, with a finite value each"
