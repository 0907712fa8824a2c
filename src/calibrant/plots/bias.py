"""The bias view of a reliability curve: how far predictions are off, on a scale of their own."""

from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant._border.types import BoolArray, FloatArray
from calibrant.plots.canvas import GREY, MINUS, axes_or_new, note, open_frame
from calibrant.plots.reliability import draw_curve, draw_limits, facts, strip
from calibrant.results import ReliabilityCurve
from calibrant.results.drawing import BLUE, RED, WORDS, is_dense, off_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIRM = 0.98
"""The vertical axis is chosen to fit the points that represent this share of the rows."""


def plot_bias(curve: ReliabilityCurve, ax: "Axes | None" = None) -> "Axes":
    """Draw prediction minus frequency against the prediction, so that small errors are visible.

    Parameters
    ----------
    curve : ReliabilityCurve
        Of any kind: `reliability_curve`, `kernel_curve` or `isotonic_curve`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default the axes of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    Above 0 predictions are too high. The vertical axis fits the points that stand for 98% of the rows; triangles at
    its ends are points beyond it, which represent few rows.
    """
    ax = axes_or_new(ax, 5.0, 4.2)
    open_frame(ax)
    words = WORDS[curve.view]
    ax.set(xlim=(-0.01, 1.01), xlabel=words.horizontal, ylabel=f"Prediction {MINUS} frequency")
    bias = curve.predicted - curve.observed
    end = _end(curve, bias)
    ax.set_ylim(-end, end)
    ax.axhline(0, color=GREY, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    if curve.low is not None and curve.high is not None:
        draw_limits(ax, curve, curve.predicted - curve.high, curve.predicted - curve.low)
    inside = np.abs(bias) <= end
    draw_curve(ax, curve, bias, "limits miss 0" if curve.band == "confidence" else "outside the band", inside)
    if not is_dense(curve):
        _beyond(ax, curve, bias, ~inside)
    note(ax, ", ".join(facts(curve)), 0.98)
    for word, height, side in (("too high →", 1.0, "top"), ("← too low", 0.0, "bottom")):
        style: dict[str, Any] = {"transform": ax.transAxes, "rotation": 90, "va": side, "color": GREY}
        ax.text(1.02, height, word, fontsize="small", fontstyle="italic", **style)
    if curve.histogram is not None:
        strip(ax, curve.histogram, words)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(loc="lower right", frameon=False, fontsize="small", handlelength=1.4)
    return ax


def _end(curve: ReliabilityCurve, bias: FloatArray) -> float:
    """Return the end of the vertical axis: about half of it holds the firm points, the rest is for the legend."""
    order = np.argsort(np.abs(bias))
    weight = np.cumsum(curve.weight[order])
    last = int(np.searchsorted(weight, FIRM * weight[-1]))
    largest = float(np.abs(bias)[order[min(last, len(order) - 1)]])
    width = 0.0
    if curve.low is not None and curve.high is not None:
        width = float(np.average(curve.high - curve.low, weights=curve.weight)) / 2
    return 1.9 * max(largest, width) or 0.01


def _beyond(ax: "Axes", curve: ReliabilityCurve, bias: FloatArray, beyond: BoolArray) -> None:
    low, high = ax.get_ylim()
    for i in np.flatnonzero(beyond).tolist():
        end, marker = (high, "^") if bias[i] > 0 else (low, "v")
        colour = RED if off_points(curve)[i] else BLUE
        ax.plot(curve.predicted[i], end, color=colour, marker=marker, markersize=6, clip_on=False, zorder=4)
