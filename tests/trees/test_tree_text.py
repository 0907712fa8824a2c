"""Probability trees as text."""

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from calibrant import InputError
from calibrant.counts import LaplaceCorrection, laplace
from calibrant.trees import ProbabilityTree
from calibrant.trees.text import draw_tree


def test_the_tree_of_the_document_is_drawn():
    X = pd.DataFrame({"Viagra": [0] * 75 + [1] * 25, "lottery": [0] * 60 + [1] * 15 + [0] * 25})
    y = np.repeat(["spam", "ham", "spam", "ham", "spam", "ham"], [20, 40, 10, 5, 20, 5])
    assert draw_tree(ProbabilityTree().fit(X, y), digits=2).splitlines() == [
        "Viagra <= 0.5?",
        "├─ yes: lottery <= 0.5?",
        "│  ├─ yes: leaf 0, ham 40 (0.67), spam 20 (0.33): ham",
        "│  └─ no: leaf 1, ham 5 (0.33), spam 10 (0.67): spam",
        "└─ no: leaf 2, ham 5 (0.20), spam 20 (0.80): spam",
    ]


def test_a_deep_tree_is_drawn_without_recursion():
    n = 1200
    tree = ProbabilityTree(random_state=0).fit(np.arange(n)[:, None], np.arange(n) % 2)  # Splits off one row at a time.
    assert tree.tree_.get_depth() > sys.getrecursionlimit()
    assert len(draw_tree(tree).splitlines()) == 2 * n - 1


def test_a_drawing_names_features_by_number_if_nothing_else_is_known():
    tree = ProbabilityTree().fit([[0], [1]], [0, 1])
    assert draw_tree(tree).startswith("x0 <= 0.5?")
    assert draw_tree(tree, ["age"]).startswith("age <= 0.5?")
    with pytest.raises(InputError, match="name the 1 features of the tree, but has 2"):
        draw_tree(tree, ["a", "b"])


def test_one_leaf_and_weights_are_drawn():
    tree = ProbabilityTree(LaplaceCorrection(), max_leaf_nodes=1).fit([[0], [1]], [0, 1], [0.5, 1.25])
    first, second = laplace([0.5, 1.25])
    assert draw_tree(tree) == f"leaf 0, 0 0.5 ({first:.3f}), 1 1.25 ({second:.3f}): 1"


def test_an_unfitted_tree_is_not_drawn():
    with pytest.raises(NotFittedError):
        draw_tree(ProbabilityTree())
