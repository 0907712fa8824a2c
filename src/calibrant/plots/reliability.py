"""Reliability diagrams."""

from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant._border.types import BoolArray, FloatArray
from calibrant.plots.canvas import GREY, INK, PALE, axes_or_new, diagonal, mark_points, note, unit_square
from calibrant.results import OutcomeHistogram, ReliabilityCurve
from calibrant.results.drawing import BLUE, RED, WORDS, Words, is_dense, limits_label, off_points
from calibrant.results.writing import counted, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
        style: dict[str, Any] = {"color": RED, "linewidth": 2.6, "solid_capstyle": "round", "zorder": 4}
        ax.plot(x, np.where(off, y, np.nan), label=label, **style)


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
