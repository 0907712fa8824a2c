"""The verdict that a person reads first: what the test found, and how large it is."""

from calibrant.assessment.verdict.judge import TOLERANCE, Examined, check_tolerance, examine, judge
from calibrant.assessment.verdict.size import SIZE, Size, measure_size
from calibrant.hypotest.finding.revealed import LEVEL

__all__ = [
    "LEVEL",
    "SIZE",
    "TOLERANCE",
    "Examined",
    "Size",
    "check_tolerance",
    "examine",
    "judge",
    "measure_size",
]
