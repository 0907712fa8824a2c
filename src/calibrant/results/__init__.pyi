from calibrant.results.advice import (
    Advice as Advice,
    Candidate as Candidate,
    Fix as Fix,
    ForecastCandidate as ForecastCandidate,
    ForecastRecommendation as ForecastRecommendation,
    Judged as Judged,
    Recommendation as Recommendation,
)
from calibrant.results.base_rates import (
    BaseRate as BaseRate,
    BaseRates as BaseRates,
    Population as Population,
)
from calibrant.results.advice import LearningCurve as LearningCurve, LearningPoint as LearningPoint
from calibrant.results.comparison import (
    Compared as Compared,
    Comparison as Comparison,
    Difference as Difference,
    Interval as Interval,
    favours as favours,
)
from calibrant.results.assessment import (
    Assessment as Assessment,
    ClassSummary as ClassSummary,
    Page as Page,
    TestResult as TestResult,
)
from calibrant.results.curves import (
    ClasswiseCurves as ClasswiseCurves,
    CumulativeCurve as CumulativeCurve,
    NetError as NetError,
    OutcomeHistogram as OutcomeHistogram,
    ReliabilityCurve as ReliabilityCurve,
)
from calibrant.results.decisions import (
    BestThreshold as BestThreshold,
    CurveBand as CurveBand,
    DecisionChange as DecisionChange,
    DecisionCost as DecisionCost,
    DecisionCurve as DecisionCurve,
    DecisionDifference as DecisionDifference,
    DecisionReport as DecisionReport,
    Decisions as Decisions,
)
from calibrant.results.estimate import (
    CheckedValue as CheckedValue,
    Description as Description,
    Estimate as Estimate,
    Measures as Measures,
    ScoreDecomposition as ScoreDecomposition,
    SegmentDecomposition as SegmentDecomposition,
    SquaredErrorParts as SquaredErrorParts,
)
from calibrant.results.experiment import (
    CurveLine as CurveLine,
    ExperimentResult as ExperimentResult,
    ExperimentStatus as ExperimentStatus,
    Pipeline as Pipeline,
    PipelineCurves as PipelineCurves,
    SeedSummary as SeedSummary,
    StepStatus as StepStatus,
)
from calibrant.results.forecasts import (
    ForecastAssessment as ForecastAssessment,
    PITHistogram as PITHistogram,
    PredictionIntervals as PredictionIntervals,
    QuantileCurve as QuantileCurve,
    SpreadCurve as SpreadCurve,
)
from calibrant.results.groups import (
    Detectable as Detectable,
    FoundGroup as FoundGroup,
    GroupFindings as GroupFindings,
    GroupFix as GroupFix,
    GroupStep as GroupStep,
)
from calibrant.results.forecasts import (
    CoveredPart as CoveredPart,
    DrawnIntervals as DrawnIntervals,
    IntervalCheck as IntervalCheck,
)
from calibrant.results.over_time import (
    Change as Change,
    ChangeTest as ChangeTest,
    Repair as Repair,
    RepairCandidate as RepairCandidate,
    WatchedDay as WatchedDay,
    WatchResult as WatchResult,
)
from calibrant.results.ranking import (
    CalibrationMap as CalibrationMap,
    ConvexHull as ConvexHull,
    ROCCurve as ROCCurve,
    ROCOutline as ROCOutline,
    TreeDiagram as TreeDiagram,
)
from calibrant.results.selective import (
    CoverageAtRisk as CoverageAtRisk,
    RiskCoverage as RiskCoverage,
    RiskStep as RiskStep,
)
from calibrant.results.assessment import Verdict as Verdict, state as state
from calibrant.results.words.comparisons import (
    bandwidth_in_words as bandwidth_in_words,
    limits_in_words as limits_in_words,
    missing_differences as missing_differences,
    rule_in_words as rule_in_words,
)
from calibrant.results.words.metrics import known_limits as known_limits, missing_limits as missing_limits
from calibrant.results.records import as_record as as_record, to_frame as to_frame
