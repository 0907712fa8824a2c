"""Metrics inside scikit-learn's model selection."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB

from calibrant import InputError, Predictions, scorer
from calibrant.metrics import ECE, METRICS
from naming import each

X, y = make_classification(200, n_informative=5, n_classes=3, random_state=0)
names = np.array(["ash", "birch", "cedar"])[y]


@each("key", list(METRICS))
def test_every_metric_scores_cross_validation(key):
    scores = cross_val_score(GaussianNB(), X, names, scoring=scorer(key), cv=2)
    assert np.isfinite(scores).all()
    if METRICS[key].better != "none":
        assert (scores >= 0).all() if METRICS[key].better == "higher" else (scores <= 0).all()


def test_the_score_is_the_metric_with_its_sign_turned():
    model = GaussianNB().fit(X, names)
    p = Predictions(model.predict_proba(X), y)
    assert scorer("ece")(model, X, names) == -ECE()(p)
    weights = np.arange(200.0)
    weighted = Predictions(p.probs, p.labels, weights)
    assert scorer(ECE())(model, X, names, sample_weight=weights) == -ECE()(weighted)


def test_grid_search_picks_the_setting_with_the_smaller_error():
    grid = {"var_smoothing": [1e-9, 10.0]}
    search = GridSearchCV(GaussianNB(), grid, scoring=scorer("brier"), cv=3).fit(X, y)
    means = search.cv_results_["mean_test_score"]
    assert search.best_params_["var_smoothing"] == grid["var_smoothing"][int(np.argmax(means))]
    assert means[0] != means[1]


def test_binary_models_are_scored_on_class_one():
    model = LogisticRegression().fit(X, y == 1)
    expected = Predictions(model.predict_proba(X)[:, 1], y == 1)
    assert scorer("ece")(model, X, y == 1) == pytest.approx(-ECE()(expected))


def test_unknown_names_are_refused_with_what_was_meant():
    with pytest.raises(InputError, match=r"'eec' is not. Did you mean 'ece'"):
        scorer("eec")
    with pytest.raises(TypeError, match="metric must be a name in METRICS or a Metric"):
        scorer(3)
