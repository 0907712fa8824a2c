"""Predictions beyond one machine and one day: a mergeable sketch."""

from calibrant.scale.assess import assess_sketch
from calibrant.scale.sketch import Counters, Sketch

__all__ = ["Counters", "Sketch", "assess_sketch"]
