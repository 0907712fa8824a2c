"""A statistic beside its distribution under calibration."""

from typing import TYPE_CHECKING

import numpy as np

from calibrant._border.numerals import number, pvalue
from calibrant.exceptions import InputError
from calibrant.plots.canvas import PALE, open_axes
from calibrant.results import TestResult
from calibrant.results.drawing import RED

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_null(test: TestResult, ax: "Axes | None" = None) -> "Axes":
    """Draw the statistic of a test beside its draws under calibration.

    Parameters
    ----------
    test : TestResult
        The result of a test that keeps its draws, such as `ConsistencyTest`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default the axes of a new figure.
    """
    draws = np.asarray([] if test.null is None else test.null, dtype=float)
    draws = draws[np.isfinite(draws)]
    if not len(draws):
        raise InputError(f"plot_null needs a test with draws under calibration, but {test.name} kept none.")
    ax = open_axes(ax, 5.0, 3.2)
    ax.spines["left"].set_visible(False)
    ax.set(xlabel="Statistic", yticks=[])
    if np.ptp(draws) > 1e-9 * np.abs(draws).max():
        ax.hist(draws, bins=min(30, 5 + int(len(draws) ** 0.5)), color=PALE, label="by chance, if calibrated")
    else:
        ax.axvline(float(draws[0]), color=PALE, linewidth=6, label="by chance, if calibrated")
    label = f"observed {number(test.statistic)}"
    if np.isfinite(test.statistic):
        ax.axvline(test.statistic, color=RED, linewidth=2, label=label)
    else:
        ax.plot([], [], color=RED, linewidth=2, label=label)
    _write(ax, test, len(draws))
    return ax


def _write(ax: "Axes", test: TestResult, n_draws: int) -> None:
    """Write the p-value and the legend above the bars."""
    smallest = float(test.details.get("smallest_pvalue", 1 / (1 + n_draws)))
    title = pvalue(test.pvalue, smallest)
    # Above the frame, because the statistic may be anywhere within it.
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        frameon=False,
        fontsize="small",
        handlelength=1.2,
        title=title,
        alignment="left",
    )
    ax.ticklabel_format(axis="x", style="plain", useOffset=False)
    ax.locator_params(axis="x", nbins=5)
