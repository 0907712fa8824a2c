"""What must hold for a calibrator that comes from a file: what it has learnt, and its output for scores."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from calibrant._border.types import FloatArray
from calibrant.calibrators.calibrator import Calibrator
from calibrant.calibrators.estimator import Estimator
from calibrant.calibrators.raw_logits import uses_raw_logits
from calibrant.calibrators.rules import Rule, are_not_negative
from calibrant.exceptions import InputError


def _columns(names: NDArray[np.generic], classes: NDArray[np.generic]) -> bool:
    return names.dtype.kind == "U" and names.shape in ((1,), classes.shape) and len(set(names.tolist())) == len(names)


_REPORT = (
    Rule(("converged_",), lambda v: isinstance(v, bool), "must be true or false"),
    Rule(("gradient_norm_",), are_not_negative, "must not be negative"),
    Rule(("feature_names_in_", "classes_"), _columns, "must be distinct names, one per column"),
    Rule(("n_iter_",), lambda v: isinstance(v, int) and not isinstance(v, bool) and v >= 0, "must be a count"),
)
"""What holds for every optimiser that reports how it went, and for names of columns."""


def check_learnt(calibrator: Estimator) -> None:
    """Refuse learnt attributes that no fit can give, here and in the calibrators inside, by the rules of classes."""
    for name, value in vars(calibrator).items():
        is_float = isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")
        if is_float and np.isnan(value).any():
            raise InputError(f"{name} of {type(calibrator).__name__} must not hold NaN, but does.")
    for inner in _inner(calibrator):
        check_learnt(inner)
    # With more than two classes, the maps of a calibrator of two classes are in the lift.
    is_lifted = hasattr(calibrator, "lifted_")
    for rule in calibrator.rules:
        if not is_lifted or any(hasattr(calibrator, name) for name in rule.names):
            _check_rule(calibrator, rule)
    for rule in _REPORT:
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
    """Refuse a calibrator that does not turn scores into probabilities of its classes."""
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
        raise InputError(f"{name} does not give {len(classes)} probabilities that sum to 1.")


def _trial_scores(calibrator: Calibrator, k: int) -> FloatArray:
    """Return some rows to try: uniform, certain, and in between."""
    if calibrator.scores == "raw":
        return np.linspace(-3.0, 3.0, 7)
    if uses_raw_logits(calibrator):
        return np.vstack([np.zeros((1, k)), 9.0 * np.eye(min(k, 100), k) - 5.0])
    certain = np.eye(k)[sorted({0, 1, k // 2, k - 1})] if k < 10**4 else np.empty((0, k))
    probs = np.vstack([np.full((1, k), 1 / k), certain, 0.5 * certain + 0.5 / k])
    return np.log(probs) if calibrator.scores == "logits" else probs
