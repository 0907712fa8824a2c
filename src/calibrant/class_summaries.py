"""What a report says of each class."""

import numpy as np

from calibrant.metrics import ECE
from calibrant.predictions import Predictions
from calibrant.results import ClassSummary


def class_summaries(predictions: Predictions) -> tuple[ClassSummary, ...]:
    """Return how often each class is predicted and observed, and its calibration error against the rest.

    Examples
    --------
    >>> first, *_ = class_summaries(Predictions([[0.5, 0.2, 0.3], [0.7, 0.2, 0.1]] * 2, labels=[0, 1] * 2))
    >>> first.name, first.n_observed, round(first.predicted, 3), first.observed
    ('0', 2, 0.6, 0.5)
    """
    labels, weights, k = predictions.labels, predictions.weights, predictions.n_classes
    total = weights.sum()
    counts = np.bincount(labels[weights > 0], minlength=k).tolist()
    observed = [float(np.average(labels == c, weights=weights)) if counts[c] else 0.0 for c in range(k)]
    predicted = [float(np.multiply(column, weights).sum() / total) for column in predictions.probs.T]
    errors = ECE().class_values(predictions).tolist()
    rows = zip(map(str, predictions.classes), counts, predicted, observed, errors, strict=True)
    return tuple(
        ClassSummary(name=name, n_observed=count, predicted=mean, observed=share, error=error)
        for name, count, mean, share, error in rows
    )
