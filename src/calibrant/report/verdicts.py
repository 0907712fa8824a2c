"""Verdicts: what they are called, and the error beside its limits and what chance explains."""

from collections.abc import Sequence

import numpy as np

from calibrant._border.numerals import between, number, pvalue
from calibrant.report.series import AnySeries
from calibrant.results import Assessment, ForecastAssessment, Verdict, known_limits, state
from calibrant.results.drawing import svg
from calibrant.results.drawing.svg import Element, Scale, element
from calibrant.results.words.metrics import UNPAIRED
from calibrant.results.words.parts import smallest_pvalue

STATUS = {
    "calibrated": "Calibrated",
    "consistent": "Consistent with calibration",
    "over-confident": "Over-confident",
    "under-confident": "Under-confident",
    "biased": "Biased",
    "miscalibrated": "Miscalibrated",
}
"""The label of each code of a verdict; other codes are shown as they are."""

DIRECTIONS = ("over-confident", "under-confident", "biased", "miscalibrated")
"""Codes of verdicts that found miscalibration."""


def status(verdict: Verdict) -> str:
    """Return what a verdict is called, with "Slightly" for errors within the tolerance."""
    called = STATUS.get(verdict.code, verdict.code)
    if verdict.code in DIRECTIONS and verdict.size == "within tolerance":
        return f"Slightly {called.lower()}"
    return called


def is_measured(assessment: Assessment | ForecastAssessment) -> bool:
    """Return whether the error of the verdict was measured: it is 0 whatever is observed if no two rows share a bin."""
    error = assessment.metrics.get("rms-debiased")
    return error is None or not error.details.get(UNPAIRED)


def limits_name(assessment: Assessment | ForecastAssessment) -> str:
    """Return what the limits of the error are called: those of forecasts may hold with more than 95%."""
    return "limits (at least 95%)" if isinstance(assessment, ForecastAssessment) else "95% limits"


def limits(verdict: Verdict) -> str:
    """Return the limits of the error; an empty text if they are not known."""
    return between((verdict.low, verdict.high), number)


def gaps(series: Sequence[AnySeries]) -> list[tuple[str, str]]:
    """Return the name and the meaning of every kind of gap on the page, each once."""
    return list(dict.fromkeys((s.gap, s.gap_words) for s in series))


def test_pvalue(assessment: Assessment | ForecastAssessment) -> str:
    """Return the p-value of an assessment's test, as a bound if no smaller one was possible."""
    return pvalue(assessment.test.pvalue, smallest_pvalue(assessment.test))


def gauge(verdict: Verdict, limit: float, *, small: bool = False) -> Element:
    """Draw the error on a line from 0 to `limit`, with the range that chance explains."""
    width = 96 if small else 240
    x = Scale(0, limit, 0, width)
    error, expected, detectable = (x.cut(value) for value in (verdict.error, verdict.expected, verdict.detectable))
    parts = [
        element("rect", x=x.start, y=8, width=x.span, height=8, rx=2, class_="track"),
        element("rect", x=x.start, y=8, width=detectable, height=8, rx=2, class_="zone"),
        svg.line(expected, 4, expected, 20, "expected"),
    ]
    if verdict.tolerance <= limit:
        parts.append(svg.line(x(verdict.tolerance), 1, x(verdict.tolerance), 23, "tolerance"))
    if known := known_limits(verdict):
        parts.append(svg.line(x.cut(known[0]), 12, x.cut(known[1]), 12, "reach"))
    parts.append(element("circle", cx=error, cy=12, r=6, class_="error"))
    label = (
        f"Calibration error {number(verdict.error)}{f', limits {limits(verdict)}' if known else ''}; chance explains "
        f"errors up to {number(verdict.detectable)} and gives {number(verdict.expected)} on average; tolerance "
        f"{number(verdict.tolerance)}."
    )
    class_ = f"gauge small {state(verdict)}" if small else "gauge"
    return svg.image(parts, width, 24, label, class_)


def gauge_limit(verdicts: Sequence[Verdict]) -> float:
    """Return the end of a scale that all gauges of a page share."""
    values = np.array([[v.error, v.detectable, v.expected, v.tolerance, v.high or 0.0] for v in verdicts])
    return 1.04 * float(values.max(initial=0.0, where=np.isfinite(values))) or 1.0
