"""Trees that estimate class probabilities."""

from calibrant.trees.text import draw_tree, tree_diagram
from calibrant.trees.tree import ProbabilityTree, decide

__all__ = ["ProbabilityTree", "decide", "draw_tree", "tree_diagram"]
