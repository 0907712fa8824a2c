"""Proper scores and accuracy."""

import math

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss

from calibrant import Predictions
from calibrant.metrics import NLL, Accuracy, Brier, SquaredError
from simulate import calibrated

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.DataWarning")  # Tiny data is the point here.


@pytest.mark.parametrize("k", [2, 5])
def test_scores_equal_those_of_scikit_learn(k):
    p = calibrated(k=k)
    w = np.random.default_rng(0).random(p.n_samples)
    weighted = Predictions(p.probs, p.labels, w)
    assert NLL()(weighted) == pytest.approx(log_loss(p.labels, p.probs, sample_weight=w))
    assert Accuracy()(weighted) == pytest.approx(accuracy_score(p.labels, p.predicted, sample_weight=w))
    onehot = np.eye(k)[p.labels]
    assert Brier()(weighted) == pytest.approx(np.average(((p.probs - onehot) ** 2).sum(axis=1), weights=w))
    if k == 2:
        assert SquaredError()(weighted) == pytest.approx(brier_score_loss(p.labels, p.positive, sample_weight=w))


def test_squared_error_per_row_and_in_all():
    p = Predictions([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]], [0, 2])
    assert SquaredError().per_row(p) == pytest.approx([0.07, 0.73])
    assert SquaredError().total(p) == pytest.approx(0.8)
    assert SquaredError()(p) == pytest.approx(0.4)


def test_an_impossible_label_makes_the_log_loss_infinite_and_is_counted():
    estimate = NLL().estimate(Predictions([0.0, 0.5, 0.0], [1, 1, 0]))
    assert estimate.value == math.inf
    assert estimate.details == {"infinite_rows": 1, "first_rows": (0,)}


def test_an_impossible_label_without_weight_does_not_count():
    p = Predictions([0.0, 0.5], [1, 1], weights=[0, 1])
    assert NLL()(p) == pytest.approx(math.log(2))


def test_replicates_are_infinite_only_where_the_impossible_row_is_drawn():
    f = NLL().prepare(Predictions([0.0, 0.5], [1, 1]))
    assert f(np.array([[0.0, 1.0], [2.0, 1.0]])).tolist() == [pytest.approx(math.log(2)), math.inf]


def test_logits_keep_the_log_loss_finite_where_probabilities_underflow():
    p = Predictions.from_logits([[1000.0, 0.0]], [1])
    assert p.probs[0, 1] == 0.0
    assert NLL()(p) == pytest.approx(1000.0)


def test_ties_of_the_largest_probability_go_to_the_lowest_class():
    assert Accuracy()(Predictions([[0.4, 0.4, 0.2]], [0])) == 1.0
    assert Accuracy()(Predictions([0.5], [0])) == 1.0
