"""Outcomes: frozen, inert, and written out by one recursion."""

from typing import TYPE_CHECKING

from calibrant._lazy import attributes

if TYPE_CHECKING:
    from calibrant.results.advice import (
        Advice,
        Candidate,
        Fix,
        ForecastCandidate,
        ForecastRecommendation,
        Judged,
        LearningCurve,
        LearningPoint,
        Recommendation,
    )
    from calibrant.results.comparison import (
        Compared,
        Comparison,
        Difference,
        Interval,
        bandwidth_in_words,
        favours,
        known_limits,
        limits_in_words,
        missing_differences,
        missing_limits,
        rule_in_words,
    )
    from calibrant.results.core import Assessment, ClassSummary, Page, TestResult, as_record, to_frame
    from calibrant.results.curves import ClasswiseCurves, CumulativeCurve, NetError, OutcomeHistogram, ReliabilityCurve
    from calibrant.results.decisions import (
        BaseRate,
        BaseRates,
        BestThreshold,
        CoverageAtRisk,
        CurveBand,
        DecisionChange,
        DecisionCost,
        DecisionCurve,
        DecisionDifference,
        DecisionReport,
        Decisions,
        RiskCoverage,
        RiskStep,
    )
    from calibrant.results.estimate import CheckedValue, Description, Estimate, Measures, ScoreDecomposition
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
    from calibrant.results.groups import Detectable, FoundGroup, GroupFindings, GroupFix, GroupStep
    from calibrant.results.intervals import PredictionIntervals
    from calibrant.results.over_time import Change, ChangeTest, Repair, RepairCandidate, WatchedDay, WatchResult
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

_HOMES = {
    "results.advice": (
        "Advice Candidate Fix ForecastCandidate ForecastRecommendation Judged LearningCurve LearningPoint "
        "Recommendation"
    ),
    "results.comparison": (
        "Compared Comparison Difference Interval bandwidth_in_words favours known_limits limits_in_words "
        "missing_differences missing_limits rule_in_words"
    ),
    "results.core": "Assessment ClassSummary Page TestResult as_record to_frame",
    "results.curves": "ClasswiseCurves CumulativeCurve NetError OutcomeHistogram ReliabilityCurve",
    "results.decisions": (
        "BaseRate BaseRates BestThreshold CoverageAtRisk CurveBand DecisionChange DecisionCost DecisionCurve "
        "DecisionDifference DecisionReport Decisions RiskCoverage RiskStep"
    ),
    "results.estimate": "CheckedValue Description Estimate Measures ScoreDecomposition",
    "results.experiment": "CurveLine ExperimentResult ExperimentStatus Pipeline PipelineCurves SeedSummary StepStatus",
    "results.forecasts": "ForecastAssessment PITHistogram QuantileCurve SpreadCurve",
    "results.groups": "Detectable FoundGroup GroupFindings GroupFix GroupStep",
    "results.intervals": "PredictionIntervals",
    "results.over_time": "Change ChangeTest Repair RepairCandidate WatchedDay WatchResult",
    "results.ranking": (
        "CalibrationMap ConvexHull ROCCurve ROCOutline SegmentDecomposition SquaredErrorParts TreeDiagram"
    ),
    "results.verdict": "Verdict state",
}
"""The names that each module holds. Frozen dataclasses take time to make, and a command needs few of them."""

__all__ = [
    "Advice",
    "Assessment",
    "BaseRate",
    "BaseRates",
    "BestThreshold",
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
    "CoverageAtRisk",
    "CumulativeCurve",
    "CurveBand",
    "CurveLine",
    "DecisionChange",
    "DecisionCost",
    "DecisionCurve",
    "DecisionDifference",
    "DecisionReport",
    "Decisions",
    "Description",
    "Detectable",
    "Difference",
    "Estimate",
    "ExperimentResult",
    "ExperimentStatus",
    "Fix",
    "ForecastAssessment",
    "ForecastCandidate",
    "ForecastRecommendation",
    "FoundGroup",
    "GroupFindings",
    "GroupFix",
    "GroupStep",
    "Interval",
    "Judged",
    "LearningCurve",
    "LearningPoint",
    "Measures",
    "NetError",
    "OutcomeHistogram",
    "PITHistogram",
    "Page",
    "Pipeline",
    "PipelineCurves",
    "PredictionIntervals",
    "QuantileCurve",
    "ROCCurve",
    "ROCOutline",
    "Recommendation",
    "ReliabilityCurve",
    "Repair",
    "RepairCandidate",
    "RiskCoverage",
    "RiskStep",
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
    "bandwidth_in_words",
    "favours",
    "known_limits",
    "limits_in_words",
    "missing_differences",
    "missing_limits",
    "rule_in_words",
    "state",
    "to_frame",
]

__getattr__ = attributes(__name__, _HOMES)
