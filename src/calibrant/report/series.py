"""The assessments of one page, with what identifies them in every figure and table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from calibrant._border.numerals import count, counted, percent
from calibrant._border.text import name
from calibrant.exceptions import InputError
from calibrant.results import Assessment, ClasswiseCurves, ForecastAssessment, Interval, ReliabilityCurve, TestResult
from calibrant.results.drawing.reliability import worst_first
from calibrant.results.drawing.svg import Element, element, marker
from calibrant.results.drawing.thinning import thin_curve

N_COLOURS = 6
N_SHAPES = 4
N_SHOWN = 6
"""Further curves are hidden at first: a diagram with more cannot be read."""

N_PANELS = 24
"""Number of classes that are drawn, those with the largest errors; the table holds all of them."""


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
        assert self.assessment.curve is not None  # noqa: S101 (see `series_of`)
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


def series_of(
    assessments: Assessment | ForecastAssessment | Mapping[str, Assessment | ForecastAssessment],
) -> Sequence[AnySeries]:
    """Return the assessments in their order, numbered; all must be of the same kind as the first."""
    named = (
        {assessments.name: assessments} if isinstance(assessments, (Assessment, ForecastAssessment)) else assessments
    )
    if not isinstance(named, Mapping):
        raise TypeError(
            f"assessments must be an Assessment or a mapping of names to them, but is {type(assessments).__name__}."
        )
    if not named:
        raise InputError("assessments must hold at least one Assessment, but is empty.")
    of_forecasts = isinstance(next(iter(named.values())), ForecastAssessment)
    wanted = "a ForecastAssessment" if of_forecasts else "an Assessment"
    found: list[AnySeries] = []
    for i, (key, value) in enumerate(named.items()):
        if of_forecasts and isinstance(value, ForecastAssessment):
            found.append(ForecastSeries(i, str(key), value))
        elif not of_forecasts and isinstance(value, Assessment):
            found.append(Series(i, str(key), _drawn(value, key)))
        else:
            raise TypeError(f"assessments[{key!r}] must be {wanted}, but is {type(value).__name__}.")
    return found


def _drawn(assessment: Assessment, key: object) -> Assessment:
    """Return the assessment as a page shows it: thinned curves, and the classes with the largest errors."""
    if assessment.curve is None:
        raise InputError(
            f"assessments[{key!r}] must hold curves, which a page draws, but it has none. Call assess without "
            'sections, or with "curves" among them.'
        )
    classwise = assessment.classwise
    return replace(
        assessment,
        curve=thin_curve(assessment.curve),
        curves={name: thin_curve(curve) for name, curve in assessment.curves.items()},
        classwise=None if classwise is None else _worst_classes(classwise),
    )


def _worst_classes(classwise: ClasswiseCurves) -> ClasswiseCurves:
    worst = worst_first(classwise.curves)[:N_PANELS]
    return ClasswiseCurves(
        names=tuple(classwise.names[i] for i in worst),
        curves=tuple(thin_curve(replace(classwise.curves[i], histogram=None)) for i in worst),
        average=thin_curve(classwise.average),
    )
