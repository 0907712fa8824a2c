"""Whether there are enough rows of the kind that limits depend on."""

from typing import Any

import numpy as np

from calibrant._typing import FloatArray
from calibrant.bootstrap import Bootstrap
from calibrant.intervals.kernel import is_known
from calibrant.metrics import Metric
from calibrant.predictions import Predictions

FEWEST = 10
"""So many wrong rows must be expected for any limits, and of the rarer outcome for those of the calibration slope."""

MANY = 50
"""With so many that happened, what was expected does not matter; limits of kernel calibration errors need so many."""

FEWEST_DIFFERENT = 20
"""So many rows must differ in their score for limits of a difference of means."""

FEWEST_CLUSTERS = 30
"""So many clusters are needed where rows are drawn by cluster."""

FEWEST_PAIRED = 1000
"""So many rows are needed for limits of kernel calibration errors."""


def what_is_missing(method: str, metric: Metric, data: Any, bootstrap: Bootstrap) -> str:
    """Say what limits by the method need to be known to cover, if these data lack it; otherwise nothing."""
    if not isinstance(data, Predictions):
        return "they were simulated for predictions of classes only"
    if method in ("debiased", "law") and bootstrap.clusters is not None:
        return "they are for independent rows, not for clusters"
    if not has_clusters(bootstrap):
        return f"at least {FEWEST_CLUSTERS} clusters are needed"
    if method == "law" and not is_known(metric, data):
        return "they are for rows of equal weight, in one block and without random features"
    if method == "law" and data.n_samples < FEWEST_PAIRED:
        return f"at least {FEWEST_PAIRED} rows are needed, but there are {data.n_samples}"
    return _too_few(method, metric, data)


def _too_few(method: str, metric: Metric, data: Predictions) -> str:
    fewest = MANY if method == "law" else FEWEST
    if not has_wrong_rows(data, fewest):
        kind = "wrong rows"
    elif method == "bca" and not has_both_outcomes(metric, data):
        kind = "rows of the rarer outcome"
    else:
        return ""
    return f"at least {fewest} {kind} must be expected from the predictions, or {MANY} be there, but there are fewer"


def has_clusters(bootstrap: Bootstrap) -> bool:
    """Whether there are enough clusters, or none are asked for."""
    return bootstrap.clusters is None or len(np.unique(bootstrap.clusters)) >= FEWEST_CLUSTERS


def has_wrong_rows(data: Predictions, fewest: int = FEWEST) -> bool:
    """Whether enough rows are expected to be wrong, in that the most probable class is not the label.

    What is expected decides, and not what happened unless that is plenty: limits that are given only if by chance there
    were many of a rare kind would miss too often.
    """
    return _is_enough(data, 1 - data.probs.max(axis=1), data.predicted != data.labels, fewest)


def has_both_outcomes(metric: Metric, data: Predictions) -> bool:
    """Whether there are enough rows of either outcome, for what is a number of an event."""
    if metric.measures != "calibration":
        return True
    view = metric.view(data)
    return all(_is_enough(view, expected, view.labels == label) for label, expected in enumerate(view.probs.T))


def _is_enough(data: Predictions, expected: FloatArray, happened: Any, fewest: int = FEWEST) -> bool:
    """Whether so many rows are expected, or `MANY` happened; with weights, in units of Kish's effective number."""
    shares = data.weights / data.weights.sum()
    rows = 1 / float(shares @ shares)
    return round(rows * float(shares @ expected), 6) >= fewest or round(rows * float(shares @ happened), 6) >= MANY
