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
    labels, k = predictions.labels, predictions.n_classes
    weights = predictions.weights / predictions.weights.max()  # So that the sum of huge ones does not overflow.
    total = weights.sum()
    counts = np.bincount(labels[weights > 0], minlength=k).tolist()
    observed = (np.bincount(labels, weights, minlength=k) / total).tolist()
    predicted = (weights @ predictions.probs / total).tolist()
    errors = ECE().class_values(predictions).tolist()
    rows = zip(map(str, predictions.classes), counts, predicted, observed, errors, strict=True)
    return tuple(
        ClassSummary(name=name, n_observed=count, predicted=mean, observed=share, error=error)
        for name, count, mean, share, error in rows
    )
