"""ROC curves with their hulls, and the maps from scores to probabilities that follow from them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from calibrant._border.numerals import decimals
from calibrant._border.types import FloatArray
from calibrant.plots.canvas import PALETTE, diagonal, open_axes, unit_square
from calibrant.results import CalibrationMap, ConvexHull, ROCCurve
from calibrant.results.drawing import BLUE, RED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FEW_POINTS = 20
"""Up to this number of points, each is marked."""

STYLES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 2, 1, 2)))


def plot_roc(roc: ROCCurve, hull: ConvexHull | None = None, ax: "Axes | None" = None) -> "Axes":
    """Draw a ROC curve and, if given, its convex hull with the concavities shaded.

    Parameters
    ----------
    roc : ROCCurve
    hull : ConvexHull, optional
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default the axes of a new figure.
    """
    ax = open_axes(ax, 5.0, 5.0)
    unit_square(ax, "False positive rate", "True positive rate")
    diagonal(ax, "chance: AUC 0.5")
    run, rise = roc.false_positive_rate, roc.true_positive_rate
    if hull is not None:
        _dents(ax, hull)
        x, y = hull.vertices.T
        marker = "s" if len(x) <= FEW_POINTS else None
        label = f"convex hull: AUC {decimals(hull.auc)}"
        ax.plot(x, y, color=RED, linewidth=1.4, linestyle=STYLES[1], marker=marker, markersize=5, zorder=4, label=label)
    marker = "o" if len(roc.scores) <= FEW_POINTS else None
    label = f"ROC curve: AUC {decimals(roc.auc)}"
    ax.plot(run, rise, color=BLUE, linewidth=1.8, marker=marker, markersize=3.5, zorder=3, label=label)
    ax.legend(loc="lower right", frameon=False, fontsize="small")
    return ax


def plot_calibration_map(maps: CalibrationMap | Sequence[CalibrationMap], ax: "Axes | None" = None) -> "Axes":
    """Draw one or several maps from scores to calibrated probabilities.

    Parameters
    ----------
    maps : CalibrationMap or sequence of them
        Such as the map of a hull with and without the Laplace correction, from `calibrant.roc.calibration_map`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default the axes of a new figure.

    Notes
    -----
    Between two segments only the order of the scores is known, and the map is halfway between their probabilities. The
    ends of the segments are marked if there are few.
    """
    listed = [maps] if isinstance(maps, CalibrationMap) else list(maps)
    ax = open_axes(ax, 5.6, 4.2)
    ax.set(xlabel="Score", ylabel="Calibrated probability", ylim=(-0.03, 1.03))
    for i, one in enumerate(listed):
        _map(ax, one, PALETTE[i % len(PALETTE)], STYLES[i % len(STYLES)])
    ax.legend(loc="upper left", frameon=False, fontsize="small")
    return ax


def _dents(ax: "Axes", hull: ConvexHull) -> None:
    run, rise = hull.curve.false_positive_rate, hull.curve.true_positive_rate
    for i, (first, last) in enumerate(hull.concavities.tolist()):
        label = "concavities" if i == 0 else None
        ax.fill(run[first : last + 1], rise[first : last + 1], color=RED, alpha=0.15, linewidth=0, label=label)


def _map(ax: "Axes", one: CalibrationMap, colour: str, style: object) -> None:
    start, stop = _finite(one.lower, one.upper)
    p = one.probability
    middle = (p[1:] + p[:-1]) / 2
    x = np.column_stack([start, stop]).ravel()
    steps_x = np.concatenate([x[:1], np.repeat(x[1:-1], 2), x[-1:]])
    steps_y = np.concatenate([p[:1], np.column_stack([p[:-1], middle, middle, p[1:]]).ravel(), p[-1:]])
    ax.plot(steps_x, steps_y, color=colour, linewidth=2, linestyle=style, zorder=3, label=one.name)
    if len(p) <= FEW_POINTS:
        ax.plot(x, np.repeat(p, 2), linestyle="none", marker="o", markersize=4.5, color=colour, zorder=4)


def _finite(lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Move infinite scores a little beyond the finite ones."""
    finite = np.concatenate([lower[np.isfinite(lower)], upper[np.isfinite(upper)]])
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
    margin = 0.05 * (high - low) or 1.0
    return lower.clip(low - margin, high + margin), upper.clip(low - margin, high + margin)
