"""Calibrators: scikit-learn estimators from scores to calibrated probabilities."""

from collections.abc import Callable

from calibrant.calibrators.base import Calibrator, calibrate
from calibrant.calibrators.scaling import Identity, TemperatureScaling

__all__ = ["CALIBRATORS", "Calibrator", "Identity", "TemperatureScaling", "calibrate"]

CALIBRATORS: dict[str, Callable[[], Calibrator]] = {
    "identity": Identity,
    "ts": TemperatureScaling,
}
"""Every calibrator by its name on the command line; calling the value builds a fresh estimator."""
