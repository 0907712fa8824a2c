"""Reliability curves: how often the event happens, against how often it was predicted."""

from calibrant.curves.binned import bin_totals, joint_bin_totals, reliability_curve
from calibrant.curves.classwise import classwise_curves
from calibrant.curves.cumulative import cumulative_curve
from calibrant.curves.display import ReliabilityDisplay
from calibrant.curves.forecasts import pit_histogram, quantile_curve
from calibrant.curves.isotonic import isotonic_curve
from calibrant.curves.kernel import kernel_curve
from calibrant.curves.spread import spread_curve

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
