"""A probability tree as text and as a diagram."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from calibrant._border.numerals import as_given, decimals
from calibrant._border.types import IntArray
from calibrant.exceptions import InputError
from calibrant.results import TreeDiagram

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeClassifier

    from calibrant.trees.tree import ProbabilityTree

LEAF = -1
"""Value that scikit-learn's trees store as the child of a leaf."""


def leaf_numbers(tree: "DecisionTreeClassifier") -> IntArray:
    """Return for each node of a fitted scikit-learn tree its number among the leaves, from the left, or -1."""
    numbers = np.full(tree.tree_.node_count, -1)
    leaves = [node for node, _, _ in _walk(tree) if tree.tree_.children_left[node] == LEAF]
    numbers[leaves] = np.arange(len(leaves))
    return numbers


def draw_tree(tree: "ProbabilityTree", feature_names: Sequence[str] | None = None, *, digits: int = 3) -> str:
    """Return a fitted probability tree as text, with the counts and probabilities of each leaf.

    Parameters
    ----------
    tree : ProbabilityTree
    feature_names : sequence of str, optional
        By default the column names seen in fitting, else x0, x1, ...
    digits : int, default=3
        Decimals of the probabilities.

    Returns
    -------
    str
        One line per node; leaves are numbered as in `apply`.

    Examples
    --------
    >>> from calibrant.trees import ProbabilityTree
    >>> tree = ProbabilityTree().fit([[0], [0], [0], [1], [1]], ["ham", "ham", "spam", "spam", "spam"])
    >>> print(draw_tree(tree, ["lottery"]))
    lottery <= 0.5?
    ├─ yes: leaf 0, ham 2 (0.667), spam 1 (0.333): ham
    └─ no: leaf 1, ham 0 (0.000), spam 2 (1.000): spam
    """
    diagram = tree_diagram(tree, feature_names)
    lines = []
    for node, indent, branch in _walk(tree.tree_):
        leaf, text = int(diagram.leaf[node]), diagram.questions[node]
        if leaf >= 0:
            entries = zip(diagram.classes, diagram.counts[leaf], diagram.probs[leaf], strict=True)
            shares = ", ".join(f"{name} {as_given(count)} ({decimals(p, digits)})" for name, count, p in entries)
            text = f"leaf {leaf}, {shares}: {diagram.decisions[leaf]}"
        lines.append(indent + branch + text)
    return "\n".join(lines)


def _walk(tree: "DecisionTreeClassifier") -> Iterator[tuple[int, str, str]]:
    """Yield each node from left to right, parents first, with its indentation and branch in a drawing."""
    left, right = tree.tree_.children_left.tolist(), tree.tree_.children_right.tolist()
    # A stack, because a tree may be deeper than Python's recursion limit.
    stack = [(0, "", "", "")]
    while stack:
        node, indent, branch, below = stack.pop()
        yield node, indent, branch
        if left[node] != LEAF:
            stack.append((right[node], below, "└─ no: ", below + "   "))
            stack.append((left[node], below, "├─ yes: ", below + "│  "))


def _feature_names(tree: "ProbabilityTree", names: Sequence[str] | None) -> list[str]:
    """Return the given names, or those seen in fitting, or x0, x1, ..."""
    if names is None:
        names = getattr(tree, "feature_names_in_", None)
        return [f"x{i}" for i in range(tree.n_features_in_)] if names is None else [*map(str, names)]
    if len(names) != tree.n_features_in_:
        raise InputError(
            f"feature_names must name the {tree.n_features_in_} features of the tree, but has {len(names)}."
        )
    return [*map(str, names)]


def tree_diagram(tree: "ProbabilityTree", feature_names: Sequence[str] | None = None) -> TreeDiagram:
    """Return the questions of a fitted probability tree and the counts and probabilities of its leaves.

    Parameters
    ----------
    tree : ProbabilityTree
    feature_names : sequence of str, optional
        By default the column names seen in fitting, else x0, x1, ...

    Returns
    -------
    TreeDiagram
        The input of `calibrant.plots.plot_tree`. `draw_tree` shows the same as text.

    Examples
    --------
    >>> from calibrant.trees import ProbabilityTree
    >>> tree = ProbabilityTree().fit([[0], [0], [0], [1], [1]], ["ham", "ham", "spam", "spam", "spam"])
    >>> diagram = tree_diagram(tree, ["lottery"])
    >>> diagram.questions[0], diagram.counts.tolist(), diagram.decisions
    ('lottery <= 0.5?', [[2.0, 1.0], [0.0, 2.0]], ('ham', 'spam'))
    """
    check_is_fitted(tree)
    names = _feature_names(tree, feature_names)
    splits = tree.tree_.tree_
    leaf = leaf_numbers(tree.tree_)
    questions = [
        f"{names[splits.feature[node]]} <= {as_given(splits.threshold[node])}?" if leaf[node] < 0 else ""
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
