"""Confidence limits, by methods whose coverage was simulated."""

from calibrant.intervals.base import Limits, Method
from calibrant.intervals.differences import DifferenceLimits, difference_limits, paired_difference
from calibrant.intervals.methods import (
    METHODS,
    Found,
    as_interval,
    family,
    interval,
    known_interval,
    method_for,
    why_not,
)

__all__ = [
    "METHODS",
    "DifferenceLimits",
    "Found",
    "Limits",
    "Method",
    "as_interval",
    "difference_limits",
    "family",
    "interval",
    "known_interval",
    "method_for",
    "paired_difference",
    "why_not",
]
