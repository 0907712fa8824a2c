"""What every calibration test is: frozen settings, called on data."""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from calibrant._border.types import FloatArray, Progress, Rng
from calibrant.binning.ties import NEGLIGIBLE
from calibrant.exceptions import InputError
from calibrant.forecasts import Forecasts
from calibrant.hypotest.finding.weights import weights_follow_labels
from calibrant.predictions import Predictions
from calibrant.predictions.two_arrays import as_data
from calibrant.results import Description, TestResult

ROUGH = "Rough here: the weights follow the labels, while the test takes them as fixed."
"""The caution about any test of such rows, as of those that were moved to another base rate."""


class CalibrationTest(ABC):
    """A test of the hypothesis that the predictions are calibrated; large statistics speak against it.

    Weights are relative: each row counts as one independent draw, regardless of its weight, a constant factor changes
    nothing, and rows of weight 0 are left out here, before any test sees the data.

    Attributes
    ----------
    cells : bool
        Whether it is right for the cells of a sketch, whose rows stand for many (`Predictions.copies`).
    takes_forecasts : bool
        Whether it also tests predictive distributions.
    """

    cells: ClassVar[bool] = False
    takes_forecasts: ClassVar[bool] = True

    def about(self) -> Description:
        """Return how it is presented: by the name of its class, unless it says more."""
        return Description(label=type(self).__name__)

    @abstractmethod
    def run(self, data: Any, rng: Rng, progress: Progress | None) -> TestResult:
        """Run the test on rows that all have weight."""

    def __call__(
        self,
        data: object,
        y_prob: object = None,
        sample_weight: object = None,
        *,
        rng: Rng = None,
        progress: Progress | None = None,
    ) -> TestResult:
        """Run the test on predictions or forecasts, or on labels and probabilities."""
        present = _present(as_data(data, y_prob, sample_weight))
        if not self.cells and getattr(present, "copies", None) is not None:
            raise InputError(
                f"{type(self).__name__} needs single rows, which a sketch does not hold. Use OmnibusTest, or the rows."
            )
        return replace(self.run(present, rng, progress), about=self.about_data(present))

    def about_data(self, data: object) -> Description:
        """Return how it is presented for these data, with a caution where weights were made from labels."""
        rough = isinstance(data, Predictions) and weights_follow_labels(data)
        return replace(self.about(), caution=ROUGH) if rough else self.about()


def _present(data: object) -> Any:
    """Return the data without rows of no weight; what is no data is left for the test to refuse."""
    if not isinstance(data, (Predictions, Forecasts)):
        return data
    if isinstance(data, Predictions) and data.has_equal_weights:
        return data
    present = data.weights > NEGLIGIBLE * data.weights.max()
    return data if present.all() else data.take(np.flatnonzero(present))


def check_rows(data: Any, least: int) -> None:
    """Refuse data with too few rows to test."""
    if data.n_samples < least:
        raise InputError(f"the test needs at least {least} rows, but there {_are(data.n_samples)}.")


def _are(n: int) -> str:
    return "is 1" if n == 1 else f"are {n}"


def monte_carlo_pvalue(statistic: float, null: FloatArray) -> float:
    """Return (1 + number of null draws at or above the statistic) / (1 + number of draws): never 0.

    A draw that equals the statistic up to rounding is a tie, and ties count.
    """
    scale = np.abs(null[np.isfinite(null)]).max(initial=0.0)
    reached = null >= statistic - 1e-12 * scale
    return float((1 + reached.sum()) / (1 + len(null)))
