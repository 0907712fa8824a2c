"""Calibrated predictions for every row by calibrators that were not fitted to it."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from calibrant._typing import BoolArray, FloatArray, IntArray
from calibrant.advice.rule import has_impossible_labels
from calibrant.calibrators import Calibrator, StackedCalibration
from calibrant.calibrators.blocks import keep_argmax, log_softmax
from calibrant.calibrators.ensemble import mixture
from calibrant.calibrators.estimator import clone
from calibrant.calibrators.scaling import SMALLEST_LOG_PROB
from calibrant.calibrators.shared_stages import SharedStages
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
    return cross_fit_all({"": calibrator}, predictions, folds, tick)[""]


def cross_fit_all(
    calibrators: Mapping[str, Calibrator], predictions: Predictions, folds: list[IntArray], tick: Callable[[], None]
) -> dict[str, OutOfFold]:
    """Calibrate every fold by what the other folds teach, with several calibrators; `tick` is called after each fold.

    Notes
    -----
    Compositions that begin alike share what they begin with, and the fits without one fold begin where those without
    the first one ended.

    A `StackedCalibration` is not fitted as a whole. Its members calibrate every fold as other candidates do, and the
    weights for a fold are the best ones for what the members say of the rows of the *other* folds, for each of which
    they were fitted without that row's fold. So no label of a fold has a part in the members that are applied to it,
    nor is it among the labels that its weights were chosen for. What is left: the members whose predictions of the
    other folds were compared had seen this one, and so a few weights depend on it. A simulation finds the same loss as
    with a nested cross-validation (tests/advice/test_advice.py).
    """
    taken_apart = {name: _members(one, predictions) for name, one in calibrators.items()}
    outputs = _cross_fitted(taken_apart, predictions, folds, tick)
    found = {}
    for name, calibrator in calibrators.items():
        log_probs, converged = outputs[name]
        whole = _mixed(calibrator, log_probs, predictions, folds) if len(log_probs) > 1 else log_probs[0]
        found[name] = OutOfFold(_as_predictions(calibrator, whole, predictions), converged)
    return found


def _cross_fitted(
    named: Mapping[str, list[Calibrator]], predictions: Predictions, folds: list[IntArray], tick: Callable[[], None]
) -> dict[str, tuple[list[FloatArray], bool]]:
    """Return for every name the log-probabilities by its members, (n, K) each, and whether all have converged."""
    members = [member for own in named.values() for member in own]
    outputs = [np.empty_like(predictions.probs) for _ in members]
    converged = np.ones(len(members), dtype=bool)
    near: SharedStages | None = None
    for rows in folds:
        others = _without(rows, predictions.n_samples)
        stages = SharedStages(members, near)
        stages.learn(predictions.log_probs[others], predictions.labels[others], predictions.weights[others])
        for j, result in enumerate(stages.transform(predictions.log_probs[rows])):
            outputs[j][rows] = result
            converged[j] &= stages.converged(j)
        near = near or stages
        tick()
    found, start = {}, 0
    for name, own in named.items():
        mine = slice(start, start + len(own))
        found[name] = outputs[mine], bool(converged[mine].all())
        start += len(own)
    return found


def _without(rows: IntArray, n_rows: int) -> BoolArray:
    """Mark the rows of the other folds."""
    others = np.ones(n_rows, dtype=bool)
    others[rows] = False
    return others


def _members(calibrator: Calibrator, predictions: Predictions) -> list[Calibrator]:
    """Return the members of a stack, unless its treatment of zeros comes before them, or the calibrator itself."""
    if isinstance(calibrator, StackedCalibration) and not has_impossible_labels(predictions):
        return calibrator.members_for(predictions.n_classes)
    return [calibrator]


def _mixed(stack: Calibrator, outputs: list[FloatArray], predictions: Predictions, folds: list[IntArray]) -> FloatArray:
    """Mix the predictions of every fold with the weights that are best for the other folds."""
    assert isinstance(stack, StackedCalibration)  # noqa: S101 (nothing else has several outputs)
    each = np.arange(predictions.n_samples)
    own = np.column_stack([log_probs[each, predictions.labels] for log_probs in outputs])
    own = np.maximum(own, SMALLEST_LOG_PROB)
    members, result = stack.members_for(predictions.n_classes), np.empty_like(predictions.probs)
    for rows in folds:
        others = _without(rows, predictions.n_samples)
        masses = predictions.weights[others]
        weights = stack.best_weights(members, own[others], masses, float(masses.sum())).weights
        kept = np.flatnonzero(weights)
        result[rows] = mixture(weights[kept].tolist(), (outputs[j][rows] for j in kept))
    return log_softmax(result, out=result)


def _as_predictions(calibrator: Calibrator, log_probs: FloatArray, predictions: Predictions) -> Predictions:
    with np.errstate(under="ignore"):
        probs = keep_argmax(log_probs, np.exp(log_probs))
    if calibrator.preserves_argmax:
        keep_argmax(predictions.probs, probs)
    return Predictions._trusted(  # noqa: SLF001 (rows of calibrated predictions)
        probs, predictions.labels, predictions.weights, predictions.classes, log_probs
    )
