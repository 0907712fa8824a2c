"""The assessments of one page, with what identifies them in every figure and table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from calibrant._border.numerals import count, counted, percent
from calibrant.exceptions import InputError
from calibrant.report.thin import lighten
from calibrant.results import Assessment, ForecastAssessment, Interval, ReliabilityCurve, TestResult
from calibrant.results.drawing.svg import Element, element, marker
from calibrant.results.words.names import name

N_COLOURS = 6
N_SHAPES = 4
N_SHOWN = 6
"""Further curves are hidden at first: a diagram with more cannot be read."""


@dataclass(frozen=True, eq=False)
class Marked:
    """Something with a name, a colour and a shape; the pair of colour and shape repeats after twelve."""

    index: int
    key: str

    @cached_property
    def label(self) -> str:
        """The name as shown."""
        return name(self.key)

    @property
    def style(self) -> str:
        """Class that carries the colour."""
        return f"series-{self.index % N_COLOURS}"

    @property
    def shape(self) -> int:
        """Shape of the markers."""
        return self.index % N_SHAPES

    @property
    def shown(self) -> bool:
        """Whether the curve is visible at first."""
        return self.index < N_SHOWN

    @property
    def swatch(self) -> Element:
        """Marker for headings and legends."""
        sign = marker(self.shape, 7, 7, 5, "marker off")
        return element("svg", sign, viewBox="0 0 14 14", class_=f"swatch {self.style}", aria_hidden="true")


@dataclass(frozen=True, eq=False)
class Series(Marked):
    """One assessment of the page."""

    assessment: Assessment

    @property
    def size(self) -> str:
        """How much was assessed."""
        return f"{counted(self.assessment.n_samples)}, {count(self.assessment.n_classes)} classes"

    @property
    def curve(self) -> ReliabilityCurve:
        """The binned curve, without which there is no page."""
        assert self.assessment.curve is not None  # noqa: S101 (see `as_series`)
        return self.assessment.curve

    @property
    def limits(self) -> Mapping[str, Interval]:
        """Confidence limits, by metric."""
        return self.assessment.intervals

    @property
    def limits_sheet(self) -> str:
        """Where the limits are in the data of an assessment."""
        return "intervals"

    @property
    def tests(self) -> Mapping[str, TestResult]:
        """All tests, by name; the test behind the verdict comes first."""
        return {"omnibus": self.assessment.test, **self.assessment.tests}

    @property
    def gap(self) -> str:
        """What the gap of the verdict is called."""
        return "Mean gap" if self.assessment.n_classes == 2 else "Confidence gap"

    @property
    def gap_words(self) -> str:
        """What the gap is."""
        if self.assessment.n_classes == 2:
            return "mean probability of the second class minus its frequency"
        return "mean confidence minus accuracy"


@dataclass(frozen=True, eq=False)
class ForecastSeries(Marked):
    """One assessment of forecasts."""

    assessment: ForecastAssessment

    @property
    def size(self) -> str:
        """How much was assessed."""
        return f"{counted(self.assessment.n_samples, 'forecast')} ({name(self.assessment.law)})"

    @property
    def limits(self) -> Mapping[str, Interval]:
        """Confidence limits, by metric."""
        return self.assessment.limits

    @property
    def limits_sheet(self) -> str:
        """Where the limits are in the data of an assessment; "intervals" are those of the forecasts."""
        return "limits"

    @property
    def tests(self) -> Mapping[str, TestResult]:
        """The test behind the verdict."""
        return {"redraw": self.assessment.test}

    @property
    def gap(self) -> str:
        """What the gap of the verdict is called."""
        return "Coverage gap"

    @property
    def gap_words(self) -> str:
        """What the gap is."""
        level = self.assessment.settings.get("interval", 0.9)
        if not isinstance(level, float):
            return "probability between the outer quantiles minus the share of values there"
        share = percent(level)
        return f"{share} minus the share of values in central {share} intervals"


AnySeries = Series | ForecastSeries


AnyAssessments: TypeAlias = Assessment | ForecastAssessment | Mapping[str, Assessment | ForecastAssessment]
"""What a page shows: one assessment, or several by name."""


def series_of(assessments: AnyAssessments) -> Sequence[AnySeries]:
    """Return the assessments in order, numbered; all must be of the same kind as the first."""
    first = next(iter(assessments.values()), None) if isinstance(assessments, Mapping) else assessments
    return as_forecast_series(assessments) if isinstance(first, ForecastAssessment) else as_series(assessments)


def as_series(assessments: AnyAssessments) -> list[Series]:
    """Return assessments of classes in their order."""
    named = {assessments.name: assessments} if isinstance(assessments, Assessment) else assessments
    if not isinstance(named, Mapping):
        raise TypeError(
            f"assessments must be an Assessment or a mapping of names to them, but is {type(assessments).__name__}."
        )
    if not named:
        raise InputError("assessments must hold at least one Assessment, but is empty.")
    found = []
    for i, (key, value) in enumerate(named.items()):
        if not isinstance(value, Assessment):
            raise TypeError(f"assessments[{key!r}] must be an Assessment, but is {type(value).__name__}.")
        if value.curve is None:
            raise InputError(
                f"assessments[{key!r}] must hold curves, which a page draws, but it has none. Call assess "
                'without sections, or with "curves" among them.'
            )
        found.append(Series(i, str(key), lighten(value)))
    return found


def as_forecast_series(assessments: AnyAssessments) -> list[ForecastSeries]:
    """Return assessments of forecasts in their order."""
    named = assessments if isinstance(assessments, Mapping) else {assessments.name: assessments}
    found = []
    for i, (key, value) in enumerate(named.items()):
        if not isinstance(value, ForecastAssessment):
            raise TypeError(f"assessments[{key!r}] must be a ForecastAssessment, but is {type(value).__name__}.")
        found.append(ForecastSeries(i, str(key), value))
    return found
