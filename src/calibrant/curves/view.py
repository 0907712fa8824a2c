"""Data of a reliability curve: the binary view of predictions, and histograms of the predictions."""

from typing import Literal

import numpy as np

from calibrant._border.types import BoolArray, FloatArray, IntArray
from calibrant.binning.class_sums import class_sums_below, column_sums
from calibrant.predictions import Predictions, check_predictions
from calibrant.results import OutcomeHistogram

CELLS_AT_ONCE = 2**20
"""Number of positions assigned to cells at a time, so that no array as large as all predictions is made."""


def binary_view(predictions: Predictions) -> tuple[Predictions, Literal["class", "top-label"]]:
    """Return predictions of two classes as they are, of more as confidence against correctness, and the view's name."""
    check_predictions(predictions)
    if predictions.n_classes == 2:
        return predictions, "class"
    return predictions.top_label(), "top-label"


def cells_around(
    points: FloatArray, positions: FloatArray, weights: FloatArray, copies: FloatArray | None = None
) -> tuple[FloatArray, FloatArray, IntArray, FloatArray]:
    """Cut [0, 1] halfway between points; return the ends of the cells, and the number and weight of positions in each.

    Positions are (n,), or (n, K) with the weight of their row. With copies, each row counts as that many.
    """
    between = (points[1:] + points[:-1]) / 2
    positions = positions.reshape(len(weights), -1)
    ends = np.concatenate([[0.0], between]), np.concatenate([between, [1.0]])
    if positions.shape[1] > 1 and np.all(weights == 1):
        mass = column_sums(positions, weights, between)[:, 0].sum(axis=0)
        return *ends, mass.astype(np.int64), mass
    count, weight = np.zeros(len(points), dtype=np.int64), np.zeros(len(points))
    step = max(1, CELLS_AT_ONCE // positions.shape[1])
    for first in range(0, len(weights), step):
        some = weights[first : first + step]
        cell = np.searchsorted(between, positions[first : first + step])
        count += np.bincount(cell[some > 0].ravel(), minlength=len(points))
        weight += np.bincount(cell.ravel(), np.repeat(some, cell.shape[1]), len(points))
    if copies is not None:
        count = np.bincount(np.searchsorted(between, positions[:, 0]), copies, len(points)).astype(np.int64)
    return *ends, count, weight


HISTOGRAM_BINS = 40


def outcome_histogram(view: Predictions) -> OutcomeHistogram:
    """Return the weight of the rows in equal intervals of the predicted probability, by outcome."""
    return outcome_histograms(view.positive[:, None], (view.labels == 1)[:, None], view.weights)[0]


def outcome_histograms(positions: FloatArray, events: BoolArray, weights: FloatArray) -> list[OutcomeHistogram]:
    """Return the histogram of `outcome_histogram` for each column of predictions and events, (n, m).

    Intervals contain their lower end, the last one both ends. Weights are added in the order of the rows.
    """
    edges = np.linspace(0.0, 1.0, HISTOGRAM_BINS + 1)
    m = positions.shape[1]
    cell = _interval(positions, edges) + HISTOGRAM_BINS * (2 * np.arange(m) + events)
    spread = np.broadcast_to(weights[:, None], cell.shape)
    sums = np.bincount(cell.ravel(), weights=spread.ravel(), minlength=2 * m * HISTOGRAM_BINS)
    parts = sums.reshape(m, 2, HISTOGRAM_BINS)
    return [OutcomeHistogram(edges=edges, positives=positives, negatives=negatives) for negatives, positives in parts]


def class_histograms(predictions: Predictions) -> list[OutcomeHistogram]:
    """Return the histogram of `outcome_histogram` for each class against the rest; all weights must be 1."""
    edges = np.linspace(0.0, 1.0, HISTOGRAM_BINS + 1)
    sums = class_sums_below(predictions, np.nextafter(edges[1:-1], 0.0))
    return [
        OutcomeHistogram(edges=edges, positives=positives, negatives=mass - positives) for mass, _, positives in sums
    ]


def _interval(positions: FloatArray, edges: FloatArray) -> IntArray:
    last = len(edges) - 2
    index = np.minimum((positions * (last + 1)).astype(np.int64), last)
    index -= positions < edges[index]  # A product may be rounded across an edge.
    index += (positions >= edges[index + 1]) & (index != last)
    return index
