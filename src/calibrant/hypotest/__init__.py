"""Tests of calibration: frozen settings called on `Predictions`."""

from calibrant.hypotest.base import CalibrationTest
from calibrant.hypotest.consistency import ConsistencyTest

__all__ = ["TESTS", "CalibrationTest", "ConsistencyTest"]

TESTS: dict[str, CalibrationTest] = {
    "consistency": ConsistencyTest(),
}
"""Every test by its name on the command line and in reports."""
