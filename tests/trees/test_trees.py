"""Probability estimation trees."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

from calibrant import InputError, Predictions
from calibrant.counts import LaplaceCorrection, MEstimate, RelativeFrequency, relative_frequency
from calibrant.metrics import SquaredError
from calibrant.metrics.decomposition import segment_decomposition
from calibrant.trees import ProbabilityTree, decide
from naming import each


def mails():
    """The mails of the document: whether two words occur, and the class; 100 rows, three leaves."""
    X = pd.DataFrame({"Viagra": [0] * 75 + [1] * 25, "lottery": [0] * 60 + [1] * 15 + [0] * 25})
    return X, np.repeat(["spam", "ham", "spam", "ham", "spam", "ham"], [20, 40, 10, 5, 20, 5])


def noisy(n=300, d=4, k=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] + rng.normal(size=n) > 0).astype(int) + (k > 2) * (X[:, -1] > 1)


@pytest.mark.parametrize(
    "tree",
    [ProbabilityTree(), ProbabilityTree(MEstimate(2, "observed"), max_depth=4)],
    ids=repr,
)
def test_all_checks_of_scikit_learn_pass(tree):
    results = check_estimator(tree, on_skip=None)
    skipped = {result["check_name"] for result in results if result["status"] != "passed"}
    assert skipped <= {"check_array_api_input"}  # Runs only if SciPy is told to support other array libraries.
    assert len(results) > 50


class TestTheDocument:
    def test_probabilities_of_the_leaves(self):
        X, y = mails()
        tree = ProbabilityTree().fit(X, y)
        assert tree.classes_.tolist() == ["ham", "spam"]
        assert tree.leaf_counts_.tolist() == [[40, 20], [5, 10], [5, 20]]
        assert tree.leaf_probs_[:, 1] == pytest.approx([1 / 3, 2 / 3, 0.8])

    def test_spam_is_what_is_spam_with_probability_of_at_least_one_half(self):
        X, y = mails()
        tree = ProbabilityTree().fit(X, y)
        assert np.array_equal(tree.predict(X), np.repeat(["ham", "spam"], [60, 40]))

    def test_squared_error_by_row_by_leaf_and_in_the_mean(self):
        X, y = mails()
        tree = ProbabilityTree().fit(X, y)
        p = Predictions(tree.predict_proba(X), y, classes=tree.classes_)
        assert SquaredError().per_row(p)[[0, 20]] == pytest.approx([4 / 9, 1 / 9])
        result = segment_decomposition(p, tree.apply(X))
        assert result.squared_error.round(2).tolist() == [13.33, 3.33, 4.0]
        assert result.calibration == pytest.approx([0, 0, 0], abs=1e-15)
        assert round(result.mean.squared_error, 2) == 0.21

    def test_if_everything_is_alike_the_prediction_is_the_prior(self):
        X, y = mails()
        for smoothing in (None, MEstimate(10, "observed")):
            tree = ProbabilityTree(smoothing, max_leaf_nodes=1).fit(X, y)
            assert tree.predict_proba(X) == pytest.approx(np.full((100, 2), 0.5))
            assert len(tree.leaf_counts_) == 1

    def test_if_nothing_is_alike_the_tree_memorises(self):
        X, y = noisy()
        tree = ProbabilityTree().fit(X, y)
        assert np.array_equal(tree.predict_proba(X), np.eye(3)[y])
        assert np.array_equal(tree.predict(X), y)

    def test_equal_instances_are_alike_even_then(self):
        probs = ProbabilityTree().fit([[1], [1], [1], [2]], [0, 1, 1, 0]).predict_proba([[1], [2]])
        assert probs == pytest.approx(np.array([[1 / 3, 2 / 3], [1, 0]]))


def test_without_smoothing_the_probabilities_are_those_of_scikit_learn():
    X, y = noisy()
    weights = np.random.default_rng(1).random(len(y))
    ours = ProbabilityTree(max_depth=4, random_state=0).fit(X, y, weights)
    theirs = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y, weights)
    assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X), abs=1e-12)


@each("max_leaf_nodes", [None, 2, 7])
@each("smoothing", [None, RelativeFrequency(), LaplaceCorrection(), MEstimate(3, "observed")])
def test_leaves_predict_the_smoothed_counts_of_the_rows_they_hold(smoothing, max_leaf_nodes):
    X, y = noisy()
    tree = ProbabilityTree(smoothing, min_samples_leaf=5, max_leaf_nodes=max_leaf_nodes, random_state=0).fit(X, y)
    leaves = tree.apply(X)
    counts = np.array([np.bincount(y[leaves == leaf], minlength=3) for leaf in range(leaves.max() + 1)])
    assert np.array_equal(tree.leaf_counts_, counts)
    assert max_leaf_nodes is None or len(counts) == max_leaf_nodes
    rule = smoothing or RelativeFrequency()
    assert np.array_equal(tree.predict_proba(X), rule(counts)[leaves])


def test_an_observed_prior_is_that_of_the_training_rows():
    X, y = noisy()
    tree = ProbabilityTree(MEstimate(4, "observed"), min_samples_leaf=20).fit(X, y)
    prior = relative_frequency(np.bincount(y))
    by_hand = (tree.leaf_counts_ + 4 * prior) / (tree.leaf_counts_.sum(axis=1, keepdims=True) + 4)
    assert tree.leaf_probs_ == pytest.approx(by_hand)


def test_leaves_are_numbered_from_left_to_right_also_in_best_first_growth():
    X = np.arange(64.0)[:, None]
    y = np.random.default_rng(0).integers(0, 2, 64)
    for max_leaf_nodes in (None, 9):
        leaves = ProbabilityTree(max_leaf_nodes=max_leaf_nodes, random_state=0).fit(X, y).apply(X)
        assert np.array_equal(np.unique(leaves), np.arange(leaves.max() + 1))
        assert np.all(np.diff(leaves) >= 0)


def test_gini_makes_the_split_with_the_smallest_squared_error():
    X, y = noisy(n=60, d=1, k=2)
    tree = ProbabilityTree(max_leaf_nodes=2).fit(X, y)

    def error(cut):
        sides = X[:, 0] <= cut
        return sum(len(part) * part.mean() * (1 - part.mean()) for part in (y[sides], y[~sides]))

    ordered = np.sort(X[:, 0])
    best = min(error(cut) for cut in (ordered[1:] + ordered[:-1]) / 2)
    p = Predictions(tree.predict_proba(X), y)
    assert SquaredError().total(p) == pytest.approx(best)


def test_whole_weights_equal_copies():
    X, y = noisy()
    weights = np.random.default_rng(2).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    weighted = ProbabilityTree(LaplaceCorrection(), max_depth=3, random_state=0).fit(X, y, weights)
    copied = ProbabilityTree(LaplaceCorrection(), max_depth=3, random_state=0).fit(X[rows], y[rows])
    assert weighted.leaf_counts_ == pytest.approx(copied.leaf_counts_)
    assert weighted.predict_proba(X) == pytest.approx(copied.predict_proba(X))


def test_rows_without_weight_add_nothing_but_their_class():
    X, y = noisy()
    X = np.vstack([X, X + 100])
    weights = np.repeat([1.0, 0.0], len(y))
    padded = ProbabilityTree(LaplaceCorrection(), min_samples_leaf=9, random_state=0).fit(X, np.tile(y, 2), weights)
    plain = ProbabilityTree(LaplaceCorrection(), min_samples_leaf=9, random_state=0).fit(X[: len(y)], y)
    assert np.array_equal(padded.leaf_counts_, plain.leaf_counts_)
    third = ProbabilityTree(LaplaceCorrection()).fit([[0], [1], [1]], [0, 1, 2], [1, 1, 0])
    assert third.predict_proba([[1]]) == pytest.approx(np.array([[1 / 4, 2 / 4, 1 / 4]]))


@pytest.mark.filterwarnings("ignore:every probability is exactly 0 or 1")
def test_smoothing_helps_on_new_rows():
    X, y = noisy(n=2000, k=2)
    new_X, new_y = noisy(n=2000, k=2, seed=1)

    def error(smoothing):
        tree = ProbabilityTree(smoothing, random_state=0).fit(X, y)
        return SquaredError()(Predictions(tree.predict_proba(new_X), new_y))

    assert error(LaplaceCorrection()) < error(None) - 0.02


def test_sparse_and_missing_features_are_accepted():
    X, y = noisy()
    dense = np.where(X > 0.5, X, 0.0)
    plain = ProbabilityTree(max_depth=3, random_state=0).fit(dense, y)
    sparse = ProbabilityTree(max_depth=3, random_state=0).fit(csr_array(dense), y)
    assert np.array_equal(plain.predict_proba(dense), sparse.predict_proba(csr_array(dense)))
    X[::7, 0] = np.nan
    assert np.isfinite(ProbabilityTree(max_depth=3).fit(X, y).predict_proba(X)).all()


def test_grid_search_clone_and_pickle():
    X, y = load_iris(return_X_y=True)
    grid = {"smoothing": [None, LaplaceCorrection(), MEstimate(2, "observed")], "max_depth": [2, None]}
    search = GridSearchCV(ProbabilityTree(random_state=0), grid, scoring="neg_log_loss", cv=3).fit(X, y)
    assert search.best_params_["smoothing"] is not None  # A pure leaf that errs costs infinitely much.
    best = search.best_estimator_
    assert clone(best).smoothing == best.smoothing
    copy = pickle.loads(pickle.dumps(best))  # noqa: S301 (our own object)
    assert np.array_equal(copy.predict_proba(X), best.predict_proba(X))


def test_one_half_is_positive_whatever_rounding_says():
    assert decide([0.5, 0.5 - 1e-14, 0.4999]).tolist() == [1, 1, 0]
    tree = ProbabilityTree(max_leaf_nodes=1).fit([[0], [1]], ["ham", "spam"])
    assert tree.predict([[0]]).tolist() == ["spam"]


def test_decisions_with_another_threshold_and_more_classes():
    assert decide([0.1, 0.2, 0.9], threshold=0.2).tolist() == [0, 1, 1]
    assert decide([[0.8, 0.2], [0.3, 0.7]], threshold=0.75).tolist() == [0, 0]
    assert decide([[0.2, 0.4, 0.4], [0.5, 0.2, 0.3]]).tolist() == [1, 0]
    with pytest.raises(InputError, match="threshold applies only to two classes, but probs has 3"):
        decide([[0.2, 0.4, 0.4]], threshold=0.3)
    for threshold in (-0.1, 1.1, True, "0.5"):
        with pytest.raises(InputError, match="threshold must be a number from 0 to 1"):
            decide([0.2], threshold)


def test_an_unfitted_tree_says_so():
    for act in (ProbabilityTree().predict_proba, ProbabilityTree().predict, ProbabilityTree().apply):
        with pytest.raises(NotFittedError):
            act([[0.0]])


@each(
    "settings, kind, message",
    [
        ({"smoothing": "laplace"}, TypeError, "smoothing must be None or a rule"),
        ({"smoothing": MEstimate(2, [0.2, 0.3, 0.5])}, InputError, "has 3 for 2 classes"),
        ({"max_leaf_nodes": 0}, InputError, "max_leaf_nodes must be a whole number of at least 1"),
        ({"criterion": "brier"}, ValueError, "criterion"),
    ],
)
def test_bad_settings(settings, kind, message):
    with pytest.raises(kind, match=message):
        ProbabilityTree(**settings).fit([[0], [1]], [0, 1])


def test_negative_weights_are_refused():
    with pytest.raises(ValueError, match="Negative values"):
        ProbabilityTree().fit([[0], [1]], [0, 1], [1, -1])
