"""Reliability curves of several models on one square."""

from typing import TYPE_CHECKING, Any

from calibrant.plots.canvas import PALETTE, axes_or_new, diagonal, unit_square
from calibrant.results import ReliabilityCurve
from calibrant.results.drawing import WORDS, is_dense
from calibrant.results.writing import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

SQUARE = "calibrant-diagonal"
"""The mark of axes that already show a diagonal."""


def add_reliability(
    curve: ReliabilityCurve, ax: "Axes | None" = None, *, name: str = "", **settings: Any
) -> "tuple[Axes, Line2D]":
    """Draw a reliability curve and its band, beside those that are on the axes already.

    Parameters
    ----------
    curve : ReliabilityCurve
    ax : matplotlib.axes.Axes, optional
        By default the axes of a new figure.
    name : str, optional
        What the legend calls it; its error is added.
    **settings
        Of the line, such as ``color``; by default the next colour of the palette.

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
    ax = axes_or_new(ax)
    drawn = [line for line in ax.lines if line.get_gid() == SQUARE]
    if not drawn:
        unit_square(ax, WORDS[curve.view].horizontal, WORDS[curve.view].vertical)
        diagonal(ax, "perfectly calibrated")
        ax.lines[-1].set_gid(SQUARE)
    place = len([line for line in ax.lines if line.get_gid() == _LINE])
    style = {"color": PALETTE[place % len(PALETTE)], "marker": "" if is_dense(curve) else "o"}
    (line,) = ax.plot(
        curve.predicted, curve.observed, label=_label(curve, name), zorder=3, gid=_LINE, **{**style, **settings}
    )
    if curve.low is not None and curve.high is not None:
        ax.fill_between(curve.predicted, curve.low, curve.high, color=line.get_color(), alpha=0.12, linewidth=0)
    ax.legend(loc="upper left", frameon=False, fontsize="small")
    return ax, line


_LINE = "calibrant-reliability"
"""The mark of lines of models, which are counted to choose the next colour."""


def _label(curve: ReliabilityCurve, name: str) -> str:
    """Return the entry of a legend."""
    error = "" if curve.error is None else f"{curve.error.name} {number(curve.error.value)}"
    return ", ".join(filter(None, (name, error)))
