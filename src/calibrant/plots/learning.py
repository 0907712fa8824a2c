"""Learning curves: quality against the number of rows of the calibration set."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from calibrant.exceptions import InputError
from calibrant.plots.canvas import GREY, PALETTE, axes_or_new, open_frame
from calibrant.results import LearningCurve, LearningPoint
from calibrant.results.writing import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = "osDPX*ph"


def plot_learning_curve(curve: LearningCurve, ax: "Axes | None" = None, *, metric: str | None = None) -> "Axes":
    """Draw one metric of every calibrator against the number of rows that it was fitted to.

    Parameters
    ----------
    curve : LearningCurve
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default the axes of a new figure.
    metric : str, optional
        One of the curve's; the first, if not given.

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    The dashed line is the metric of the predictions as they are: where a curve is above it, the calibrator makes
    them worse. The bars are one standard deviation of the paired difference from it. The axis is chosen for what the
    largest size reaches; triangles at its end stand for values beyond it, infinite ones among them.
    """
    metric = curve.metrics[0] if metric is None else metric
    if metric not in curve.metrics:
        raise InputError(f"metric must be one of {', '.join(curve.metrics)}, but is {metric!r}.")
    ax = axes_or_new(ax, 7.4, 4.4)
    open_frame(ax)
    ax.set_xscale("log")
    ax.set(xlabel="Rows the calibrator is fitted to", ylabel=f"{metric} on {curve.n_held_out:,} held-out rows")
    ax.set_xticks(curve.sizes, [f"{size:,}" for size in curve.sizes])
    ax.minorticks_off()
    before = curve.baseline[metric]
    if np.isfinite(before):
        label = f"as they are: {number(before)}"
        ax.axhline(before, color=GREY, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1, label=label)
    low, high = _window(curve, metric)
    ax.set_ylim(low, high)
    for i, name in enumerate(curve.calibrators):
        _line(ax, curve.of(name, metric), name, i, len(curve.calibrators))
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize="small")
    return ax


def _window(curve: LearningCurve, metric: str) -> tuple[float, float]:
    """Return ends of the vertical axis that a single wild value does not move."""
    points = [point for name in curve.calibrators for point in curve.of(name, metric)]
    all_values = np.array([curve.baseline[metric], *(point.value for point in points)])
    settled = np.array([curve.baseline[metric], *(point.value for point in points if point.size == curve.sizes[-1])])
    all_values, settled = (values[np.isfinite(values)] for values in (all_values, settled))
    if not len(settled):
        return 0.0, 1.0
    low, high = float(settled.min()), float(settled.max())
    room = (high - low) or abs(low) or 1.0
    margin = 0.06 * room
    return max(low - room, float(all_values.min())) - margin, min(high + room, float(all_values.max())) + margin


def _line(ax: "Axes", points: Sequence[LearningPoint], name: str, i: int, n_lines: int) -> None:
    # Side by side, so that bars of several calibrators do not cover each other.
    shift = 1.0 + 0.02 * (i - (n_lines - 1) / 2)
    low, high = ax.get_ylim()
    inside = [low <= point.value <= high for point in points]
    colour = PALETTE[i % len(PALETTE)]
    ax.errorbar(
        [point.size * shift for point in points],
        [point.value if shown else np.nan for point, shown in zip(points, inside, strict=True)],
        yerr=[_bar(point) if shown else 0.0 for point, shown in zip(points, inside, strict=True)],
        color=colour,
        marker=MARKERS[i % len(MARKERS)],
        markersize=4.5,
        linewidth=1.6,
        elinewidth=0.9,
        zorder=3,
        label=name,
    )
    for point, shown in zip(points, inside, strict=True):
        if not shown:
            end, marker = (high, "^") if point.value > high else (low, "v")
            ax.plot(point.size * shift, end, color=colour, marker=marker, markersize=7, clip_on=False, zorder=4)


def _bar(point: LearningPoint) -> float:
    return point.change_deviation if np.isfinite(point.change_deviation) else 0.0
