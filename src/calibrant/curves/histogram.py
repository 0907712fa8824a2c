"""How predictions are spread, by outcome."""

import numpy as np

from calibrant._typing import BoolArray, FloatArray, IntArray
from calibrant.predictions import Predictions
from calibrant.results import OutcomeHistogram

HISTOGRAM_BINS = 40


def outcome_histogram(view: Predictions) -> OutcomeHistogram:
    """Return the weight of the rows in equal intervals of the predicted probability, by outcome."""
    return outcome_histograms(view.positive[:, None], (view.labels == 1)[:, None], view.weights)[0]


def outcome_histograms(positions: FloatArray, events: BoolArray, weights: FloatArray) -> list[OutcomeHistogram]:
    """Return the same for each column of predictions and of events, (n, m).

    Intervals contain their lower end, the last one both ends. Weights are added in the order of the rows.
    """
    edges = np.linspace(0.0, 1.0, HISTOGRAM_BINS + 1)
    m = positions.shape[1]
    cell = _interval(positions, edges) + HISTOGRAM_BINS * (2 * np.arange(m) + events)
    spread = np.broadcast_to(weights[:, None], cell.shape)
    sums = np.bincount(cell.ravel(), weights=spread.ravel(), minlength=2 * m * HISTOGRAM_BINS)
    parts = sums.reshape(m, 2, HISTOGRAM_BINS)
    return [OutcomeHistogram(edges=edges, positives=positives, negatives=negatives) for negatives, positives in parts]


def _interval(positions: FloatArray, edges: FloatArray) -> IntArray:
    last = len(edges) - 2
    index = np.minimum((positions * (last + 1)).astype(np.int64), last)
    index -= positions < edges[index]  # A product may be rounded across an edge.
    index += (positions >= edges[index + 1]) & (index != last)
    return index
