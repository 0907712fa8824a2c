"""Reliability curves: how often the event happens, against how often it was predicted."""

from typing import TYPE_CHECKING

from calibrant._border.lazy import attributes
from calibrant.curves.binned import bin_totals, joint_bin_totals, reliability_curve
from calibrant.curves.classwise import classwise_curves
from calibrant.curves.cumulative import cumulative_curve
from calibrant.curves.forecasts import pit_histogram, quantile_curve
from calibrant.curves.isotonic import isotonic_curve
from calibrant.curves.kernel import kernel_curve
from calibrant.curves.spread import spread_curve

if TYPE_CHECKING:
    from calibrant.curves.display import ReliabilityDisplay

__all__ = [
    "ReliabilityDisplay",
    "bin_totals",
    "classwise_curves",
    "cumulative_curve",
    "isotonic_curve",
    "joint_bin_totals",
    "kernel_curve",
    "pit_histogram",
    "quantile_curve",
    "reliability_curve",
    "spread_curve",
]

__getattr__ = attributes(__name__, {"ReliabilityDisplay": "calibrant.curves.display"})  # It takes the figures.
