"""Reliability diagrams."""

from typing import TYPE_CHECKING

import numpy as np

from calibrant._typing import BoolArray
from calibrant.plots.canvas import BLUE, GREY, INK, PALE, RED, axes_or_new, diagonal, rows, significant, unit_square
from calibrant.results import OutcomeHistogram, ReliabilityCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MANY_POINTS = 40
"""From here on a curve is a line with a band: markers and whiskers would run together."""

WORDS = {
    "class": ("Predicted probability", "Observed frequency", "event", "no event"),
    "top-label": ("Confidence in the predicted class", "How often it is right", "right", "wrong"),
}


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
    horizontal, vertical, event, other = WORDS[curve.view]
    unit_square(ax, horizontal, vertical)
    diagonal(ax, "perfectly calibrated")
    if len(curve.predicted) < MANY_POINTS:
        _whiskers(ax, curve)
        _markers(ax, curve)
    else:
        _band(ax, curve)
        _line(ax, curve)
    _number(ax, curve)
    if curve.histogram is not None:
        strip(ax, curve.histogram, event, other)
    ax.legend(loc="lower right", frameon=False, fontsize="small")
    return ax


def off_points(curve: ReliabilityCurve) -> BoolArray:
    """Mark the points that speak against calibration; none if there are no limits."""
    if curve.low is None or curve.high is None:
        return np.zeros(len(curve.predicted), dtype=bool)
    reference = curve.predicted if curve.band == "confidence" else curve.observed
    return (reference < curve.low) | (reference > curve.high)


def band_label(curve: ReliabilityCurve, noun: str) -> str:
    """Say what the limits of the curve are."""
    share = f"{100 * curve.level:g} %"
    return f"{share} {curve.band} {noun}{', simultaneous' if curve.simultaneous else ''}"


def _off_label(curve: ReliabilityCurve) -> str:
    return "limits miss the diagonal" if curve.band == "confidence" else "outside the band"


def _whiskers(ax: "Axes", curve: ReliabilityCurve) -> None:
    if curve.low is None or curve.high is None:
        return
    confidence = curve.band == "confidence"
    ax.vlines(
        curve.predicted,
        curve.low,
        curve.high,
        colors=BLUE if confidence else PALE,
        linewidth=1.2 if confidence else 7,
        zorder=2,
        label=band_label(curve, "interval"),
    )


def _markers(ax: "Axes", curve: ReliabilityCurve) -> None:
    off = off_points(curve)
    size = 18 + 70 * (curve.weight / curve.weight.sum()) ** 0.5
    ax.plot(curve.predicted, curve.observed, color=BLUE, linewidth=1, alpha=0.5, zorder=3)
    for chosen, colour, marker, label in ((~off, BLUE, "o", None), (off, RED, "D", _off_label(curve))):
        if chosen.any():
            ax.scatter(
                curve.predicted[chosen],
                curve.observed[chosen],
                s=size[chosen],
                color=colour,
                marker=marker,
                edgecolors="white",
                linewidths=0.6,
                zorder=4,
                label=label,
            )


def _band(ax: "Axes", curve: ReliabilityCurve) -> None:
    if curve.low is None or curve.high is None:
        return
    colour = BLUE if curve.band == "confidence" else GREY
    label = band_label(curve, "band")
    ax.fill_between(
        curve.predicted, curve.low, curve.high, color=colour, alpha=0.25, linewidth=0, zorder=2, label=label
    )


def _line(ax: "Axes", curve: ReliabilityCurve) -> None:
    off = off_points(curve)
    ax.plot(curve.predicted, curve.observed, color=BLUE, linewidth=1.6, zorder=3)
    if off.any():
        observed = np.where(off, curve.observed, np.nan)
        ax.plot(
            curve.predicted,
            observed,
            color=RED,
            linewidth=2.6,
            solid_capstyle="round",
            zorder=4,
            label=_off_label(curve),
        )


def _number(ax: "Axes", curve: ReliabilityCurve) -> None:
    lines = [] if curve.error is None else [f"{curve.error.name} {significant(curve.error.value)}"]
    lines.append(rows(int(curve.count.sum())))
    ax.text(0.03, 0.97, "\n".join(lines), transform=ax.transAxes, va="top", color=INK)


def strip(ax: "Axes", histogram: OutcomeHistogram, event: str, other: str) -> None:
    """Stand the histogram on top of the axes, one outcome upwards and the other downwards."""
    panel = ax.inset_axes((0.0, 1.02, 1.0, 0.16), sharex=ax)
    left, width = histogram.edges[:-1], histogram.edges[1:] - histogram.edges[:-1]
    panel.bar(left, histogram.positives, width, align="edge", color=BLUE)
    panel.bar(left, -histogram.negatives, width, align="edge", color=PALE)
    panel.axhline(0, color=INK, linewidth=0.6)
    panel.text(1.01, 0.75, event, transform=panel.transAxes, va="center", fontsize="small", color=BLUE)
    panel.text(1.01, 0.25, other, transform=panel.transAxes, va="center", fontsize="small", color=GREY)
    top = max(histogram.positives.max(), histogram.negatives.max()) or 1.0
    panel.set_ylim(-1.05 * top, 1.05 * top)
    panel.set_axis_off()
