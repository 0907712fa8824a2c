"""The reliability curves of all classes in one diagram."""

from typing import TYPE_CHECKING

from calibrant._border.numerals import number
from calibrant.plots.canvas import GREY, INK, PALETTE, diagonal, open_axes, shown_name, unit_square
from calibrant.results import ClasswiseCurves, ReliabilityCurve
from calibrant.results.drawing.reliability import worst_first

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FEW_CLASSES = len(PALETTE)
"""Up to this number, every class has a colour and a name."""

NAMED = 5
"""With more classes, only this number of classes with the largest errors is named."""

NARROW = 4.0
"""If axes are narrower than this, in inches, the legend is above them."""


def plot_classwise(curves: ClasswiseCurves, ax: "Axes | None" = None) -> "Axes":
    """Draw one reliability curve per class, with their average on top.

    Parameters
    ----------
    curves : ClasswiseCurves
        Each of up to ten classes has a colour. With more classes, the five with the largest errors have a colour, and
        the others are grey. The legend lists the largest error first.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default the axes of a new figure.
    """
    ax = open_axes(ax, 7.8, 5.0)
    unit_square(ax, "Predicted probability of the class", "Observed frequency of the class")
    diagonal(ax, "perfectly calibrated")
    worst, few = worst_first(curves.curves), len(curves.curves) <= FEW_CLASSES
    named = worst if few else worst[:NAMED]
    _grey_lines(ax, [curve for k, curve in enumerate(curves.curves) if k not in named])
    for place, k in enumerate(named):
        colour, curve = PALETTE[k if few else place], curves.curves[k]  # A class keeps its colour in all figures.
        label = _label(curves.names[k], curve)
        ax.plot(curve.predicted, curve.observed, color=colour, linewidth=1.2, alpha=0.9, zorder=3, label=label)
    average = curves.average
    ax.plot(average.predicted, average.observed, color="white", linewidth=5, zorder=4)  # A halo.
    label = _label(f"average of {len(curves.curves)} classes", average)
    ax.plot(average.predicted, average.observed, color=INK, linewidth=2.6, zorder=5, label=label)
    _legend(ax, average)
    return ax


def _legend(ax: "Axes", average: ReliabilityCurve) -> None:
    """Put the legend beside the square, where it covers no curve, or above it if the axes are narrow."""
    title = None if average.error is None else f"class: {average.error.name}"
    shared: dict[str, object] = {"frameon": False, "title": title, "alignment": "left", "handlelength": 1.4}
    if ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted()).width < NARROW:
        ax.xaxis.label.set_fontsize("small")
        ax.yaxis.label.set_fontsize("small")
        shared |= {"fontsize": "x-small", "title_fontsize": "x-small", "columnspacing": 0.8, "ncols": 2}
        ax.legend(loc="lower left", bbox_to_anchor=(-0.25, 1.0), **shared)
    else:
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), fontsize="small", title_fontsize="small", **shared)


def _grey_lines(ax: "Axes", curves: list[ReliabilityCurve]) -> None:
    if not curves:
        return
    from matplotlib.collections import LineCollection

    lines = [list(zip(c.predicted.tolist(), c.observed.tolist(), strict=True)) for c in curves]
    # The more lines there are, the fainter each is, so that it shows where they run together.
    ax.add_collection(LineCollection(lines, colors=GREY, linewidths=0.7, alpha=max(0.15, 6 / (6 + len(curves)))))


def _label(name: str, curve: ReliabilityCurve) -> str:
    text = shown_name(name)
    return text if curve.error is None else f"{text}: {number(curve.error.value)}"
