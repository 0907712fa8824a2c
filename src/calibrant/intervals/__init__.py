"""Confidence limits, by methods whose coverage was simulated."""

from calibrant.intervals.base import Limits, Method
from calibrant.intervals.differences import DifferenceLimits, difference_limits, paired_difference
from calibrant.intervals.methods import METHODS, Plan, interval, method_for

__all__ = [
    "METHODS",
    "DifferenceLimits",
    "Limits",
    "Method",
    "Plan",
    "difference_limits",
    "interval",
    "method_for",
    "paired_difference",
]
