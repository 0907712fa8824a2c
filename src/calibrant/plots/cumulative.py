"""The running sum of outcomes minus predictions."""

from typing import TYPE_CHECKING

import numpy as np

from calibrant._border.numerals import counted, decimals, number
from calibrant.plots.canvas import DASHED, GREY, INK, MINUS, SIGMA, note, open_axes
from calibrant.results import CumulativeCurve
from calibrant.results.drawing import BLUE, RED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WORDS = {"class": "Prediction at this share", "top-label": "Confidence at this share"}


def plot_cumulative(curve: CumulativeCurve, ax: "Axes | None" = None) -> "Axes":
    """Draw the running sum of outcomes minus predictions against the share of rows.

    Parameters
    ----------
    curve : CumulativeCurve
        From `calibrant.curves.cumulative_curve`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default the axes of a new figure.

    Notes
    -----
    Where the line rises, events are more frequent than predicted; its slope is frequency minus prediction. The grey
    triangle at the origin has a height of two standard deviations of chance to either side: a path that stays within
    that height is no surprise. The interval of predictions with the largest net error is red.
    """
    ax = open_axes(ax, 5.0, 3.8)
    ticks = [0.0, 0.25, 0.5, 0.75, 1.0]
    ax.set(xlim=(0, 1), xticks=ticks, xlabel="Share of rows, in order")
    ax.set_ylabel(f"Sum of outcome {MINUS} prediction")
    ax.axhline(0, color=GREY, linewidth=1, linestyle=DASHED, zorder=1)
    if curve.sigma > 0:
        high = 2 * curve.sigma
        ax.fill(
            [0, 0.05, 0], [-high, 0, high], color=GREY, alpha=0.6, linewidth=0, zorder=2, label=f"± 2 {SIGMA} of chance"
        )
    ax.plot(curve.share, curve.cumulative, color=BLUE, linewidth=1.6, zorder=3)
    _worst(ax, curve)
    _room(ax, curve)
    _scores(ax, curve, ticks)
    return ax


def _worst(ax: "Axes", curve: CumulativeCurve) -> None:
    worst = curve.worst
    if worst is None:
        return
    inside = (curve.share >= worst.start) & (curve.share <= worst.stop)
    label = (
        f"predictions {decimals(worst.lower, 2)} to {decimals(worst.upper, 2)}: too "
        f"{'low' if worst.net > 0 else 'high'}"
    )
    ax.plot(curve.share[inside], curve.cumulative[inside], color=RED, linewidth=2.4, zorder=4, label=label)


def _room(ax: "Axes", curve: CumulativeCurve) -> None:
    """Write numbers and legend above the path, where room is made for them."""
    low = min(float(curve.cumulative.min()), -2 * curve.sigma)
    high = max(float(curve.cumulative.max()), 2 * curve.sigma)
    span = (high - low) or 1.0
    ax.set_ylim(low - 0.06 * span, high + 0.55 * span)
    size = f"{curve.ecce.name} {number(curve.ecce.value)}"
    if curve.sigma > 0:
        size += f" = {decimals(curve.ecce.value / curve.sigma, 1)} {SIGMA}"
    note(ax, f"{size}, {counted(curve.n_samples)}")
    if ax.get_legend_handles_labels()[0]:
        ax.legend(loc="upper left", bbox_to_anchor=(0.0, 0.9), frameon=False, fontsize="small", handlelength=1.4)


def _scores(ax: "Axes", curve: CumulativeCurve, ticks: list[float]) -> None:
    above = ax.secondary_xaxis("top")
    scores = curve.predicted[np.minimum(np.searchsorted(curve.share, ticks), len(curve.share) - 1)]
    above.set_xticks(ticks, [decimals(score, 2) for score in scores])
    above.tick_params(length=2, labelsize="small", colors=INK)
    above.set_xlabel(WORDS[curve.view], fontsize="small")
    above.spines["top"].set_visible(False)
