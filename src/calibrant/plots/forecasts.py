"""Predictive distributions: transforms, coverage, errors against predicted standard deviations, and intervals."""

from typing import TYPE_CHECKING

import numpy as np

from calibrant._border.numerals import as_given, counted, percent
from calibrant._border.types import BoolArray
from calibrant.plots.canvas import DASHED, GREY, INK, diagonal, mark_points, note, open_axes, unit_square
from calibrant.results import IntervalCheck, PITHistogram, QuantileCurve, SpreadCurve
from calibrant.results.drawing import BLUE, RED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FEW = 25
"""Up to this number of levels, for example of quantile columns, each is marked."""

WIDE = 8.0
"""Standard deviations that differ by more than this factor are drawn on logarithmic axes."""

WIDE_AXES = 4.0
"""If axes are wider than this, in inches, the legend has two columns."""


def plot_pit(histogram: PITHistogram, ax: "Axes | None" = None) -> "Axes":
    """Draw the histogram of probability integral transforms, flat if the forecasts are calibrated.

    Parameters
    ----------
    histogram : PITHistogram
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default the axes of a new figure.

    Notes
    -----
    A U shape means that the laws are too narrow, a hump that they are too wide, a slope that they are shifted. Bars
    that leave the limits of chance are red.
    """
    ax = open_axes(ax, 5.0, 3.6)
    total = float(histogram.count.sum())
    count, low, high = (100 * part / total for part in (histogram.count, histogram.low, histogram.high))
    width = histogram.upper - histogram.lower
    off = (count < low) | (count > high)
    ax.bar(histogram.lower[~off], count[~off], width[~off], align="edge", color=BLUE, alpha=0.6, edgecolor="white")
    if off.any():
        label = "outside the limits"
        ax.bar(histogram.lower[off], count[off], width[off], align="edge", color=RED, edgecolor="white", label=label)
    edges = np.append(histogram.lower, histogram.upper[-1])
    lowest, highest = np.append(low, low[-1]), np.append(high, high[-1])
    by_chance = _chance(histogram.level)
    ax.fill_between(edges, lowest, highest, step="post", color=INK, alpha=0.22, linewidth=0, zorder=3, label=by_chance)
    ax.axhline(100 * histogram.expected / total, color=INK, linewidth=1, linestyle=DASHED, zorder=4)
    ax.set(xlim=(0, 1), xlabel="Probability integral transform", ylabel="Targets (%)")
    ax.set_ylim(0, 1.4 * float(max(count.max(), high.max())))
    note(ax, counted(histogram.n_samples))
    ax.legend(loc="upper right", frameon=False, fontsize="small", handlelength=1.2, borderpad=0.1)
    return ax


def plot_quantiles(curve: QuantileCurve, ax: "Axes | None" = None) -> "Axes":
    """Draw observed against nominal coverage of quantiles or central intervals.

    Parameters
    ----------
    curve : QuantileCurve
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default the axes of a new figure.

    Notes
    -----
    The band around the diagonal is where calibrated forecasts would be by chance; the curve is red outside it. If there
    are few levels, for example of quantile columns, each is marked.
    """
    ax = open_axes(ax, 5.0, 5.0)
    if curve.form == "interval":
        unit_square(ax, "Nominal coverage of the interval", "Observed coverage")
        hints = ((0.05, 0.80, "too wide", "left"), (0.97, 0.30, "too narrow", "right"))
        for x, y, word, side in hints:
            ax.text(x, y, word, ha=side, color=GREY, fontsize="small", fontstyle="italic")
    else:
        unit_square(ax, "Level of the predicted quantile", "Share of targets below it")
    diagonal(ax, "calibrated")
    ax.fill_between(
        curve.nominal, curve.low, curve.high, color=GREY, alpha=0.3, linewidth=0, zorder=2, label=_chance(curve.level)
    )
    ax.plot(curve.nominal, curve.observed, color=BLUE, linewidth=1.6, zorder=3)
    off = (curve.observed < curve.low) | (curve.observed > curve.high)
    if off.any():
        outside = np.where(off, curve.observed, np.nan)
        ax.plot(curve.nominal, outside, color=RED, linewidth=2.6, zorder=4, label="outside the limits")
    if len(curve.nominal) <= FEW:
        _mark_levels(ax, curve, off)
    note(ax, counted(curve.n_samples))
    _legend(ax)
    return ax


def _legend(ax: "Axes") -> None:
    ax.legend(loc="lower right", frameon=False, fontsize="small", handlelength=1.4, borderpad=0.1)


def _mark_levels(ax: "Axes", curve: QuantileCurve, off: BoolArray) -> None:
    """Mark every level, with its range by chance."""
    ax.vlines(curve.nominal, curve.low, curve.high, colors=GREY, linewidth=4, alpha=0.5, zorder=3)
    for rows, colour, marker in ((~off, BLUE, "o"), (off, RED, "D")):
        ax.scatter(curve.nominal[rows], curve.observed[rows], 26, color=colour, marker=marker, zorder=5)


def plot_spread(curve: SpreadCurve, ax: "Axes | None" = None) -> "Axes":
    """Draw the size of errors against the predicted standard deviation.

    Parameters
    ----------
    curve : SpreadCurve
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default the axes of a new figure.

    Notes
    -----
    Above the diagonal errors are larger than predicted: the forecasts are too narrow there. Axes are logarithmic if
    the standard deviations differ much. Red diamonds are bins whose confidence limits miss the diagonal.
    """
    ax = open_axes(ax, 5.0, 5.0)
    ends = _ends(ax, curve)
    ax.plot(ends, ends, color=GREY, linewidth=1, linestyle=DASHED, zorder=1, label="calibrated")
    label = f"{percent(curve.level)} confidence"
    ax.vlines(curve.predicted, curve.low, curve.high, colors=BLUE, linewidth=1.2, zorder=2, label=label)
    off = (curve.predicted < curve.low) | (curve.predicted > curve.high)
    size, vague = np.full(len(off), 32.0), np.zeros(len(off), dtype=bool)
    mark_points(ax, curve.predicted, curve.observed, size, off=off, label="limits miss the diagonal", vague=vague)
    ax.set(xlabel="Predicted standard deviation", ylabel="Root mean squared error", xlim=ends, ylim=ends)
    ax.set_aspect("equal", adjustable="box")
    note(ax, counted(int(curve.count.sum())))
    _legend(ax)
    return ax


def _ends(ax: "Axes", curve: SpreadCurve) -> tuple[float, float]:
    """Return the common ends of both axes; make the axes logarithmic if the values differ much."""
    values = np.concatenate([curve.predicted, curve.observed, curve.low, curve.high])
    finite = values[np.isfinite(values)]
    high = float(finite.max(initial=0.0)) or 1.0
    least = float(finite.min(initial=high))
    if least <= 0 or high / least <= WIDE:
        ax.locator_params(nbins=5)
        return 0.0, 1.1 * high
    ax.set(xscale="log", yscale="log")
    _round_ticks(ax)
    return least / 1.3, 1.3 * high


def _round_ticks(ax: "Axes") -> None:
    """Put ticks at 1, 2 and 5 times every power of ten, written out."""
    from matplotlib.ticker import LogLocator, NullLocator

    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(lambda x, _: as_given(x))


def _chance(level: float) -> str:
    return f"{percent(level)} by chance"


def plot_intervals(check: IntervalCheck, ax: "Axes | None" = None) -> "Axes":
    """Draw a few rows: the forecasts' own intervals, the fitted intervals, and the targets.

    Parameters
    ----------
    check : IntervalCheck
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default the axes of a new figure.

    Notes
    -----
    Rows are sorted by their forecasts. Targets outside their fitted interval are red; infinite intervals reach the
    edge. The legend gives the share of targets held among all judged rows.
    """
    ax = open_axes(ax, 8.0, 3.6)
    rows = check.rows
    place = np.arange(len(rows.target))
    ends = np.concatenate([rows.target, rows.low_before, rows.high_before, rows.low, rows.high])
    finite = ends[np.isfinite(ends)]
    margin = 0.04 * (float(np.ptp(finite)) or 1.0)
    bottom, top = float(finite.min()) - margin, float(finite.max()) + margin
    own = f"forecasts' own: {percent(check.total.before, 1)} held"
    ax.vlines(
        place,
        rows.low_before.clip(bottom, top),
        rows.high_before.clip(bottom, top),
        colors=INK,
        alpha=0.25,
        linewidth=4,
        label=own,
    )
    fitted = f"fitted: {percent(check.total.covered, 1)} held"
    ax.vlines(place, rows.low.clip(bottom, top), rows.high.clip(bottom, top), colors=BLUE, linewidth=1.4, label=fitted)
    missed = (rows.target < rows.low) | (rows.target > rows.high)
    ax.scatter(place[~missed], rows.target[~missed], 12, color=INK, zorder=3, label="targets")
    if missed.any():
        ax.scatter(place[missed], rows.target[missed], 18, color=RED, marker="D", zorder=4, label="outside")
    lines = 2 if ax.get_window_extent().width > WIDE_AXES * ax.figure.dpi else 4
    ax.set(xlim=(-1, len(place)), ylim=(bottom, top + 0.14 * lines * (top - bottom)), xticks=[])
    ax.set(xlabel=f"{len(place)} of {counted(check.total.n_samples)}, by forecast", ylabel="Value")
    ax.set_title(f"{percent(check.level)} intervals", fontsize="medium")
    ax.legend(loc="upper left", ncols=4 // lines, frameon=False, fontsize="small", handlelength=1.2, borderpad=0.1)
    return ax
