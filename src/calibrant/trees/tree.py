"""Probability estimation trees."""

from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from calibrant._border.checks import as_probabilities
from calibrant._border.settings import check_count
from calibrant._border.types import FloatArray, IntArray
from calibrant.binning.ties import comparable
from calibrant.counts import Smoothing, as_smoothing
from calibrant.exceptions import InputError
from calibrant.trees.text import leaf_numbers

if TYPE_CHECKING:
    from scipy.sparse import csc_array
    from sklearn.tree import DecisionTreeClassifier
    from sklearn.utils import Tags


class ProbabilityTree(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    r"""A decision tree whose leaves predict the class frequencies of their training rows.

    Two instances are similar if they are in the same leaf; the probability of a class is its share among similar
    instances.

    Parameters
    ----------
    smoothing : Smoothing, optional
        `LaplaceCorrection()`, `MEstimate(m, prior)` or `RelativeFrequency()`, which is the default.
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        What a split reduces. Gini impurity is twice the refinement loss per row, so "gini" chooses the split that
        lowers the squared error of the unsmoothed tree most.
    max_leaf_nodes : int, optional
        Largest number of leaves, grown best first. 1 is allowed, unlike in scikit-learn.
    max_depth : int, optional
    min_samples_leaf : int or float, default=1
    random_state : int, RandomState or None
        Chooses among splits that are equally good.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    n_features_in_ : int
    tree_ : sklearn.tree.DecisionTreeClassifier
        The tree that finds the leaves.
    leaf_counts_ : ndarray of shape (L, K)
        Weight of the training rows of each class in each leaf, from left to right.
    leaf_probs_ : ndarray of shape (L, K)
        The smoothed frequencies.
    leaf_decisions_ : ndarray of shape (L,)
        Index of the class that `decide` chooses in each leaf.

    Notes
    -----
    With `max_leaf_nodes=1` all instances are similar, and the prediction is the share of each class in the training
    data. Without limits the tree grows until its leaves are pure; without smoothing it then gives the class of every
    training row probability 1 (or its share among identical rows): it memorises. On the training rows its squared error
    is then 0, apart from identical rows of different classes; new rows have a larger error.

    `tree_` compares features in single precision. A row of weight 0 adds nothing to splits and counts, but its class
    is one of the K classes.

    Examples
    --------
    >>> X, y = [[0], [0], [0], [1], [1]], [0, 0, 1, 1, 1]
    >>> ProbabilityTree().fit(X, y).predict_proba([[0], [1]]).round(3).tolist()
    [[0.667, 0.333], [0.0, 1.0]]
    >>> ProbabilityTree(max_leaf_nodes=1).fit(X, y).predict_proba([[0], [1]]).tolist()
    [[0.4, 0.6], [0.4, 0.6]]
    """

    def __init__(
        self,
        smoothing: Smoothing | None = None,
        criterion: Literal["gini", "entropy", "log_loss"] = "gini",
        max_leaf_nodes: int | None = None,
        max_depth: int | None = None,
        min_samples_leaf: float = 1,
        random_state: object = None,
    ) -> None:
        self.smoothing = smoothing
        self.criterion = criterion
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.random_state = random_state

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Grow the tree and count the classes in its leaves.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            NaN is treated as scikit-learn's trees treat it.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
        """
        from sklearn.utils.multiclass import check_classification_targets
        from sklearn.utils.validation import _check_sample_weight, validate_data

        rule = as_smoothing(self.smoothing)
        rows, names = validate_data(self, X, y, accept_sparse="csc", dtype=np.float32, ensure_all_finite="allow-nan")
        check_classification_targets(names)
        self.classes_, labels = np.unique(names, return_inverse=True)
        weights = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
        self.tree_ = self._grow(rows, labels, weights)
        self._leaf_of_node = leaf_numbers(self.tree_)
        leaves = self._leaf_of_node[self.tree_.apply(rows)]
        shape = (int(self._leaf_of_node.max()) + 1, len(self.classes_))
        cells = np.bincount(leaves * shape[1] + labels, weights=weights, minlength=shape[0] * shape[1])
        self.leaf_counts_ = np.asarray(cells.reshape(shape), dtype=np.float64)
        self.leaf_probs_ = rule(self.leaf_counts_)
        self.leaf_decisions_ = _decide(self.leaf_probs_, 0.5)
        return self

    def apply(self, X: object) -> IntArray:
        """Return the number of the leaf of each row, counted from the left."""
        from sklearn.utils.validation import validate_data

        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float32, ensure_all_finite="allow-nan", reset=False)
        return self._leaf_of_node[self.tree_.apply(X)]

    def predict_proba(self, X: object) -> FloatArray:
        """Return the probabilities of the classes, (n, K)."""
        leaves = self.apply(X)
        return self.leaf_probs_[leaves]

    def predict(self, X: object) -> NDArray[np.generic]:
        """Return the class that `decide` chooses: of two, the second if its probability is at least 0.5."""
        leaves = self.apply(X)
        return self.classes_[self.leaf_decisions_[leaves]]

    def _grow(self, X: "FloatArray | csc_array", labels: IntArray, weights: FloatArray) -> "DecisionTreeClassifier":
        from sklearn.tree import DecisionTreeClassifier

        if self.max_leaf_nodes is not None:
            check_count(self.max_leaf_nodes, "max_leaf_nodes")
        one_leaf = self.max_leaf_nodes == 1
        return DecisionTreeClassifier(
            criterion=self.criterion,
            max_leaf_nodes=None if one_leaf else self.max_leaf_nodes,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            min_samples_split=X.shape[0] + 1 if one_leaf else 2,
            random_state=self.random_state,
        ).fit(X, labels, sample_weight=weights)

    def __sklearn_tags__(self) -> "Tags":
        """Return scikit-learn's tags: sparse matrices and missing values are supported."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


def decide(probs: object, threshold: float = 0.5) -> IntArray:
    """Turn probabilities into decisions.

    Parameters
    ----------
    probs : array-like of shape (n, K) or (n,)
        As for `Predictions`.
    threshold : float, default=0.5
        With two classes, class 1 is chosen if its probability is at least this, compared at 12 decimals. With more, the
        most probable class is chosen, in a tie the one with the lowest index, and the threshold does not apply.

    Returns
    -------
    ndarray of shape (n,)
        Class indices.

    Examples
    --------
    >>> decide([0.33, 0.5, 0.8]).tolist()
    [0, 1, 1]
    """
    matrix, _ = as_probabilities(probs)
    if isinstance(threshold, bool) or not isinstance(threshold, (int, float)) or not 0 <= threshold <= 1:
        raise InputError(f"threshold must be a number from 0 to 1, but is {threshold!r}.")
    if matrix.shape[1] > 2 and threshold != 0.5:
        raise InputError(f"threshold applies only to two classes, but probs has {matrix.shape[1]}. Leave it out.")
    return _decide(matrix, threshold)


def _decide(probs: FloatArray, threshold: float) -> IntArray:
    if probs.shape[1] == 2:
        # Rounding errors in a quotient of counts must not change the decision.
        return (comparable(probs[:, 1]) >= comparable(np.asarray(threshold))).astype(np.int64)
    return probs.argmax(axis=1)
