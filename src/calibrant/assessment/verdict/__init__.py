"""The verdict: what a test found and how large it is, in words that a person reads first."""

from calibrant.assessment.verdict.evidence import LEVEL
from calibrant.assessment.verdict.judge import TOLERANCE, Examined, check_tolerance, examine, judge, revealed_by
from calibrant.assessment.verdict.size import SIZE, Size, measure_size

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
    "revealed_by",
]
