"""Models against a baseline, metric by metric; calibrators against the number of rows that they are fitted to."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from calibrant._border.numerals import count, number, percent, with_sign
from calibrant.exceptions import InputError
from calibrant.plots.canvas import DASHED, GREY, INK, MINUS, PALETTE, open_axes, shown_name
from calibrant.results import Compared, Comparison, LearningCurve, LearningPoint, known_limits

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = "osD^vPX*ph"
WITHOUT_TRIANGLES = "osDPX*ph"  # Triangles stand for values beyond the axis.


def plot_comparison(comparison: Comparison, ax: "Axes | None" = None) -> "Axes":
    """Draw every model's difference from the baseline with its limits, each metric on its own scale.

    Parameters
    ----------
    comparison : Comparison
        From `calibrant.compare`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default the axes of a new figure.

    Notes
    -----
    Better is to the left: if larger values of a metric are better, its differences are mirrored, but their numbers are
    not. Metrics have different units, so each is drawn in units of its largest limit, and the difference itself is
    written on the right. Markers of significant differences are filled; differences without valid limits have no bar.
    """
    models = [model for model in comparison.models if model != comparison.baseline]
    if not models:
        raise InputError("comparison must have a model besides the baseline, but has none.")
    n_rows = len(comparison.metrics) * len(models)
    ax = open_axes(ax, 6.0, 1.3 + 0.22 * n_rows + 0.12 * len(comparison.metrics))
    ax.spines["left"].set_visible(False)
    ax.axvline(0, color=GREY, linewidth=1, zorder=1)
    middles = []
    for row, metric in enumerate(comparison.metrics):
        entries = [comparison.entry(model, metric) for model in models]
        places = row * (len(models) + 0.6) + np.arange(len(models))
        scale = _scale(entries)
        for i, (entry, place) in enumerate(zip(entries, places.tolist(), strict=True)):
            _difference(ax, entry, place, scale, i)
        middles.append(float(places.mean()))
    _axes(ax, comparison, middles)
    for i, model in enumerate(models):
        colour, marker = PALETTE[i % len(PALETTE)], MARKERS[i % len(MARKERS)]
        ax.plot([], [], color=colour, marker=marker, markersize=4.5, linewidth=1.4, label=shown_name(model))
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False, fontsize="small", ncols=min(3, len(models)))
    return ax


def _bounds(entry: Compared) -> tuple[float, float, float]:
    """Return the difference and its limits in units of the metric; not a number where there are none."""
    difference = entry.difference
    if difference is None:
        return np.nan, np.nan, np.nan
    return difference.value, *(known_limits(difference) or (np.nan, np.nan))


def _scale(entries: list[Compared]) -> float:
    values = np.array([_bounds(entry) for entry in entries])
    return float(np.abs(values).max(initial=0.0, where=np.isfinite(values))) or 1.0


def _difference(ax: "Axes", entry: Compared, place: float, scale: float, i: int) -> None:
    value, low, high = _bounds(entry)
    side = -1.0 if entry.better == "higher" else 1.0
    colour, marker = PALETTE[i % len(PALETTE)], MARKERS[i % len(MARKERS)]
    if np.isfinite([low, high]).all():
        ax.plot([side * low / scale, side * high / scale], [place, place], color=colour, linewidth=1.4, zorder=2)
    is_significant = entry.difference is not None and entry.difference.is_significant
    face = colour if is_significant else "white"
    if np.isfinite(value):
        x = side * value / scale
        ax.plot(x, place, color=colour, marker=marker, markersize=5, markerfacecolor=face, zorder=3)
    elif not np.isnan(value):
        x = 1.1 * side * float(np.sign(value))
        ax.plot(x, place, color=colour, marker="<" if x < 0 else ">", markersize=6, markerfacecolor=face, zorder=3)
    written = (
        "none"
        if np.isnan(value)
        else "0"
        if value == 0
        else with_sign(value, 2).replace("-", MINUS).replace("inf", "∞")
    )
    ax.text(1.22, place, written, va="center", ha="left", fontsize="small", color=INK)


def _axes(ax: "Axes", comparison: Comparison, middles: list[float]) -> None:
    ax.set_yticks(middles, [shown_name(metric, 20) for metric in comparison.metrics], fontsize="small")
    ax.tick_params(axis="y", length=0)
    ax.set(xlim=(-1.2, 1.2), xticks=[])
    ax.invert_yaxis()
    share = percent(comparison.level)
    ax.set_xlabel(
        f"← better      worse →\ndifference from {shown_name(comparison.baseline)}, {share} limits", fontsize="small"
    )


def plot_learning_curve(curve: LearningCurve, ax: "Axes | None" = None, *, metric: str | None = None) -> "Axes":
    """Draw one metric of every calibrator against the number of rows that it was fitted to.

    Parameters
    ----------
    curve : LearningCurve
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default the axes of a new figure.
    metric : str, optional
        One of the curve's metrics; by default the first.

    Notes
    -----
    The dashed line is the metric of the predictions as they are: where a curve is above it, the calibrator makes
    them worse. The bars are one standard deviation of the paired difference from it. The axis is chosen for what the
    largest size reaches; triangles at its end stand for values beyond it, infinite ones among them.
    """
    metric = curve.metrics[0] if metric is None else metric
    if metric not in curve.metrics:
        raise InputError(f"metric must be one of {', '.join(curve.metrics)}, but is {metric!r}.")
    ax = open_axes(ax, 7.4, 4.4)
    ax.set_xscale("log")
    ax.set(xlabel="Rows the calibrator is fitted to", ylabel=f"{metric} on {count(curve.n_held_out)} held-out rows")
    ax.set_xticks(curve.sizes, [count(size) for size in curve.sizes])
    ax.minorticks_off()
    before = curve.baseline[metric]
    if np.isfinite(before):
        label = f"as they are: {number(before)}"
        ax.axhline(before, color=GREY, linewidth=1.2, linestyle=DASHED, zorder=1, label=label)
    low, high = _window(curve, metric)
    ax.set_ylim(low, high)
    for i, name in enumerate(curve.calibrators):
        _line(ax, curve.of(name, metric), name, i, len(curve.calibrators))
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize="small")
    return ax


def _window(curve: LearningCurve, metric: str) -> tuple[float, float]:
    """Return ends of the vertical axis that a single extreme value does not move."""
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
        marker=WITHOUT_TRIANGLES[i % len(WITHOUT_TRIANGLES)],
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
