"""A probability tree as a result that can be drawn."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from calibrant.results import TreeDiagram
from calibrant.trees.text import feature_names_of, leaf_numbers


def tree_diagram(tree: Any, feature_names: Sequence[str] | None = None) -> TreeDiagram:
    """Return the questions of a fitted probability tree and the counts and probabilities of its leaves.

    Parameters
    ----------
    tree : ProbabilityTree
    feature_names : sequence of str, optional
        By default the column names seen in fitting, else x0, x1, ...

    Returns
    -------
    TreeDiagram
        What `calibrant.plots.plot_tree` draws. `draw_tree` draws the same as text.

    Examples
    --------
    >>> from calibrant.trees import ProbabilityTree
    >>> tree = ProbabilityTree().fit([[0], [0], [0], [1], [1]], ["ham", "ham", "spam", "spam", "spam"])
    >>> diagram = tree_diagram(tree, ["lottery"])
    >>> diagram.questions[0], diagram.counts.tolist(), diagram.decisions
    ('lottery <= 0.5?', [[2.0, 1.0], [0.0, 2.0]], ('ham', 'spam'))
    """
    check_is_fitted(tree)
    names = feature_names_of(tree, feature_names)
    splits = tree.tree_.tree_
    leaf = leaf_numbers(tree.tree_)
    questions = [
        f"{names[splits.feature[node]]} <= {splits.threshold[node]:.6g}?" if leaf[node] < 0 else ""
        for node in range(splits.node_count)
    ]
    return TreeDiagram(
        questions=tuple(questions),
        left=splits.children_left.astype(np.int64),
        right=splits.children_right.astype(np.int64),
        leaf=leaf,
        classes=tuple(map(str, tree.classes_.tolist())),
        counts=tree.leaf_counts_,
        probs=tree.leaf_probs_,
        decisions=tuple(map(str, tree.classes_[tree.leaf_decisions_].tolist())),
    )
