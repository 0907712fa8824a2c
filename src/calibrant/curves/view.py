"""What a reliability curve is drawn of: an event, its predicted probability, and how the predictions are spread."""

from typing import Literal

import numpy as np

from calibrant._typing import FloatArray, IntArray
from calibrant.predictions import Predictions, check_predictions


def binary_view(predictions: Predictions) -> tuple[Predictions, Literal["class", "top-label"]]:
    """Return two classes as they are, and more as confidence against correctness; and which of both it is."""
    check_predictions(predictions)
    if predictions.n_classes == 2:
        return predictions, "class"
    return predictions.top_label(), "top-label"


def cells_around(
    points: FloatArray, positions: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray, IntArray, FloatArray]:
    """Cut [0, 1] halfway between points; return the ends of the cells, and the number and weight of rows in each."""
    between = (points[1:] + points[:-1]) / 2
    cell = np.searchsorted(between, positions)
    count = np.bincount(cell[weights > 0], minlength=len(points)).astype(np.int64)
    weight = np.bincount(cell, weights=weights, minlength=len(points)).astype(np.float64)
    return np.concatenate([[0.0], between]), np.concatenate([between, [1.0]]), count, weight
