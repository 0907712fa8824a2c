"""Reliability diagrams."""

from dataclasses import replace
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from calibrant._border.numerals import counted
from calibrant._border.types import FloatArray
from calibrant.plots.canvas import (
    GREY,
    INK,
    PALE,
    PALETTE,
    SIDES,
    diagonal,
    faded,
    mark_points,
    note,
    open_axes,
    unit_square,
)
from calibrant.results import ReliabilityCurve
from calibrant.results.drawing import BLUE, RED
from calibrant.results.drawing.reliability import (
    WORDS,
    Kind,
    ReliabilityFigure,
    Strip,
    Words,
    error_text,
    reliability_figure,
    spread,
    words_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


def plot_reliability(curve: ReliabilityCurve, ax: "Axes | None" = None) -> "Axes":
    """Draw a reliability diagram: the curve, its limits, the diagonal, the error, and the distribution of predictions.

    Parameters
    ----------
    curve : ReliabilityCurve
        From `reliability_curve`, `kernel_curve` or `isotonic_curve`.
    ax : matplotlib.axes.Axes, optional
        Where to draw. By default the axes of a new figure, which pyplot does not manage: save it with
        `plot_reliability(curve).figure.savefig("diagram.png")`.

    Notes
    -----
    Red diamonds and red stretches are off: the confidence limits miss the diagonal, or the curve leaves the consistency
    band. Faint points stand for too few rows to say much. The strip above the square shows the distribution of the
    predictions on a square-root scale: upwards the rows with the event, downwards the others. Its number is the share
    of rows in the tallest bar.

    Examples
    --------
    >>> from calibrant import Predictions, reliability_curve
    >>> ax = plot_reliability(reliability_curve(Predictions([0.2, 0.4, 0.9], labels=[0, 1, 1])))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('Predicted probability', 'Observed frequency')
    """
    figure, words = reliability_figure(curve), WORDS[curve.view]
    ax = open_axes(ax)
    unit_square(ax, words.horizontal, words.vertical)
    diagonal(ax, "perfectly calibrated", figure.calibrated)
    _draw(ax, figure, words, spread(curve))
    note(ax, "\n".join(_facts(curve)), fontsize=None)
    _legend(ax, figure, "lower right")
    return ax


def plot_bias(curve: ReliabilityCurve, ax: "Axes | None" = None) -> "Axes":
    """Draw the bias, prediction minus frequency, against the prediction, so that small errors are visible.

    Parameters
    ----------
    curve : ReliabilityCurve
        From `reliability_curve`, `kernel_curve` or `isotonic_curve`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default the axes of a new figure.

    Notes
    -----
    Above 0, predictions are too high: what is below the diagonal of `plot_reliability` is above 0 here. The vertical
    axis fits the points, with their limits, that stand for 98% of the rows; triangles at its ends are points beyond it.
    """
    figure, words = reliability_figure(curve, tilted=True), words_of([curve], tilted=True)
    ax = open_axes(ax, 5.0, 4.2)
    ax.set(xlim=SIDES, ylim=figure.ends, xlabel=words.horizontal, ylabel=words.vertical)
    diagonal(ax, None, figure.calibrated)
    _draw(ax, figure, words, spread(curve))
    low = float(np.average(figure.y, weights=curve.weight)) < 0  # Then the legend has more room above.
    note(ax, ", ".join(_facts(curve)), below=low)
    _legend(ax, figure, "upper right" if low else "lower right")
    return ax


def _facts(curve: ReliabilityCurve) -> list[str]:
    """Return the error of the curve, if it is known, and how many rows it stands for."""
    return [*filter(None, [error_text(curve)]), counted(int(curve.count.sum()))]


LINES: dict[Kind, dict[str, Any]] = {
    "faint": {"color": BLUE, "linewidth": 0.8, "alpha": 0.35, "zorder": 3},
    "plain": {"color": BLUE, "linewidth": 1.4, "zorder": 3},
    "off": {"color": RED, "linewidth": 2.6, "solid_capstyle": "round", "zorder": 4},
}
"""How stretches of a curve are drawn."""

LARGEST = 9.4
"""Diameter, in points, of a mark that stands for all rows."""


def _draw(ax: "Axes", figure: ReliabilityFigure, words: Words, rows: Strip) -> None:
    """Draw limits, lines and marks, the distribution of predictions above, and the meaning of the sides beside them."""
    _limits(ax, figure, BLUE if not figure.is_soft else GREY if figure.is_line else PALE)
    for kind, parts in figure.lines.items():
        y = np.full(len(figure.x), np.nan)
        for part in parts:
            y[part] = figure.y[part]
        if parts:
            ax.plot(figure.x, y, label=figure.off_label if kind == "off" else None, **LINES[kind])
    if not figure.is_line:
        _marks(ax, figure)
    _strip(ax, rows, words)
    style: dict[str, Any] = {"rotation": 90, "color": GREY, "fontsize": "x-small", "fontstyle": "italic"}
    for height, word, side in ((1.0, words.above, "top"), (0.0, words.below, "bottom")):
        ax.text(1.01, height, "\n".join(wrap(word, 10)), transform=ax.transAxes, va=side, **style)


def _limits(ax: "Axes", figure: ReliabilityFigure, colour: str, alpha: float = 0.25) -> None:
    """Draw the band of a line, or the whiskers of points."""
    x, low, high, label = figure.x, figure.low, figure.high, figure.limits_label
    if low is None or high is None:
        return
    if figure.is_line:
        ax.fill_between(x, low, high, color=colour, alpha=alpha, linewidth=0, zorder=2, label=label)
    else:
        width = 7 if figure.is_soft else 1.2
        ax.vlines(x, low, high, colors=faded(colour, figure.vague), linewidth=width, zorder=2, label=label)


def _marks(ax: "Axes", figure: ReliabilityFigure) -> None:
    """Draw the points, those beyond the axis as triangles at its end."""
    inside, size, vague = figure.beyond == 0, (LARGEST * figure.size) ** 2, figure.vague
    x, y, size = figure.x[inside], figure.mark[inside], size[inside]
    mark_points(ax, x, y, size, off=figure.off[inside], label=figure.off_label, vague=vague[inside])
    for i in np.flatnonzero(figure.beyond).tolist():
        marker = "^" if figure.beyond[i] > 0 else "v"
        (colour,) = faded(RED if figure.off[i] else BLUE, vague[i : i + 1])
        ax.plot(figure.x[i], figure.mark[i], color=colour, marker=marker, markersize=6, clip_on=False, zorder=4)


def _strip(ax: "Axes", rows: Strip, words: Words) -> None:
    """Draw the distribution of the predictions above the axes, one outcome upwards and the other downwards."""
    panel = ax.inset_axes((0.0, 1.02, 1.0, 0.16), sharex=ax)
    left, right = np.array(rows.spans).T
    _bars(panel, left, right, rows.up, BLUE)
    panel.axhline(0, color=INK, linewidth=0.6)
    panel.set_ylim(0 if rows.down is None else -1.05, 1.05)
    style: dict[str, Any] = {"transform": panel.transAxes, "va": "center", "fontsize": "small"}
    if rows.down is not None:
        _bars(panel, left, right, -rows.down, PALE)
        panel.text(1.01, 0.25, words.other, color=GREY, **style)
    panel.text(1.01, 0.75, "rows" if rows.down is None else words.event, color=BLUE, **style)
    panel.text(-0.01, 0.9, rows.largest, color=GREY, ha="right", **style)
    panel.set_axis_off()


def _bars(panel: "Axes", left: FloatArray, right: FloatArray, heights: FloatArray, colour: str) -> None:
    """Stand bars on the line at 0, as one artist: a patch for each takes longer than all else in the figure."""
    from matplotlib.collections import PolyCollection

    corners = np.array([(left, 0 * left), (left, heights), (right, heights), (right, 0 * left)])
    panel.add_collection(PolyCollection([*corners.transpose(2, 0, 1)], color=colour, linewidth=0), autolim=False)


def _legend(ax: "Axes", figure: ReliabilityFigure, where: Literal["upper right", "lower right"]) -> None:
    """Draw a legend, if anything has a label."""
    if ax.get_legend_handles_labels()[0]:
        legend = ax.legend(loc=where, frameon=False, fontsize="small", handlelength=1.4)
        for handle in () if figure.is_line else filter(None, legend.legend_handles):
            handle.set_alpha(1)  # The first point may be faint.


SQUARE = "calibrant-diagonal"
"""Identifies the diagonal on axes that already have one."""


def add_reliability(
    curve: ReliabilityCurve, ax: "Axes | None" = None, *, name: str = "", **settings: Any
) -> "tuple[Axes, Line2D]":
    """Draw a reliability curve and its band on axes that may already show others.

    Parameters
    ----------
    curve : ReliabilityCurve
    ax : matplotlib.axes.Axes, optional
        By default the axes of a new figure.
    name : str, optional
        Name of the curve in the legend; its error is added.
    **settings
        Settings of the line, such as ``color``; by default the next colour of the palette.

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
    ax = open_axes(ax)
    drawn = [line for line in ax.lines if line.get_gid() == SQUARE]
    if not drawn:
        unit_square(ax, WORDS[curve.view].horizontal, WORDS[curve.view].vertical)
        diagonal(ax, "perfectly calibrated")
        ax.lines[-1].set_gid(SQUARE)
    place = len([line for line in ax.lines if line.get_gid() == _LINE])
    figure = reliability_figure(curve)
    style = {"color": PALETTE[place % len(PALETTE)], "marker": "" if figure.is_line else "o"}
    label = ", ".join(filter(None, (name, error_text(curve))))
    (line,) = ax.plot(figure.x, figure.y, label=label, zorder=3, gid=_LINE, **{**style, **settings})
    _limits(ax, replace(figure, limits_label="_nolegend_"), str(line.get_color()), 0.12)
    ax.legend(loc="upper left", frameon=False, fontsize="small")
    return ax, line


_LINE = "calibrant-reliability"
"""Identifies the curves of models, which are counted to choose the next colour."""
