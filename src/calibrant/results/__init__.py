"""Outcomes: frozen, inert, and written out by one recursion."""

from calibrant.results.core import (
    Assessment,
    ClassSummary,
    Estimate,
    ReliabilityCurve,
    TestResult,
    Verdict,
    as_record,
    to_frame,
)
from calibrant.results.ranking import ConvexHull, ROCCurve, SegmentDecomposition, SquaredErrorParts

__all__ = [
    "Assessment",
    "ClassSummary",
    "ConvexHull",
    "Estimate",
    "ROCCurve",
    "ReliabilityCurve",
    "SegmentDecomposition",
    "SquaredErrorParts",
    "TestResult",
    "Verdict",
    "as_record",
    "to_frame",
]
