"""Confidence limits, by methods whose coverage was simulated."""

from calibrant.intervals.differences import DifferenceLimits, difference_limits, percentiles
from calibrant.intervals.limits import Limits, Method
from calibrant.intervals.methods import (
    METHODS,
    has_range,
    interval,
    known_interval,
    method_for,
    why_not,
)

__all__ = [
    "METHODS",
    "DifferenceLimits",
    "Limits",
    "Method",
    "difference_limits",
    "has_range",
    "interval",
    "known_interval",
    "method_for",
    "percentiles",
    "why_not",
]
