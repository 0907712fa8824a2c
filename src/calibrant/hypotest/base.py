"""What every calibration test is: frozen settings, called on data."""

from abc import ABC, abstractmethod

from calibrant._typing import Progress, Rng
from calibrant.predictions import Predictions
from calibrant.results import TestResult


class CalibrationTest(ABC):
    """A test of the hypothesis that the predictions are calibrated; large statistics speak against it."""

    @abstractmethod
    def __call__(self, predictions: Predictions, rng: Rng = None, *, progress: Progress | None = None) -> TestResult:
        """Run the test."""
