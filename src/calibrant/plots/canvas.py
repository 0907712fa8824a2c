"""What all plots share: axes to draw on, colours, the unit square."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = "#222222"
BLUE = "#0072B2"
RED = "#D55E00"
GREY = "#8A8A8A"
PALE = "#C8C8C8"
"""Colours that stay apart for colour-blind readers and in print."""

MINUS, SIGMA = "\N{MINUS SIGN}", "\N{GREEK SMALL LETTER SIGMA}"

PALETTE = (BLUE, RED, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A4FBF", "#8C6D31", "#B3123B", "#4D4D4D")
"""One colour per class, up to ten."""


def axes_or_new(ax: "Axes | None", width: float = 5.0, height: float = 5.6) -> "Axes":
    """Return the axes given, or those of a new figure of this size in inches, of which pyplot does not know."""
    if ax is not None:
        return ax
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError('Plots need matplotlib: pip install "calibrant[plot]".') from error
    return Figure(figsize=(width, height), layout="constrained").add_subplot()


def unit_square(ax: "Axes", horizontal: str, vertical: str) -> None:
    """Make the axes a square from 0 to 1 with the same ticks on both sides, and name them."""
    ticks = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), xticks=ticks, yticks=ticks, xlabel=horizontal, ylabel=vertical)
    ax.set_aspect("equal", adjustable="box")
    open_frame(ax)


def open_frame(ax: "Axes") -> None:
    """Leave the frame open above and on the right."""
    ax.spines[["top", "right"]].set_visible(False)


def diagonal(ax: "Axes", label: str) -> None:
    """Draw the line of equal coordinates, below everything else."""
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle=(0, (4, 3)), zorder=1, label=label)


def significant(value: float) -> str:
    """Write a number with three significant digits, without an exponent where that is readable."""
    return f"{value:#.3g}".rstrip(".") if abs(value) >= 1e-4 or value == 0 else f"{value:.1e}"


def rows(count: int) -> str:
    """Write a number of rows, with narrow spaces between thousands."""
    noun = "row" if count == 1 else "rows"
    return f"{count:,} {noun}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def shown_name(name: str, length: int = 24) -> str:
    """Return a name as matplotlib shows it: short, and neither hidden from a legend nor read as a formula."""
    short = name if len(name) <= length else name[: length - 1] + "…"
    # A name that begins with "_" would be left out of the legend, and "$" would begin a formula.
    text = short.replace("$", r"\$")
    return f"\N{ZERO WIDTH SPACE}{text}" if text.startswith("_") else text
