"""How large the calibration error is: one number, its limits, and its size by chance."""

from typing import Literal, NamedTuple

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.hypotest import ConsistencyTest
from calibrant.intervals.methods import known_interval
from calibrant.metrics import METRICS
from calibrant.predictions import Predictions
from calibrant.resampling.bootstrap import Bootstrap

SIZE = "rms-debiased"
"""Name of the metric for the size of the error: the only calibration error with limits that are known to cover."""

CONFIDENCE = 0.95
"""Level of all limits in an assessment."""

NO_RESAMPLING = Bootstrap(1)
"""For limits by formulas, which resample nothing."""

WITHIN, BEYOND, UNKNOWN = "within tolerance", "beyond tolerance", "not known"


class Size(NamedTuple):
    """The error with its limits, or the reason why it has none; its mean, 95% quantile and draws by chance."""

    error: float
    low: float | None
    high: float | None
    reason: str
    expected: float
    detectable: float
    null: FloatArray


class ClassSize(NamedTuple):
    """The error of one class against the rest, with its limits if they are known to cover."""

    name: str
    error: float
    low: float | None
    high: float | None


def class_size(predictions: Predictions, c: int) -> ClassSize:
    """Measure one class against the rest."""
    view = predictions.one_vs_rest(c)
    error = METRICS[SIZE](view)
    low, high, _ = _limits(view, error)
    return ClassSize(str(predictions.classes[c]), error, low, high)


def measure_size(predictions: Predictions, n_resamples: int, rng: np.random.Generator) -> Size:
    """Measure the error of P(class 1), or of the confidence with more than two classes, and its size by chance."""
    metric = METRICS[SIZE]
    # The error of the confidence needs only whether the predicted class is right, which is faster to draw than a label.
    null: Literal["full", "top-label"] = "full" if predictions.n_classes == 2 else "top-label"
    redrawn = ConsistencyTest(metric, n_resamples, null)(predictions, rng=rng)
    error = float(redrawn.statistic)
    low, high, reason = _limits(predictions, error)
    expected, detectable = redrawn.details["expected"], redrawn.details["detectable"]
    return Size(error, low, high, reason, expected, detectable, np.asarray(redrawn.null))


def _limits(predictions: Predictions, error: float) -> tuple[float | None, float | None, str]:
    """Return the limits of the error, or the reason why it has none."""
    rng = np.random.default_rng(0)  # Nothing is drawn.
    known = known_interval(predictions, METRICS[SIZE], error, CONFIDENCE, NO_RESAMPLING, rng, null=None)
    return (None, None, "") if known is None else (known.low, known.high, known.reason)


def compare_with(tolerance: float, low: float | None, high: float | None) -> str:
    """Say whether limits lie within the tolerance, beyond it, or neither.

    Examples
    --------
    >>> compare_with(0.02, 0.0, 0.015), compare_with(0.02, 0.03, 0.05), compare_with(0.02, 0.01, 0.03)
    ('within tolerance', 'beyond tolerance', 'not known')
    """
    if low is None or high is None:
        return UNKNOWN
    return WITHIN if high <= tolerance else BEYOND if low > tolerance else UNKNOWN
