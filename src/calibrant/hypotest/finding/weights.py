"""Weights that depend on the labels: tests that redraw labels and keep the weights are then only approximate."""

import numpy as np

from calibrant.predictions import Predictions

KEY = "weights follow labels"

FEWEST = 2
"""In a class with fewer rows, equal weights show nothing."""


def mark(predictions: Predictions) -> Predictions:
    """Mark the weights as derived from the labels."""
    predictions.once(KEY, lambda: True)
    return predictions


def weights_follow_labels(predictions: Predictions) -> bool:
    """Return whether weights are marked as derived from labels, or are constant within classes and differ between them.

    Examples
    --------
    >>> p = [0.2, 0.4, 0.6, 0.9]
    >>> weights_follow_labels(Predictions(p, [0, 0, 1, 1], [1, 1, 3, 3]))
    True
    >>> weights_follow_labels(Predictions(p, [0, 1, 0, 1], [1, 1, 3, 3]))
    False
    """
    return predictions.once(KEY, lambda: _follow(predictions))


def _follow(predictions: Predictions) -> bool:
    if predictions.copies is not None or predictions.has_equal_weights:
        return False
    present = predictions.weights > 0
    labels, weights = predictions.labels[present], predictions.weights[present]
    if np.ptp(weights) == 0:
        return False
    counts = np.bincount(labels)
    means = np.bincount(labels, weights)[labels] / counts[labels]
    return bool(counts[counts > 0].min() >= FEWEST and np.allclose(weights, means, rtol=1e-9, atol=0))
