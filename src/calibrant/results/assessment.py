"""Outcomes of testing and assessing, and the page that shows them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrant._border.numerals import is_at
from calibrant._border.types import FloatArray
from calibrant.results.comparison import Interval
from calibrant.results.curves import ClasswiseCurves, CumulativeCurve, ReliabilityCurve
from calibrant.results.estimate import Description, Estimate, ScoreDecomposition
from calibrant.results.ranking import ROCOutline
from calibrant.results.readable import Readable
from calibrant.results.words.parts import smallest_pvalue

if TYPE_CHECKING:
    from calibrant.results.forecasts import ForecastAssessment


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class TestResult(Readable):
    """Outcome of a test of the hypothesis that the predictions are calibrated.

    Attributes
    ----------
    name : str
        The test with its settings.
    statistic : float
    pvalue : float
        Probability, under calibration, of a statistic at least this large; never 0.
    estimate : float or None
        The calibration error that the statistic is built on.
    null : ndarray or None
        Draws of the statistic under calibration, where the test made them.
    details : mapping
    about : Description or None
        What the test sees, and what its validity rests on.
    """

    __test__ = False  # Not a test case, despite its name.

    name: str
    statistic: float
    pvalue: float
    estimate: float | None = None
    null: FloatArray | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    about: Description | None = None


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Verdict(Readable):
    """Whether predictions are calibrated, in words and numbers: what a person reads first.

    Attributes
    ----------
    code : {"calibrated", "consistent", "over-confident", "under-confident", "biased", "miscalibrated"}
        "calibrated": nothing was found, and the error is shown to lie within the tolerance. "consistent": nothing was
        found, but the rows are too few to say more. The others name the direction of what was found.
    headline : str
        One sentence.
    explanation : str
        The numbers behind it, in words.
    error : float
        The calibration error: the debiased root mean square over bins of equal mass ("rms-debiased"), of the
        probability of class 1 for two classes, of the confidence for more; for forecasts, MACE.
    expected : float
        Its mean if the model were perfectly calibrated.
    detectable : float
        Errors below this could be chance with this number of rows.
    gap : float
        Mean confidence minus accuracy; for two classes, mean probability of class 1 minus its frequency; for forecasts,
        90% minus the share of targets in central 90% intervals.
    pvalue : float
        The p-value of the exact test.
    level : float
        Miscalibration counts as found if the p-value is at most this.
    low, high : float or None
        95% limits of the error; None if no limits of known coverage exist.
    reason : str
        Why there are no limits.
    size : {"within tolerance", "beyond tolerance", "not known"}
        Whether both limits are at most the tolerance, both are above it, or neither.
    tolerance : float
        The largest error that does not matter.
    gave_away : str
        What the test found, in words such as "the slope" or "class Shirt"; empty if nothing was found.
    part : str
        The part of the test that these words are about, by its name in the details of the test.
    slope : float or None
        For two classes, the slope of recalibrated log-odds: below 1 the predictions are too extreme, above 1 too
        timid. None if no finite slope fits.
    """

    code: str
    headline: str
    explanation: str
    error: float
    expected: float
    detectable: float
    gap: float
    pvalue: float
    level: float
    low: float | None = None
    high: float | None = None
    reason: str = ""
    size: str = "not known"
    tolerance: float = 0.02
    gave_away: str = ""
    part: str = ""
    slope: float | None = None


def state(verdict: Verdict) -> str:
    """Return the state of a verdict: "good", "unclear" or "bad", by the size of the error rather than by its p-value.

    Examples
    --------
    >>> numbers = dict(error=0.04, expected=0.01, detectable=0.02, gap=0.0, pvalue=0.001, level=0.05)
    >>> words = dict(code="over-confident", headline="", explanation="")
    >>> state(Verdict(**words, **numbers, size="beyond tolerance")), state(Verdict(**words, **numbers))
    ('bad', 'unclear')
    """
    if verdict.code == "calibrated":
        return "good"
    return "bad" if verdict.size == "beyond tolerance" else "unclear"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ClassSummary(Readable):
    """One class against the rest.

    Attributes
    ----------
    name : str
    n_observed : int
        Rows whose label is the class.
    predicted, observed : float
        Mean predicted probability and frequency of the class.
    error : float
        ECE of the class against the rest.
    """

    name: str
    n_observed: int
    predicted: float
    observed: float
    error: float


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Assessment(Readable):
    """Everything that a report shows about one set of predictions.

    What belongs to a section that was not requested is empty, or None.

    Attributes
    ----------
    name : str
    n_samples, n_classes : int
    verdict : Verdict
    test : TestResult
        The test behind the verdict.
    metrics : mapping of str to Estimate
        By their name in `METRICS`.
    curve : ReliabilityCurve or None
        Confidence against correctness; for two classes, probability of class 1 against its frequency.
    classes : tuple of ClassSummary
    groups : mapping of str to Assessment
        An assessment of each group of rows, if requested.
    settings : mapping
        Seed, resamples, version, tolerance, and which sections were computed.
    curves : mapping of str to ReliabilityCurve
        Other curves of the same predictions and outcomes as `curve`, by their method: "isotonic", "kernel".
    cumulative : CumulativeCurve or None
        Running sum of outcomes minus predictions, for the same.
    decompositions : tuple of ScoreDecomposition
        The squared error and the log loss in parts.
    ranking : ROCOutline or None
        How well the same predictions rank the outcomes; None if the event always happened, or never.
    classwise : ClasswiseCurves or None
        A curve of every class against the rest, for more than two classes.
    adjusted : mapping of str to float
        The p-value of every group, adjusted for their number by Holm's method.
    intervals : mapping of str to Interval
        Confidence limits of those metrics for which a valid method is known, by their name in `METRICS`.
    tests : mapping of str to TestResult
        Tests other than `test`, by their name in `TESTS`, without their draws under calibration.
    """

    name: str
    n_samples: int
    n_classes: int
    verdict: Verdict
    test: TestResult
    metrics: Mapping[str, Estimate] = field(default_factory=dict)
    curve: ReliabilityCurve | None = None
    classes: tuple[ClassSummary, ...] = ()
    groups: Mapping[str, "Assessment"] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    curves: Mapping[str, ReliabilityCurve] = field(default_factory=dict)
    cumulative: CumulativeCurve | None = None
    decompositions: tuple[ScoreDecomposition, ...] = ()
    ranking: ROCOutline | None = None
    classwise: ClasswiseCurves | None = None
    adjusted: Mapping[str, float] = field(default_factory=dict)
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    tests: Mapping[str, TestResult] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Page(Readable):
    """One self-contained page; a notebook shows it.

    Attributes
    ----------
    title : str
    assessments : mapping of str to Assessment or ForecastAssessment
        What the page shows, by the names of the models.
    path : Path or None
        Where it was written.
    html : str
        The page itself.
    """

    title: str
    assessments: "Mapping[str, Assessment | ForecastAssessment]"
    path: Path | None = None
    html: str


def smallest_adjusted(assessment: "Assessment | ForecastAssessment") -> float | None:
    """Return the largest p-value of groups, adjusted by Holm's method, that is an upper bound; None if none is.

    If the p-value of a group is the smallest possible, its adjusted p-value is a bound. All smaller adjusted p-values
    come from such p-values too.
    """
    groups: dict[str, Assessment | ForecastAssessment] = dict(assessment.groups)
    bounds = [
        assessment.adjusted[key]
        for key, group in groups.items()
        if key in assessment.adjusted and is_at(group.test.pvalue, smallest_pvalue(group.test))
    ]
    return max(bounds, default=None)


def group_verdict(assessment: "Assessment | ForecastAssessment", name: str) -> Verdict:
    """Return the verdict on a group: no error is found if the p-value adjusted for the number of groups is not small.

    A p-value that is only a bound may be small, so it changes nothing: with many groups no smaller one is possible.
    """
    group: Assessment | ForecastAssessment = assessment.groups[name]
    verdict, adjusted = group.verdict, assessment.adjusted.get(name, group.verdict.pvalue)
    was_found = verdict.code not in ("calibrated", "consistent")
    if not was_found or adjusted <= verdict.level or is_at(group.test.pvalue, smallest_pvalue(group.test)):
        return verdict
    if verdict.size == "within tolerance":
        return replace(verdict, code="calibrated")
    return replace(verdict, code="consistent", size="not known")
