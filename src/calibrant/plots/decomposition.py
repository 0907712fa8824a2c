"""The parts of a mean score."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from calibrant._border.numerals import number
from calibrant.exceptions import InputError
from calibrant.plots.canvas import INK, PALETTE, open_axes, shown_name
from calibrant.results import ScoreDecomposition

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PARTS = {
    "miscalibration": "MCB\nmiscalibration",
    "discrimination": "DSC\ndiscrimination",
    "uncertainty": "UNC\nuncertainty",
    "within": "within\nbins",
}
"""The parts with their names, from top to bottom."""


def plot_decomposition(
    parts: ScoreDecomposition | Mapping[str, ScoreDecomposition], ax: "Axes | None" = None
) -> "Axes":
    """Draw the parts of a mean score as bars, of one model or of several side by side.

    Parameters
    ----------
    parts : ScoreDecomposition, or mapping of str to ScoreDecomposition
        From `calibrant.metrics.decompose`, all of the same score.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default the axes of a new figure.

    Notes
    -----
    The score is MCB - DSC + UNC, and what the spread within bins adds where the decomposition has bins. Small MCB and
    large DSC are good; UNC belongs to the data.
    """
    models = {"": parts} if isinstance(parts, ScoreDecomposition) else dict(parts)
    scores = {one.score for one in models.values()}
    if len(scores) != 1:
        raise InputError(f"parts must be of one score, but are of {', '.join(sorted(scores)) or 'none'}.")
    names = [name for name in PARTS if name != "within" or any(one.within for one in models.values())]
    ax = open_axes(ax, 5.6, 1.0 + 0.22 * len(names) * (1 + len(models)))
    height = 0.8 / len(models)
    rows = np.arange(len(names))
    for i, (model, one) in enumerate(models.items()):
        values = [float(getattr(one, name)) for name in names]
        label = f"{shown_name(model)}: {number(one.value)}" if model else None
        places = rows - 0.4 + height * (i + 0.5)
        bars = ax.barh(places, values, 0.92 * height, color=PALETTE[i % len(PALETTE)], label=label)
        ax.bar_label(bars, [number(value) for value in values], padding=3, fontsize="small", color=INK)
    ax.set_yticks(rows, [PARTS[name] for name in names], fontsize="small")
    ax.invert_yaxis()
    ax.tick_params(axis="y", length=0)
    ax.locator_params(axis="x", nbins=4)
    ax.margins(x=0.22)
    kind = "log loss" if scores == {"log"} else "squared error"
    total = "" if "" not in models else f" {number(models[''].value)}"
    ax.set_xlabel(f"Parts of the {kind}{total}")
    if "" not in models:
        ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), frameon=False, fontsize="small", title_fontsize="small")
    return ax
