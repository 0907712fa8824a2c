"""Labelled predictions as they would be where the event is rarer, or more frequent."""

import numpy as np

from calibrant.calibrators.prior_shift import as_rates, log_ratios
from calibrant.counts import class_shares
from calibrant.exceptions import InputError
from calibrant.hypotest.finding.weights import mark
from calibrant.predictions import Predictions, check_predictions


def move_base_rate(predictions: Predictions, base_rate: object) -> Predictions:
    """Return predictions, and weights of their rows, for another base rate.

    The probabilities are corrected, as `PriorShift` does, and the rows of each class are weighted so that the labels
    have the new base rate. What is then measured is what is to be expected there, if each class looks as it does here.

    Parameters
    ----------
    predictions : Predictions
        Calibrated, or to be judged, for the base rate of their own labels.
    base_rate : float, or sequence of length K
        The new share of class 1 of two classes, or of every class.

    Returns
    -------
    Predictions

    Examples
    --------
    >>> p = Predictions([0.8, 0.3, 0.2, 0.7], labels=[1, 0, 0, 1])
    >>> moved = move_base_rate(p, 0.1)
    >>> float(np.average(moved.labels, weights=moved.weights)).__round__(6), moved.positive.round(4).tolist()
    (0.1, [0.3077, 0.0455, 0.027, 0.2059])
    """
    check_predictions(predictions)
    found = class_shares(predictions)
    if not np.all(found > 0):
        missing = predictions.classes[int(np.flatnonzero(found <= 0)[0])]
        raise InputError(
            f"another base rate needs rows of every class, but class {missing!r} has none. Add rows of it."
        )
    new = as_rates(base_rate, predictions.n_classes, "base_rate")
    ratios = log_ratios(found, new)
    weights = predictions.weights * np.exp(ratios)[predictions.labels]
    return mark(
        Predictions.from_logits(
            predictions.log_probs + ratios, predictions.labels, weights, classes=predictions.classes
        )
    )
