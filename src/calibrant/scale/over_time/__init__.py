"""Calibration over time: has it changed, since when, in which direction, how much, and what repairs it."""

from calibrant.scale.over_time.compare import compare_periods
from calibrant.scale.over_time.evidence import CoxAlternatives, FirstDay, SpreadStart
from calibrant.scale.over_time.watch import Watch

__all__ = ["CoxAlternatives", "FirstDay", "SpreadStart", "Watch", "compare_periods"]
