"""Probability trees as figures."""

from typing import TYPE_CHECKING

import numpy as np

from calibrant._border.numerals import as_given, decimals
from calibrant._border.types import FloatArray, IntArray
from calibrant.plots.canvas import GREY, INK, PALETTE, open_axes, shown_name, without_formulas
from calibrant.results import TreeDiagram

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LISTED = 4
"""With more classes than this, a leaf lists the most probable."""

INCHES_A_LEAF, INCHES_A_LEVEL, LARGEST = 1.5, 1.1, 40.0
LEAF_WIDTH, BAR = 0.86, 0.08
"""Size of the bar of a leaf, in units of the distance between leaves and between levels."""

LETTERS = 11.0
"""Size of letters, in points, for leaves of the width above; axes shrink in the layout, and the letters with them."""

FEW_NODES = 40
"""Up to this number of questions, answers are written at the branches."""

NAME_LENGTH = 16


def plot_tree(tree: TreeDiagram, ax: "Axes | None" = None) -> "Axes":
    r"""Draw a probability tree with the counts and probabilities of every leaf.

    Parameters
    ----------
    tree : TreeDiagram
        From `calibrant.trees.tree_diagram`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default the axes of a new figure, wide enough for the leaves (up to 40 inches).

    Notes
    -----
    The answer yes leads to the left. Each leaf shows its decision, then the count and the probability of each class,
    which the bar above it shows as well; with more than four classes, the most probable are listed.

    Examples
    --------
    >>> from calibrant.trees import ProbabilityTree, tree_diagram
    >>> tree = ProbabilityTree().fit([[0], [0], [0], [1], [1]], ["ham", "ham", "spam", "spam", "spam"])
    >>> ax = plot_tree(tree_diagram(tree, ["lottery"]))
    >>> [text.get_text() for text in ax.texts][-1]
    '→ spam\nham: 0 (0.000)\nspam: 2 (1.000)'
    """
    x, depth = _layout(tree)
    n_leaves, levels = len(tree.counts), int(depth.max()) + 1
    width, height = max(3.0, INCHES_A_LEAF * n_leaves), INCHES_A_LEVEL * levels + 0.6
    ax = open_axes(ax, min(width, LARGEST), min(height, LARGEST))
    ax.set(xlim=(-0.55, n_leaves - 0.45), ylim=(-levels + 0.1, 0.4))
    ax.set_axis_off()
    # Letters shrink with the room of a leaf, down to what can be enlarged on a screen.
    room = ax.get_window_extent().width / ax.figure.dpi / n_leaves
    size = float(np.clip(LETTERS * room / INCHES_A_LEAF, 1.0, 9.0))
    _branches(ax, tree, x, depth, size)
    box = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": GREY, "linewidth": 0.8}
    for node in np.flatnonzero(tree.leaf < 0).tolist():
        ax.text(
            x[node],
            -depth[node],
            without_formulas(tree.questions[node]),
            ha="center",
            va="center",
            fontsize=size,
            bbox=box,
        )
    for node in np.flatnonzero(tree.leaf >= 0).tolist():
        _leaf(ax, tree, int(tree.leaf[node]), (float(x[node]), -float(depth[node])), size)
    return ax


def _layout(tree: TreeDiagram) -> tuple[FloatArray, IntArray]:
    """Return the position of each node (leaves at 0, 1, ..., others midway between their children) and its depth."""
    order, depth = [0], np.zeros(len(tree.left), dtype=np.int64)
    for node in order:  # The list grows while it is read: parents come before their children.
        if tree.leaf[node] < 0:
            children = [int(tree.left[node]), int(tree.right[node])]
            depth[children] = depth[node] + 1
            order.extend(children)
    x = tree.leaf.astype(float)
    for node in reversed(order):
        if tree.leaf[node] < 0:
            x[node] = (x[tree.left[node]] + x[tree.right[node]]) / 2
    return x, depth


def _branches(ax: "Axes", tree: TreeDiagram, x: FloatArray, depth: IntArray, size: float) -> None:
    from matplotlib.collections import LineCollection

    lines = []
    inner = np.flatnonzero(tree.leaf < 0)
    for parent in inner.tolist():
        for child, answer in ((int(tree.left[parent]), "yes"), (int(tree.right[parent]), "no")):
            ends = [(float(x[node]), -float(depth[node])) for node in (parent, child)]
            lines.append(ends)
            if len(inner) <= FEW_NODES:
                (x0, y0), (x1, y1) = ends
                ax.text(
                    (x0 + x1) / 2,
                    (y0 + y1) / 2,
                    answer,
                    ha="center",
                    va="center",
                    fontsize=size,
                    color=GREY,
                    bbox=_gap(),
                )
    ax.add_collection(LineCollection(lines, colors=GREY, linewidths=0.8, zorder=1))


def _leaf(ax: "Axes", tree: TreeDiagram, leaf: int, place: tuple[float, float], size: float) -> None:
    from matplotlib.patches import Rectangle

    x, y = place
    edge = x - LEAF_WIDTH / 2
    for k, prob in enumerate(tree.probs[leaf].tolist()):
        colour = PALETTE[k % len(PALETTE)]
        ax.add_patch(Rectangle((edge, y - BAR / 2), LEAF_WIDTH * prob, BAR, color=colour, linewidth=0, zorder=2))
        edge += LEAF_WIDTH * prob
    ax.text(x, y - BAR, _leaf_text(tree, leaf), ha="center", va="top", fontsize=size, color=INK, linespacing=1.3)


def _leaf_text(tree: TreeDiagram, leaf: int) -> str:
    probs = tree.probs[leaf]
    classes = range(len(probs)) if len(probs) <= LISTED else np.argsort(-probs, kind="stable")[:LISTED].tolist()
    lines = [
        f"{shown_name(tree.classes[k], NAME_LENGTH)}: {as_given(tree.counts[leaf, k])} ({decimals(probs[k])})"
        for k in classes
    ]
    if len(probs) > LISTED:
        lines.append(f"and {len(probs) - LISTED} more")
    return "\n".join([f"→ {shown_name(tree.decisions[leaf], NAME_LENGTH)}", *lines])


def _gap() -> dict[str, object]:
    """Return a box that interrupts the line under a text."""
    return {"facecolor": "white", "edgecolor": "none", "pad": 1}
