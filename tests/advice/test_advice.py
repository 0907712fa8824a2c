"""Whether the advice is honest: what a stack is judged by, and what calibrated predictions are told."""

import numpy as np
import pytest

from calibrant import recommend
from calibrant.advice.cross_fit import cross_fit, draw_folds, fitted
from calibrant.calibrators import (
    CALIBRATORS,
    MatrixScaling,
    StackedCalibration,
    TemperatureScaling,
    VectorScaling,
    calibrate,
)
from calibrant.calibrators.combinations.folds import Unseen
from calibrant.calibrators.combinations.shared_stages import SharedStages
from calibrant.metrics import NLL
from calibrator_cases import EVERY_CALIBRATOR
from simulate import at_least, calibrated, sharpened


@pytest.fixture(scope="module")
def few_folds():
    """Let stacks have two folds instead of ten: the same code in less time."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("stack", "stack-order"):
            patch.setitem(CALIBRATORS, name, EVERY_CALIBRATOR[name])
        yield


def members_of(stack, predictions, rows):
    """Members of a stack, fitted to some rows from the beginning."""
    stages = SharedStages(stack.members_for(predictions.n_classes, predictions.n_samples))
    stages.learn(predictions.log_probs[rows], predictions.labels[rows], predictions.weights[rows])
    return stages


def nested(stack, p, folds):
    """Calibrated log-probabilities: for every fold, all that is done without it begins anew."""
    result = np.empty_like(p.probs)
    for rows in folds:
        outside = [other for other in folds if other is not rows]
        inner = []
        for other in outside:
            known = np.concatenate([one for one in outside if one is not other])
            inner.append(list(members_of(stack, p, known).transform(p.log_probs[other])))
        outputs = [np.concatenate(parts) for parts in zip(*inner, strict=True)]
        at = np.concatenate(outside)
        mixed = stack.mixed(Unseen(outputs, p.labels[at], p.weights[at]), p.weights[at].sum())
        result[rows] = mixed.transform(list(members_of(stack, p, at).transform(p.log_probs[rows])))
    return result


@pytest.mark.parametrize("k", [2, 4])
def test_with_few_rows_a_stack_is_judged_by_nested_cross_validation(k):
    p = sharpened(calibrated(n=150, k=k, seed=0), 0.6)
    folds = draw_folds(p, 3, np.random.default_rng(0))
    stack = StackedCalibration(n_folds=3)
    found = cross_fit(stack, p, folds, lambda: None)
    assert found.predictions.log_probs == pytest.approx(nested(stack, p, folds), abs=1e-4)
    assert np.array_equal(calibrate(found.calibrator, p).probs, calibrate(fitted(stack, p), p).probs)


@pytest.mark.usefixtures("few_folds")
def test_two_folds_are_enough_for_a_stack():
    p = sharpened(calibrated(n=100, k=3, seed=0), 0.4)
    advice = recommend(p, candidates=["ts", "stack"], n_folds=2, rng=0, n_resamples=19)
    assert advice.candidate("stack").loss < advice.candidates[0].loss


def test_with_many_rows_the_shortcut_is_hardly_optimistic(monkeypatch):
    """Weights that depend on the fold they are judged by gain less than .0005; studies have the exact size."""
    monkeypatch.setattr("calibrant.advice.cross_fit.NESTED_ROWS", 0)
    stack, changes = StackedCalibration([TemperatureScaling(), VectorScaling(), MatrixScaling()]), []
    for seed in range(4):  # Of single data sets it is up to .0009, in either direction.
        p = sharpened(calibrated(n=3000, k=3, seed=seed), 0.6)
        folds = draw_folds(p, 3, np.random.default_rng(seed))
        shared = NLL()(cross_fit(stack, p, folds, lambda: None).predictions)
        changes.append(shared + nested(stack, p, folds)[np.arange(3000), p.labels].mean())
    assert np.mean(changes) > -0.0005


@pytest.mark.usefixtures("few_folds")
def test_calibrated_predictions_of_several_classes_are_left_alone():
    """Those of two classes are in test_recommend."""
    advised = (
        recommend(calibrated(n=100, k=4, seed=seed), n_folds=2, rng=seed, n_resamples=99).name for seed in range(4)
    )
    # With a chance of .05 each, more than 1 of 4 has one of .014.
    assert at_least(3, 4, (name == "identity" for name in advised))


@pytest.mark.usefixtures("few_folds")
def test_few_rows_that_are_clearly_over_confident_are_not_left_as_they_are():
    names = [
        recommend(sharpened(calibrated(n=100, k=5, seed=s), 0.3), n_folds=2, rng=0, n_resamples=199).name
        for s in range(2)
    ]
    assert "identity" not in names
