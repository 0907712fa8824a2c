"""Reliability curves: how often the event happens, against how often it was predicted."""

from typing import TYPE_CHECKING

from calibrant._border.lazy import attributes

if TYPE_CHECKING:
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

__getattr__ = attributes(
    __name__,
    {
        "bin_totals": "calibrant.curves.binned",
        "joint_bin_totals": "calibrant.curves.binned",
        "reliability_curve": "calibrant.curves.binned",
        "classwise_curves": "calibrant.curves.classwise",
        "cumulative_curve": "calibrant.curves.cumulative",
        "ReliabilityDisplay": "calibrant.curves.display",
        "pit_histogram": "calibrant.curves.forecasts",
        "quantile_curve": "calibrant.curves.forecasts",
        "isotonic_curve": "calibrant.curves.isotonic",
        "kernel_curve": "calibrant.curves.kernel",
        "spread_curve": "calibrant.curves.spread",
    },
)


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted(__all__)
