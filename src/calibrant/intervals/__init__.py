"""Confidence limits, by methods whose coverage was simulated."""

from calibrant.intervals.base import Limits, Method
from calibrant.intervals.differences import DifferenceLimits, difference_limits, percentiles
from calibrant.intervals.methods import (
    METHODS,
    MethodOutcome,
    as_interval,
    family,
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
    "MethodOutcome",
    "as_interval",
    "difference_limits",
    "family",
    "has_range",
    "interval",
    "known_interval",
    "method_for",
    "percentiles",
    "why_not",
]
