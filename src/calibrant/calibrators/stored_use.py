"""Whether a calibrator that comes from a file turns scores into probabilities."""

import numpy as np

from calibrant._typing import FloatArray
from calibrant.calibrators.base import Calibrator
from calibrant.calibrators.raw_logits import uses_raw_logits
from calibrant.exceptions import InputError


def check_usable(calibrator: Calibrator) -> None:
    """Refuse a calibrator that does not turn scores into probabilities of its classes."""
    classes = getattr(calibrator, "classes_", None)
    name = type(calibrator).__name__
    if not isinstance(classes, np.ndarray) or classes.ndim != 1 or not 2 <= len(classes) == len(np.unique(classes)):
        raise InputError(f"{name} must have at least two different classes.")
    try:
        with np.errstate(all="ignore"):
            probs = _probed(calibrator, len(classes))
    except (AttributeError, TypeError, ValueError, IndexError, KeyError, ArithmeticError) as error:
        raise InputError(f"{name} cannot be used: {str(error)[:200]}") from error
    if probs.shape[1:] != (len(classes),) or not np.all(np.abs(probs.sum(axis=1) - 1) < 1e-9):
        raise InputError(f"{name} does not give {len(classes)} probabilities that sum to 1.")


def _probed(calibrator: Calibrator, k: int) -> FloatArray:
    """Return what the calibrator makes of some rows: uniform, certain, and in between."""
    if calibrator.scores == "raw":
        return calibrator.predict_proba(np.linspace(-3.0, 3.0, 7))
    if uses_raw_logits(calibrator):
        return calibrator.predict_proba(np.vstack([np.zeros((1, k)), 9.0 * np.eye(min(k, 100), k) - 5.0]))
    certain = np.eye(k)[sorted({0, 1, k // 2, k - 1})] if k < 10**4 else np.empty((0, k))
    probs = np.vstack([np.full((1, k), 1 / k), certain, 0.5 * certain + 0.5 / k])
    scores = np.log(probs) if calibrator.scores == "logits" else probs
    return calibrator.predict_proba(scores)
