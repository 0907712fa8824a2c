"""Helpers of all plots: axes, colours, the unit square."""

from typing import TYPE_CHECKING

from calibrant._border.types import BoolArray, FloatArray
from calibrant.results.drawing import BLUE, RED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = "#222222"
GREY = "#8A8A8A"
PALE = "#C8C8C8"
"""Colours beside those of `results.drawing`."""

MINUS, SIGMA = "\N{MINUS SIGN}", "\N{GREEK SMALL LETTER SIGMA}"

DASHED = (0, (4, 3))
"""Style of reference lines."""

PALETTE = (BLUE, RED, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A4FBF", "#8C6D31", "#B3123B", "#4D4D4D")
"""One colour per class, up to ten."""

SIDES = (-0.025, 1.025)
"""The horizontal axis of probabilities: 0 to 1, with room for markers at the ends."""


def open_axes(ax: "Axes | None", width: float = 5.0, height: float = 5.6) -> "Axes":
    """Return the given axes, or those of a new figure of this size in inches, with a frame open above and on the right.

    pyplot does not manage the new figure.
    """
    if ax is None:
        try:
            from matplotlib.figure import Figure
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError('Plots need matplotlib: pip install "calibrant[plot]".') from error
        ax = Figure(figsize=(width, height), layout="constrained").add_subplot()
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def unit_square(ax: "Axes", horizontal: str, vertical: str) -> None:
    """Label the axes and make them a square from 0 to 1, with equal ticks and room for markers at the ends."""
    ticks = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    ax.set(xlim=SIDES, ylim=SIDES, xticks=ticks, yticks=ticks, xlabel=horizontal, ylabel=vertical)
    ax.set_aspect("equal", adjustable="box")


def diagonal(ax: "Axes", label: str | None, heights: tuple[float, float] = (0, 1)) -> None:
    """Draw the line of equal coordinates, or one of other heights at 0 and 1, below everything else."""
    ax.plot([0, 1], heights, color=GREY, linewidth=1, linestyle=DASHED, zorder=1, label=label)


def without_formulas(text: str) -> str:
    """Keep matplotlib from reading formulas into a text."""
    return text.replace("$", r"\$")


def shown_name(name: str, length: int = 24) -> str:
    """Return a name for matplotlib: shortened, and neither left out of a legend nor read as a formula."""
    short = name if len(name) <= length else name[: length - 1] + "…"
    text = without_formulas(short)
    # A name that begins with "_" would be left out of the legend.
    return f"\N{ZERO WIDTH SPACE}{text}" if text.startswith("_") else text


def note(ax: "Axes", text: str, *, fontsize: str | None = "small", below: bool = False) -> None:
    """Write in the upper left corner, or in the lower one."""
    height, side = (0.03, "bottom") if below else (0.97, "top")
    ax.text(0.03, height, text, transform=ax.transAxes, va=side, color=INK, fontsize=fontsize)


def faded(colour: str, vague: BoolArray) -> list[tuple[str, float]]:
    """Return the colour of each point, pale for those that say little."""
    return [(colour, 0.4 if pale else 1.0) for pale in vague.tolist()]


def mark_points(
    ax: "Axes", x: FloatArray, y: FloatArray, size: FloatArray, *, off: BoolArray, label: str, vague: BoolArray
) -> None:
    """Draw points, with red diamonds for those that are off; `label` says what off means."""
    for here, colour, marker, name in ((~off, BLUE, "o", None), (off, RED, "D", label)):
        if here.any():
            ax.scatter(
                *(x[here], y[here], size[here]),
                color=faded(colour, vague[here]),
                marker=marker,
                edgecolors="white",
                linewidths=0.6,
                zorder=4,
                label=name,
            )
