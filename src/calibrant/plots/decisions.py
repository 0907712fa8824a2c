"""Decision curves, and risk against coverage."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from calibrant._border.numerals import percent, significant
from calibrant._border.types import FloatArray
from calibrant.plots.canvas import DASHED, GREY, INK, PALETTE, open_axes, shown_name
from calibrant.results import CoverageAtRisk, DecisionCurve, RiskCoverage

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_decision_curve(
    curves: DecisionCurve | Mapping[str, DecisionCurve], ax: "Axes | None" = None, *, joint: bool = True
) -> "Axes":
    """Draw net benefit against the threshold, beside acting on all and on none.

    Parameters
    ----------
    curves : DecisionCurve, or mapping of str to DecisionCurve
        By `calibrant.decisions.decision_curve`, of the same rows.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default the axes of a new figure.
    joint : bool, default=True
        Draw the band for all thresholds together; otherwise the limits at each alone.

    Notes
    -----
    There is no band where too few rows decide. The axis ends a little below 0: nobody would act at a net benefit far
    below that.
    """
    named = {"predictions": curves} if isinstance(curves, DecisionCurve) else dict(curves)
    first = next(iter(named.values()))
    ax = open_axes(ax, 6.4, 4.4)
    ax.set(xlabel="Threshold: the probability at which one acts", ylabel="Net benefit")
    for i, (name, curve) in enumerate(named.items()):
        colour, band = PALETTE[i % len(PALETTE)], curve.net_benefit
        low, high = (band.joint_low, band.joint_high) if joint else (band.low, band.high)
        ax.fill_between(curve.thresholds, _finite(low), _finite(high), color=colour, alpha=0.18, linewidth=0, zorder=2)
        ax.plot(curve.thresholds, band.value, color=colour, linewidth=1.8, zorder=3, label=shown_name(name))
    ax.plot(first.thresholds, first.treat_all, color=INK, linewidth=1, linestyle=DASHED, zorder=1, label="act on all")
    ax.axhline(0, color=GREY, linewidth=1, zorder=1, label="act on none")
    tops = [curve.net_benefit.joint_high for curve in named.values()]
    end = max([first.prevalence, *(float(top.max(initial=0.0, where=np.isfinite(top))) for top in tops)]) or 0.1
    ax.set_ylim(-0.3 * end, 1.1 * end)
    ax.set_xlim(0, float(first.thresholds[-1]))
    ax.legend(loc="upper right", frameon=False, fontsize="small")
    return ax


def plot_risk_coverage(
    curves: RiskCoverage | Mapping[str, RiskCoverage],
    ax: "Axes | None" = None,
    *,
    guarantee: CoverageAtRisk | None = None,
) -> "Axes":
    """Draw the error rate of answers against the share of rows that are answered.

    Parameters
    ----------
    curves : RiskCoverage, or mapping of str to RiskCoverage
        By `calibrant.decisions.risk_coverage`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default the axes of a new figure.
    guarantee : CoverageAtRisk, optional
        By `calibrant.decisions.coverage_at_risk`: the largest acceptable error rate, and the coverage that keeps it.

    Notes
    -----
    With few distinct confidences, only the marked points can be reached, and nothing between them.
    """
    named = {"predictions": curves} if isinstance(curves, RiskCoverage) else dict(curves)
    ax = open_axes(ax, 6.4, 4.4)
    ax.set(xlabel="Coverage: share of rows that are answered", ylabel="Risk: error rate of answers", xlim=(0, 1.01))
    for i, (name, curve) in enumerate(named.items()):
        few = len(curve.coverage) <= 30
        style = {"marker": "o", "markersize": 4.5, "linestyle": ":"} if few else {"linestyle": "-"}
        label = f"{shown_name(name)}: AURC {significant(curve.aurc)}"
        colour = PALETTE[i % len(PALETTE)]
        ax.plot(curve.coverage, curve.risk, color=colour, linewidth=1.6, zorder=3, label=label, **style)
    ax.set_ylim(0, None)
    if guarantee is not None:
        label = f"wanted: at most {significant(guarantee.max_risk)}"
        ax.axhline(guarantee.max_risk, color=GREY, linewidth=1, linestyle=DASHED, zorder=1, label=label)
        if guarantee.threshold is not None:
            words = f"kept at {percent(guarantee.coverage, 1)}, confidence {percent(guarantee.confidence)}"
            ax.axvline(guarantee.coverage, color=INK, linewidth=1.2, zorder=2, label=words)
    ax.legend(loc="upper left", frameon=False, fontsize="small")
    return ax


def _finite(values: FloatArray) -> FloatArray:
    """Return limits with NaN where they are infinite, so that matplotlib leaves a gap."""
    return np.where(np.isfinite(values), values, np.nan)
