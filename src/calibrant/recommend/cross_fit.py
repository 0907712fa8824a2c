"""Calibrated predictions for every row by calibrators that were not fitted to it."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from calibrant._typing import IntArray
from calibrant.calibrators import Calibrator, calibrate
from calibrant.predictions import Predictions


class OutOfFold(NamedTuple):
    """Predictions for all rows, and whether every fold's optimiser reached its optimum."""

    predictions: Predictions
    converged: bool


def draw_folds(predictions: Predictions, n_folds: int, rng: np.random.Generator) -> list[IntArray]:
    """Divide the rows at random into parts that hold about the same share of every class."""
    shuffled = rng.permutation(predictions.n_samples)
    by_label = shuffled[np.argsort(predictions.labels[shuffled], kind="stable")]
    return [np.sort(by_label[start::n_folds]) for start in range(n_folds)]


def fitted(calibrator: Calibrator, predictions: Predictions) -> Calibrator:
    """Return a copy of the calibrator that is fitted to the predictions."""
    copy: Calibrator = clone(calibrator)
    copy.classes_ = np.array(predictions.classes)  # As `fit` does, which would check and warn once more.
    return copy.learn(predictions.log_probs, predictions.labels, predictions.weights)


def cross_fit(
    calibrator: Calibrator, predictions: Predictions, folds: list[IntArray], tick: Callable[[], None]
) -> OutOfFold:
    """Calibrate every fold by what the other folds teach; `tick` is called after each."""
    probs, log_probs = np.empty_like(predictions.probs), np.empty_like(predictions.probs)
    converged = True
    for rows in folds:
        others = np.ones(predictions.n_samples, dtype=bool)
        others[rows] = False
        fit = fitted(calibrator, predictions.take(others))
        part = calibrate(fit, predictions.take(rows))
        probs[rows], log_probs[rows] = part.probs, part.log_probs
        converged &= bool(getattr(fit, "converged_", True))
        tick()
    whole = Predictions._trusted(  # noqa: SLF001 (rows of calibrated predictions)
        probs, predictions.labels, predictions.weights, predictions.classes, log_probs
    )
    return OutOfFold(whole, converged)
