"""Many logistic recalibrations at once: what each gives by itself, also where no finite line is best."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from binary_cases import binary
from calibrant import Predictions
from calibrant.metrics import CoxIntercept, CoxSlope, InTheLarge
from naming import each

METRICS = [CoxSlope(), CoxIntercept(), InTheLarge()]


def columns(n):
    """Bootstrap counts, some of them times a huge weight."""
    rng = np.random.default_rng(5)
    return rng.multinomial(n, np.full(n, 1 / n), 30).T * rng.choice([1.0, 1e200], 30)


@each("metric", METRICS)
def test_replicates_are_what_each_gives_by_itself(metric):
    p = binary(120, sharpness=1.5, shift=0.3)
    weights = np.column_stack([columns(120), p.labels, 1.0 - p.labels, p.labels == p.predicted])
    evaluate = metric.prepare(p)
    together = evaluate(weights)
    assert together == pytest.approx([evaluate(column[:, None])[0] for column in weights.T], rel=1e-9)
    assert np.isfinite(together).all()
    assert np.ptp(together[:30]) > 0.1


@each("metric", METRICS)
def test_redrawn_labels_give_what_each_gives_by_itself(metric):
    p = binary(80, sharpness=1.5, weighted=True)
    labels = np.random.default_rng(6).integers(0, 2, (80, 12))
    labels[:, 0], labels[:, 1] = 0, p.positive > 0.5
    evaluate = metric.prepare_labels(p)
    alone = [metric.fitted(p.with_labels(column)) for column in labels.T]
    assert evaluate(labels) == pytest.approx(alone, rel=1e-9)


def test_replicates_are_those_of_scikit_learn():
    p = binary(200, sharpness=1.5, shift=0.3)
    log_odds = np.log(p.probs[:, 1] / p.probs[:, 0])[:, None]
    counts = np.random.default_rng(7).multinomial(200, np.full(200, 1 / 200), 5).T
    found = np.stack([CoxIntercept().prepare(p)(counts), CoxSlope().prepare(p)(counts)])
    for column, line in zip(counts.T, found.T, strict=True):
        model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12)
        model.fit(log_odds, p.labels, sample_weight=column)
        assert line == pytest.approx((model.intercept_[0], model.coef_[0, 0]), rel=1e-6, abs=1e-9)


def test_equal_predictions_keep_slope_1():
    p = Predictions._trusted(np.tile([0.3, 0.7], (40, 1)), np.arange(40) % 2, np.ones(40), (0, 1))
    assert CoxSlope().prepare(p)(columns(40)) == pytest.approx(np.ones(30), rel=1e-9)
