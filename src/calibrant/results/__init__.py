"""Outcomes: frozen, inert, and written out by one recursion."""

from calibrant.results.advice import Candidate, LearningCurve, LearningPoint, Recommendation
from calibrant.results.comparison import Compared, Comparison, Difference, Interval
from calibrant.results.core import Assessment, ClassSummary, TestResult, Verdict, as_record, to_frame
from calibrant.results.curves import ClasswiseCurves, OutcomeHistogram, ReliabilityCurve
from calibrant.results.estimate import Estimate
from calibrant.results.forecasts import PITHistogram, QuantileCurve, SpreadCurve
from calibrant.results.ranking import (
    CalibrationMap,
    ConvexHull,
    ROCCurve,
    SegmentDecomposition,
    SquaredErrorParts,
    TreeDiagram,
)
from calibrant.results.scores import ScoreDecomposition

__all__ = [
    "Assessment",
    "CalibrationMap",
    "Candidate",
    "ClassSummary",
    "ClasswiseCurves",
    "Compared",
    "Comparison",
    "ConvexHull",
    "Difference",
    "Estimate",
    "Interval",
    "LearningCurve",
    "LearningPoint",
    "OutcomeHistogram",
    "PITHistogram",
    "QuantileCurve",
    "ROCCurve",
    "Recommendation",
    "ReliabilityCurve",
    "ScoreDecomposition",
    "SegmentDecomposition",
    "SpreadCurve",
    "SquaredErrorParts",
    "TestResult",
    "TreeDiagram",
    "Verdict",
    "as_record",
    "to_frame",
]
