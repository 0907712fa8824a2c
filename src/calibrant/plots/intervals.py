"""Prediction intervals on rows that they were not fitted to."""

from typing import TYPE_CHECKING

import numpy as np

from calibrant.plots.canvas import INK, axes_or_new, open_frame
from calibrant.results import IntervalCheck
from calibrant.results.drawing import BLUE, RED

if TYPE_CHECKING:
    from matplotlib.axes import Axes


WIDE = 4.0
"""Inches from which on the legend has two columns."""


def plot_intervals(check: IntervalCheck, ax: "Axes | None" = None) -> "Axes":
    """Draw some rows: the forecasts' own intervals, the fitted ones, and the targets.

    Parameters
    ----------
    check : IntervalCheck
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default the axes of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    Rows are sorted by their forecasts. Targets outside their fitted interval are red; infinite intervals reach the
    edge. The legend says how many targets of all judged rows are held.
    """
    ax = axes_or_new(ax, 8.0, 3.6)
    open_frame(ax)
    rows = check.rows
    place = np.arange(len(rows.target))
    ends = np.concatenate([rows.target, rows.low_before, rows.high_before, rows.low, rows.high])
    finite = ends[np.isfinite(ends)]
    margin = 0.04 * (float(np.ptp(finite)) or 1.0)
    bottom, top = float(finite.min()) - margin, float(finite.max()) + margin
    own = f"forecasts' own: {check.total.before:.1%} held"
    ax.vlines(
        place,
        rows.low_before.clip(bottom, top),
        rows.high_before.clip(bottom, top),
        colors=INK,
        alpha=0.25,
        linewidth=4,
        label=own,
    )
    fitted = f"fitted: {check.total.covered:.1%} held"
    ax.vlines(place, rows.low.clip(bottom, top), rows.high.clip(bottom, top), colors=BLUE, linewidth=1.4, label=fitted)
    missed = (rows.target < rows.low) | (rows.target > rows.high)
    ax.scatter(place[~missed], rows.target[~missed], 12, color=INK, zorder=3, label="targets")
    if missed.any():
        ax.scatter(place[missed], rows.target[missed], 18, color=RED, marker="D", zorder=4, label="outside")
    lines = 2 if ax.get_window_extent().width > WIDE * ax.figure.dpi else 4
    ax.set(xlim=(-1, len(place)), ylim=(bottom, top + 0.14 * lines * (top - bottom)), xticks=[])
    ax.set(xlabel=f"{len(place)} of {check.total.n_samples:,} rows, by forecast", ylabel="Value")
    ax.set_title(f"{100 * check.level:g}% intervals", fontsize="medium")
    ax.legend(loc="upper left", ncols=4 // lines, frameon=False, fontsize="small", handlelength=1.2, borderpad=0.1)
    return ax
