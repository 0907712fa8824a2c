"""Confidence limits, by methods whose coverage was simulated."""

from calibrant.intervals.base import Limits, Method
from calibrant.intervals.differences import DifferenceLimits, difference_limits, paired_difference
from calibrant.intervals.methods import METHODS, as_interval, interval, known_interval, method_for

__all__ = [
    "METHODS",
    "DifferenceLimits",
    "Limits",
    "Method",
    "as_interval",
    "difference_limits",
    "interval",
    "known_interval",
    "method_for",
    "paired_difference",
]
