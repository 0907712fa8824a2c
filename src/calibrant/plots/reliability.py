"""Reliability diagrams."""

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from calibrant._border.numerals import counted, number
from calibrant._border.types import BoolArray, FloatArray
from calibrant.plots.canvas import (
    GREY,
    INK,
    MINUS,
    PALE,
    PALETTE,
    axes_or_new,
    diagonal,
    mark_points,
    note,
    open_frame,
    unit_square,
)
from calibrant.results import OutcomeHistogram, ReliabilityCurve
from calibrant.results.drawing import BLUE, RED, WORDS, Words, is_dense, limits_label, off_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


def plot_reliability(curve: ReliabilityCurve, ax: "Axes | None" = None) -> "Axes":
    """Draw a reliability diagram: the curve, its limits, the diagonal, the error, and the spread of the predictions.

    Parameters
    ----------
    curve : ReliabilityCurve
        Of any kind: `reliability_curve`, `kernel_curve` or `isotonic_curve`.
    ax : matplotlib.axes.Axes, optional
        Where to draw. By default the axes of a new figure, which pyplot does not know: save it with
        `plot_reliability(curve).figure.savefig("diagram.png")`.

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    Diamonds and red stretches are off: the confidence limits miss the diagonal, or the curve leaves the consistency
    band. The strip above the square counts rows, upwards those for which the event happened, downwards the others.

    Examples
    --------
    >>> from calibrant import Predictions, reliability_curve
    >>> ax = plot_reliability(reliability_curve(Predictions([0.2, 0.4, 0.9], labels=[0, 1, 1])))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('Predicted probability', 'Observed frequency')
    """
    ax = axes_or_new(ax)
    words = WORDS[curve.view]
    unit_square(ax, words.horizontal, words.vertical)
    diagonal(ax, "perfectly calibrated")
    draw_limits(ax, curve, curve.low, curve.high)
    label = "limits miss the diagonal" if curve.band == "confidence" else "outside the band"
    draw_curve(ax, curve, curve.observed, label)
    note(ax, "\n".join(facts(curve)), fontsize=None)
    if curve.histogram is not None:
        strip(ax, curve.histogram, words)
    ax.legend(loc="lower right", frameon=False, fontsize="small")
    return ax


def draw_limits(ax: "Axes", curve: ReliabilityCurve, low: FloatArray | None, high: FloatArray | None) -> None:
    """Draw the limits at their heights: whiskers of points, the band of a line."""
    if low is None or high is None:
        return
    confidence, label = curve.band == "confidence", limits_label(curve)
    if is_dense(curve):
        colour = BLUE if confidence else GREY
        ax.fill_between(curve.predicted, low, high, color=colour, alpha=0.25, linewidth=0, zorder=2, label=label)
    else:
        colour, width = (BLUE, 1.2) if confidence else (PALE, 7)
        ax.vlines(curve.predicted, low, high, colors=colour, linewidth=width, zorder=2, label=label)


def draw_curve(ax: "Axes", curve: ReliabilityCurve, y: FloatArray, label: str, inside: BoolArray | None = None) -> None:
    """Draw the curve at its heights: points, of which only those `inside` have markers, or a line if there are many."""
    off, x = off_points(curve), curve.predicted
    if not is_dense(curve):
        ax.plot(x, y, color=BLUE, linewidth=1, alpha=0.5, zorder=3)
        size = 18 + 70 * (curve.weight / curve.weight.sum()) ** 0.5
        mark_points(ax, x, y, size, off=off, shown=np.ones(len(x), bool) if inside is None else inside, label=label)
        return
    ax.plot(x, y, color=BLUE, linewidth=1.6, zorder=3)
    if off.any():
        outside = np.where(off, y, np.nan)
        ax.plot(x, outside, label=label, color=RED, linewidth=2.6, solid_capstyle="round", zorder=4)


def facts(curve: ReliabilityCurve) -> list[str]:
    """Return the error of the curve, if it is known, and how many rows it stands for."""
    error = [] if curve.error is None else [f"{curve.error.name} {number(curve.error.value)}"]
    return [*error, counted(int(curve.count.sum()))]


def strip(ax: "Axes", histogram: OutcomeHistogram, words: Words) -> None:
    """Stand the histogram on top of the axes, one outcome upwards and the other downwards."""
    panel = ax.inset_axes((0.0, 1.02, 1.0, 0.16), sharex=ax)
    left, width = histogram.edges[:-1], histogram.edges[1:] - histogram.edges[:-1]
    panel.bar(left, histogram.positives, width, align="edge", color=BLUE)
    panel.bar(left, -histogram.negatives, width, align="edge", color=PALE)
    panel.axhline(0, color=INK, linewidth=0.6)
    panel.text(1.01, 0.75, words.event, transform=panel.transAxes, va="center", fontsize="small", color=BLUE)
    panel.text(1.01, 0.25, words.other, transform=panel.transAxes, va="center", fontsize="small", color=GREY)
    top = max(histogram.positives.max(), histogram.negatives.max()) or 1.0
    panel.set_ylim(-1.05 * top, 1.05 * top)
    panel.set_axis_off()


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
    _beside(ax, 1.0, "too high →", "top")
    _beside(ax, 0.0, "← too low", "bottom")
    if curve.histogram is not None:
        strip(ax, curve.histogram, words)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(loc="lower right", frameon=False, fontsize="small", handlelength=1.4)
    return ax


def _beside(ax: "Axes", height: float, word: str, side: Literal["top", "bottom"]) -> None:
    """Write along the right edge of the axes."""
    place = ax.transAxes
    ax.text(1.02, height, word, transform=place, rotation=90, va=side, color=GREY, fontsize="small", fontstyle="italic")


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


SQUARE = "calibrant-diagonal"
"""The mark of axes that already show a diagonal."""


def add_reliability(
    curve: ReliabilityCurve, ax: "Axes | None" = None, *, name: str = "", **settings: Any
) -> "tuple[Axes, Line2D]":
    """Draw a reliability curve and its band, beside those that are on the axes already.

    Parameters
    ----------
    curve : ReliabilityCurve
    ax : matplotlib.axes.Axes, optional
        By default the axes of a new figure.
    name : str, optional
        What the legend calls it; its error is added.
    **settings
        Of the line, such as ``color``; by default the next colour of the palette.

    Returns
    -------
    Axes, Line2D

    Examples
    --------
    >>> from calibrant import reliability_curve
    >>> ax, _ = add_reliability(reliability_curve([0, 1, 1], [0.2, 0.4, 0.9]), name="first")
    >>> ax, _ = add_reliability(reliability_curve([0, 1, 1], [0.1, 0.8, 0.9]), ax, name="second")
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['perfectly calibrated', 'first, ECE 0.300', 'second, ECE 0.133']
    """
    ax = axes_or_new(ax)
    drawn = [line for line in ax.lines if line.get_gid() == SQUARE]
    if not drawn:
        unit_square(ax, WORDS[curve.view].horizontal, WORDS[curve.view].vertical)
        diagonal(ax, "perfectly calibrated")
        ax.lines[-1].set_gid(SQUARE)
    place = len([line for line in ax.lines if line.get_gid() == _LINE])
    style = {"color": PALETTE[place % len(PALETTE)], "marker": "" if is_dense(curve) else "o"}
    (line,) = ax.plot(
        curve.predicted, curve.observed, label=_label(curve, name), zorder=3, gid=_LINE, **{**style, **settings}
    )
    if curve.low is not None and curve.high is not None:
        ax.fill_between(curve.predicted, curve.low, curve.high, color=line.get_color(), alpha=0.12, linewidth=0)
    ax.legend(loc="upper left", frameon=False, fontsize="small")
    return ax, line


_LINE = "calibrant-reliability"
"""The mark of lines of models, which are counted to choose the next colour."""


def _label(curve: ReliabilityCurve, name: str) -> str:
    """Return the entry of a legend."""
    error = "" if curve.error is None else f"{curve.error.name} {number(curve.error.value)}"
    return ", ".join(filter(None, (name, error)))
