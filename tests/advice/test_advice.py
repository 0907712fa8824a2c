"""Whether the advice is honest: what a stack is judged by, and what calibrated predictions are told."""

import numpy as np
import pytest

from calibrant import recommend
from calibrant.advice.cross_fit import cross_fit, draw_folds, fitted
from calibrant.calibrators import StackedCalibration, calibrate
from calibrant.metrics import NLL
from simulate import calibrated, sharpened


def nested(predictions, folds):
    """The log loss of stacks that are fitted as a whole to all folds but one."""
    parts = []
    for rows in folds:
        others = np.setdiff1d(np.arange(predictions.n_samples), rows)
        stack = fitted(StackedCalibration(), predictions.take(others))
        parts.append(NLL()(calibrate(stack, predictions.take(rows))) * len(rows))
    return sum(parts) / predictions.n_samples


def test_a_stack_is_judged_as_by_nested_cross_validation():
    """The paired difference is not below 0 by more than 3 standard errors, and small: weights hardly see their fold."""
    differences = []
    for seed in range(8):
        p = sharpened(calibrated(n=150, k=4, seed=seed), 0.6)
        folds = draw_folds(p, 5, np.random.default_rng(seed))
        shared = NLL()(cross_fit(StackedCalibration(), p, folds, lambda: None).predictions)
        differences.append(shared - nested(p, folds))
    mean, error = np.mean(differences), np.std(differences, ddof=1) / np.sqrt(8)
    assert mean > -3 * error - 1e-4
    assert abs(mean) < 0.003


@pytest.mark.parametrize("k", [2, 5])
def test_calibrated_predictions_are_left_alone(k):
    advised = [recommend(calibrated(n=200, k=k, seed=seed), rng=seed, n_resamples=99).name for seed in range(20)]
    # With a chance of .05 each, more than 4 of 20 have one of .003.
    assert sum(name != "identity" for name in advised) <= 4


def test_few_rows_that_are_clearly_over_confident_are_not_left_as_they_are():
    names = [recommend(sharpened(calibrated(n=100, k=5, seed=s), 0.3), rng=0, n_resamples=199).name for s in range(5)]
    assert "identity" not in names
