"""Whether there are enough rows of the kind that limits depend on."""

from typing import Any

from calibrant._typing import FloatArray
from calibrant.metrics import Metric
from calibrant.predictions import Predictions

FEWEST = 10
"""So many wrong rows must be expected for any limits, and of the rarer outcome for those of the calibration slope."""

MANY = 50
"""With so many that happened, what was expected does not matter."""


FEWEST_PAIRED = 1000
"""So many rows are needed for limits of kernel calibration errors."""


def what_is_missing(method: str, metric: Metric, data: Any) -> str | None:
    """Say where limits by the method are known to cover, if these data are not of that kind; otherwise None."""
    if not isinstance(data, Predictions):
        return "for predictions of classes only, as they were not simulated for others"
    if not has_wrong_rows(data):
        return _too_few("wrong rows")
    if method == "law" and data.n_samples < FEWEST_PAIRED:
        return f"from {FEWEST_PAIRED} rows on, but there are {data.n_samples}"
    return _too_few("rows of the rarer outcome") if method == "bca" and not has_both_outcomes(metric, data) else None


def _too_few(kind: str) -> str:
    return (
        f"if at least {FEWEST} {kind} are expected from the predictions, or {MANY} are there, but there are fewer. "
        "More rows are needed"
    )


def has_wrong_rows(data: Predictions) -> bool:
    """Whether enough rows are expected to be wrong, in that the most probable class is not the label.

    What is expected decides, and not what happened unless that is plenty: limits that are given only if by chance there
    were many of a rare kind would miss too often.
    """
    return _is_enough(data, 1 - data.probs.max(axis=1), data.predicted != data.labels)


def has_both_outcomes(metric: Metric, data: Predictions) -> bool:
    """Whether there are enough rows of either outcome, for what is a number of an event."""
    if metric.measures != "calibration":
        return True
    view = metric.view(data)
    return all(_is_enough(view, expected, view.labels == label) for label, expected in enumerate(view.probs.T))


def _is_enough(data: Predictions, expected: FloatArray, happened: Any) -> bool:
    """Whether `FEWEST` rows are expected, or `MANY` happened; with weights, in units of Kish's effective number."""
    shares = data.weights / data.weights.sum()
    rows = 1 / float(shares @ shares)
    return round(rows * float(shares @ expected), 6) >= FEWEST or round(rows * float(shares @ happened), 6) >= MANY
