"""Conditions on the learnt attributes of a calibrator that is read from a file; a class lists its own in `rules`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._border.types import FloatArray
from calibrant.exceptions import InputError

if TYPE_CHECKING:
    from calibrant.calibrators.estimator import Estimator


class Rule(NamedTuple):
    """A condition on attributes: their names, a predicate of their values, and the words for the error message."""

    names: tuple[str, ...]
    holds: Callable[..., object]
    words: str


def vector(value: object) -> FloatArray:
    """Return a value that must be a one-dimensional array of float64."""
    if not isinstance(value, np.ndarray) or value.ndim != 1 or value.dtype != np.float64:
        raise TypeError
    return value


def number(value: object) -> float:
    """Return a value that must be a number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError
    return float(value)


def is_positive(value: object) -> bool:
    """Return whether it is a positive, finite number."""
    return bool(0 < number(value) < np.inf)


def are_not_negative(*values: object) -> bool:
    """Return whether all are finite numbers of at least 0."""
    return all(0 <= number(value) < np.inf for value in values)


def are_finite(*values: object) -> bool:
    """Return whether all are finite numbers."""
    return all(np.isfinite(number(value)) for value in values)


def is_rising(values: object) -> bool:
    """Return whether the numbers are non-decreasing."""
    numbers = vector(values)
    return bool(np.all(numbers[1:] >= numbers[:-1]))


def _probabilities(values: object) -> bool:
    numbers = vector(values)
    return len(numbers) > 0 and bool(numbers.min() >= 0 and numbers.max() <= 1)


def are_shares(weights: object, n: int | None = None) -> bool:
    """Return whether they are shares that sum to 1, and are n in number if n is given."""
    shares = vector(weights)
    return _probabilities(shares) and abs(float(shares.sum()) - 1) < 1e-9 and len(shares) == (n or len(shares))


def are_steps(*arrays: FloatArray, more: int = 0, rising: bool = True) -> bool:
    """Return whether the last array holds the steps over the others, which have `more` additional entries."""
    *places, values = arrays
    in_order = all(is_rising(p) and len(p) == len(values) + more for p in places)
    return in_order and _probabilities(values) and (not rising or is_rising(values))


def _affine(coef: FloatArray, intercept: FloatArray) -> bool:
    k = len(vector(intercept))
    return coef.shape in ((k,), (k, k)) and bool(np.isfinite(coef).all() and np.isfinite(intercept).all())


def is_curve(knots: FloatArray, values: FloatArray) -> bool:
    """Return whether the knots are strictly increasing and have one finite value each."""
    same_length = len(vector(knots)) == len(vector(values))
    return same_length and bool(np.all(np.diff(knots) > 0) and np.isfinite(values).all())


def are_levels(*arrays: FloatArray) -> bool:
    """Return whether all have the same length and are strictly increasing between 0 and 1."""
    inside = all(np.all(np.diff(vector(one), prepend=0.0, append=1.0) > 0) for one in arrays)
    return inside and len({len(one) for one in arrays}) == 1


AFFINE = Rule(("coef_", "intercept_"), _affine, "must be finite, with one row per class")
TEMPERATURE = Rule(("temperature_",), is_positive, "must be a positive number")
RISING_STEPS = "must have the same length and be non-decreasing, and the last must hold probabilities"
STEPS = "must be non-decreasing edges, and one probability per bin"
CURVE = "must be strictly increasing knots, with one finite value each"


def _columns(names: NDArray[np.generic], classes: NDArray[np.generic]) -> bool:
    return names.dtype.kind == "U" and names.shape in ((1,), classes.shape) and len(set(names.tolist())) == len(names)


DIAGNOSTICS = (
    Rule(("converged_",), lambda v: isinstance(v, bool), "must be true or false"),
    Rule(("gradient_norm_",), are_not_negative, "must not be negative"),
    Rule(("feature_names_in_", "classes_"), _columns, "must be distinct names, one per column"),
    Rule(("n_iter_",), lambda v: isinstance(v, int) and not isinstance(v, bool) and v >= 0, "must be a count"),
)
"""Conditions on the diagnostics of an optimiser and on column names, where a calibrator has them."""


def check_learnt(calibrator: "Estimator") -> None:
    """Refuse learnt attributes that violate the rules of their class, here and in the calibrators inside."""
    for name, value in vars(calibrator).items():
        is_float = isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")
        if is_float and np.isnan(value).any():
            raise InputError(f"{name} of {type(calibrator).__name__} must not hold NaN, but does.")
        for inner in value if isinstance(value, list) else [value]:
            if name.endswith("_") and hasattr(inner, "rules"):
                check_learnt(inner)
    # With more than two classes, the maps of a binary calibrator are in `lifted_`.
    is_lifted = hasattr(calibrator, "lifted_")
    own = [one for one in calibrator.rules if not is_lifted or any(hasattr(calibrator, name) for name in one.names)]
    for rule in (*own, *(one for one in DIAGNOSTICS if hasattr(calibrator, one.names[0]))):
        _check_rule(calibrator, rule)


def _check_rule(calibrator: "Estimator", rule: Rule) -> None:
    try:
        sound = bool(rule.holds(*(getattr(calibrator, attribute) for attribute in rule.names)))
    except (AttributeError, TypeError, ValueError, IndexError):
        sound = False
    if not sound:
        raise InputError(f"{' and '.join(rule.names)} of {type(calibrator).__name__} {rule.words}.")
