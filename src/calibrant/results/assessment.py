"""Outcomes of testing and assessing, and the page that shows them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrant._border.numerals import bare_pvalue, is_at
from calibrant._border.types import FloatArray
from calibrant.results.comparison import Interval
from calibrant.results.curves import ClasswiseCurves, CumulativeCurve, ReliabilityCurve
from calibrant.results.estimate import Description, Estimate, ScoreDecomposition
from calibrant.results.omnibus_parts import parts_in_words
from calibrant.results.readable import Readable, main_rows
from calibrant.results.verdict import Verdict

if TYPE_CHECKING:
    from calibrant.results.forecasts import ForecastAssessment
    from calibrant.results.ranking import ROCOutline
    from calibrant.results.svg import Element


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

    def _printed(self) -> list[tuple[str, str]]:
        rows = dict(super()._printed())
        first = {"test": rows.pop("name"), "p-value": bare_pvalue(self.pvalue, smallest_pvalue(self))}
        left = {name: text for name, text in rows.items() if name not in ("pvalue", "null", "about")}
        if "parts" in self.details:
            left = {name: text for name, text in left.items() if name != "details"} | parts_in_words(self.details)
        return [*(first | left).items()]

    def _in_notebook(self) -> "list[Element]":
        from calibrant.results import notebook

        return notebook.test(self)


def smallest_pvalue(test: TestResult) -> float | None:
    """Return the smallest p-value that the test can give, even if its redraws were not kept; None if not known."""
    known = test.details.get("smallest_pvalue")
    if known is not None:
        return float(known)
    return None if test.null is None else 1 / (1 + len(test.null))


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
    ranking: "ROCOutline | None" = None
    classwise: ClasswiseCurves | None = None
    adjusted: Mapping[str, float] = field(default_factory=dict)
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    tests: Mapping[str, TestResult] = field(default_factory=dict)

    def _printed(self) -> list[tuple[str, str]]:
        return main_rows(self, self.intervals)

    def _in_notebook(self) -> "list[Element]":
        from calibrant.results import notebook

        return notebook.assessment(self)


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

    def _in_notebook(self) -> "list[Element]":
        from calibrant.results import notebook

        return notebook.page(self)


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
