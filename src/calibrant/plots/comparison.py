"""Models against a baseline, metric by metric."""

from typing import TYPE_CHECKING

import numpy as np

from calibrant.exceptions import InputError
from calibrant.plots.canvas import GREY, INK, MINUS, PALETTE, axes_or_new, open_frame, shown_name
from calibrant.results import Compared, Comparison, known_limits

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = "osD^vPX*ph"


def plot_comparison(comparison: Comparison, ax: "Axes | None" = None) -> "Axes":
    """Draw every model's difference from the baseline with its limits, on a scale of its own for each metric.

    Parameters
    ----------
    comparison : Comparison
        From `calibrant.compare`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default the axes of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    Better is to the left: differences of metrics of which more is better change their side, not their number. Metrics
    have different units, so each is drawn in units of its largest limit, and the difference itself is written on the
    right. Markers are filled where the difference is significant; differences without valid limits have no bar.
    """
    models = [model for model in comparison.models if model != comparison.baseline]
    if not models:
        raise InputError("comparison must have a model besides the baseline, but has none.")
    n_rows = len(comparison.metrics) * len(models)
    ax = axes_or_new(ax, 6.0, 1.3 + 0.22 * n_rows + 0.12 * len(comparison.metrics))
    open_frame(ax)
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
    significant = entry.difference is not None and entry.difference.is_significant
    face = colour if significant else "white"
    if np.isfinite(value):
        x = side * value / scale
        ax.plot(x, place, color=colour, marker=marker, markersize=5, markerfacecolor=face, zorder=3)
    elif not np.isnan(value):
        x = 1.1 * side * float(np.sign(value))
        ax.plot(x, place, color=colour, marker="<" if x < 0 else ">", markersize=6, markerfacecolor=face, zorder=3)
    written = (
        "none" if np.isnan(value) else "0" if value == 0 else f"{value:+.2g}".replace("-", MINUS).replace("inf", "∞")
    )
    ax.text(1.22, place, written, va="center", ha="left", fontsize="small", color=INK)


def _axes(ax: "Axes", comparison: Comparison, middles: list[float]) -> None:
    ax.set_yticks(middles, [shown_name(metric, 20) for metric in comparison.metrics], fontsize="small")
    ax.tick_params(axis="y", length=0)
    ax.set(xlim=(-1.2, 1.2), xticks=[])
    ax.invert_yaxis()
    share = f"{100 * comparison.level:g}%"
    ax.set_xlabel(
        f"← better      worse →\ndifference from {shown_name(comparison.baseline)}, {share} limits", fontsize="small"
    )
