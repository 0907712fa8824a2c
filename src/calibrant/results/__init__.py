"""Outcomes: frozen, inert, and written out by one recursion."""

from calibrant.results.advice import Candidate, Fix, LearningCurve, LearningPoint, Recommendation
from calibrant.results.comparison import (
    Compared,
    Comparison,
    Difference,
    Interval,
    favours,
    known_limits,
    missing_differences,
    missing_limits,
    rule_in_words,
)
from calibrant.results.core import Assessment, ClassSummary, TestResult, as_record, to_frame
from calibrant.results.curves import ClasswiseCurves, CumulativeCurve, NetError, OutcomeHistogram, ReliabilityCurve
from calibrant.results.estimate import CheckedValue, Description, Estimate, ScoreDecomposition
from calibrant.results.experiment import (
    CurveLine,
    ExperimentResult,
    ExperimentStatus,
    Pipeline,
    PipelineCurves,
    SeedSummary,
    StepStatus,
)
from calibrant.results.forecasts import ForecastAssessment, PITHistogram, QuantileCurve, SpreadCurve
from calibrant.results.measures import Measures
from calibrant.results.over_time import Change, ChangeTest, Repair, RepairCandidate, WatchedDay, WatchResult
from calibrant.results.page import Page
from calibrant.results.ranking import (
    CalibrationMap,
    ConvexHull,
    ROCCurve,
    ROCOutline,
    SegmentDecomposition,
    SquaredErrorParts,
    TreeDiagram,
)
from calibrant.results.verdict import Verdict, state

__all__ = [
    "Assessment",
    "CalibrationMap",
    "Candidate",
    "Change",
    "ChangeTest",
    "CheckedValue",
    "ClassSummary",
    "ClasswiseCurves",
    "Compared",
    "Comparison",
    "ConvexHull",
    "CumulativeCurve",
    "CurveLine",
    "Description",
    "Difference",
    "Estimate",
    "ExperimentResult",
    "ExperimentStatus",
    "Fix",
    "ForecastAssessment",
    "Interval",
    "LearningCurve",
    "LearningPoint",
    "Measures",
    "NetError",
    "OutcomeHistogram",
    "PITHistogram",
    "Page",
    "Pipeline",
    "PipelineCurves",
    "QuantileCurve",
    "ROCCurve",
    "ROCOutline",
    "Recommendation",
    "ReliabilityCurve",
    "Repair",
    "RepairCandidate",
    "ScoreDecomposition",
    "SeedSummary",
    "SegmentDecomposition",
    "SpreadCurve",
    "SquaredErrorParts",
    "StepStatus",
    "TestResult",
    "TreeDiagram",
    "Verdict",
    "WatchResult",
    "WatchedDay",
    "as_record",
    "favours",
    "known_limits",
    "missing_differences",
    "missing_limits",
    "rule_in_words",
    "state",
    "to_frame",
]
