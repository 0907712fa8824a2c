"""The bias view of a reliability curve: how far predictions are off, on a scale of their own."""

from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant._typing import BoolArray, FloatArray
from calibrant.plots.canvas import BLUE, GREY, INK, MINUS, PALE, RED, axes_or_new, open_frame, rows, significant
from calibrant.plots.reliability import MANY_POINTS, WORDS, band_label, off_points, strip
from calibrant.results import ReliabilityCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIRM = 0.98
"""The vertical axis is chosen for the points behind which this share of the rows stands."""


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
    Above 0 predictions are too high. The vertical axis fits the points that stand for 98 % of the rows; triangles at
    its ends are points beyond it, behind which there are few rows.
    """
    ax = axes_or_new(ax, 5.0, 4.2)
    open_frame(ax)
    horizontal, _, event, other = WORDS[curve.view]
    ax.set(xlim=(-0.01, 1.01), xlabel=horizontal, ylabel=f"Prediction {MINUS} frequency")
    bias = curve.predicted - curve.observed
    end = _end(curve, bias)
    ax.set_ylim(-end, end)
    ax.axhline(0, color=GREY, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    _limits(ax, curve)
    _points(ax, curve, bias, end)
    lines = [] if curve.error is None else [f"{curve.error.name} {significant(curve.error.value)}"]
    lines.append(rows(int(curve.count.sum())))
    ax.text(0.02, 0.98, ", ".join(lines), transform=ax.transAxes, va="top", color=INK, fontsize="small")
    for word, height, side in (("too high →", 1.0, "top"), ("← too low", 0.0, "bottom")):
        style: dict[str, Any] = {"transform": ax.transAxes, "rotation": 90, "va": side, "color": GREY}
        ax.text(1.02, height, word, fontsize="small", fontstyle="italic", **style)
    if curve.histogram is not None:
        strip(ax, curve.histogram, event, other)
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


def _limits(ax: "Axes", curve: ReliabilityCurve) -> None:
    if curve.low is None or curve.high is None:
        return
    low, high = curve.predicted - curve.high, curve.predicted - curve.low
    confidence = curve.band == "confidence"
    if len(curve.predicted) < MANY_POINTS:
        colour, width = (BLUE, 1.2) if confidence else (PALE, 7)
        label = band_label(curve, "interval")
        ax.vlines(curve.predicted, low, high, colors=colour, linewidth=width, zorder=2, label=label)
    else:
        colour, label = BLUE if confidence else GREY, band_label(curve, "band")
        ax.fill_between(curve.predicted, low, high, color=colour, alpha=0.25, linewidth=0, zorder=2, label=label)


def _points(ax: "Axes", curve: ReliabilityCurve, bias: FloatArray, end: float) -> None:
    off = off_points(curve)
    label = "limits miss 0" if curve.band == "confidence" else "outside the band"
    x = curve.predicted
    if len(x) >= MANY_POINTS:
        ax.plot(x, bias, color=BLUE, linewidth=1.6, zorder=3)
        if off.any():
            ax.plot(x, np.where(off, bias, np.nan), color=RED, linewidth=2.6, zorder=4, label=label)
        return
    ax.plot(x, bias, color=BLUE, linewidth=1, alpha=0.5, zorder=3)
    size = 18 + 70 * (curve.weight / curve.weight.sum()) ** 0.5
    inside = np.abs(bias) <= end
    for chosen, colour, marker, name in ((~off, BLUE, "o", None), (off, RED, "D", label)):
        shown = chosen & inside
        if shown.any():
            style: dict[str, Any] = {
                "color": colour,
                "marker": marker,
                "edgecolors": "white",
                "linewidths": 0.6,
                "zorder": 4,
            }
            ax.scatter(x[shown], bias[shown], size[shown], label=name, **style)
        _beyond(ax, x, bias, chosen & ~inside, colour)


def _beyond(ax: "Axes", x: FloatArray, bias: FloatArray, beyond: BoolArray, colour: str) -> None:
    low, high = ax.get_ylim()
    for place, value in zip(x[beyond].tolist(), bias[beyond].tolist(), strict=True):
        end, marker = (high, "^") if value > 0 else (low, "v")
        ax.plot(place, end, color=colour, marker=marker, markersize=6, clip_on=False, zorder=4)
