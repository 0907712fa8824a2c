"""Small reliability diagrams, one per class, and the average over classes."""

from collections.abc import Sequence
from dataclasses import dataclass

from calibrant.report import svg
from calibrant.report.svg import Element, Scale, element
from calibrant.report.thin import Point, points
from calibrant.results import Assessment, ReliabilityCurve
from calibrant.results.writing import count, name, number

SIDE = 108.0
MARGIN = 3.0
X = Scale(0, 1, MARGIN, MARGIN + SIDE)
Y = Scale(0, 1, MARGIN + SIDE, MARGIN)
STRIP = 18.0


@dataclass(frozen=True)
class Panel:
    """One small diagram with its words."""

    title: str
    error: str
    rows: str
    figure: Element


def panels(assessment: Assessment) -> list[Panel]:
    """Return the average over classes, and the classes that are drawn, the largest error first."""
    if assessment.classwise is None:
        return []
    support = {summary.name: summary.n_observed for summary in assessment.classes}
    average = assessment.classwise.average
    drawn = zip(assessment.classwise.names, assessment.classwise.curves, strict=True)
    return [
        _panel("Average", f"of {count(len(assessment.classes))} classes", average),
        *(_panel(name(key), f"{count(support.get(key, 0))} rows", curve) for key, curve in drawn),
    ]


def _error(curve: ReliabilityCurve) -> str:
    return "" if curve.error is None else f"{curve.error.name} {number(curve.error.value)}"


def _panel(title: str, rows: str, curve: ReliabilityCurve) -> Panel:
    own = points(curve)
    shares = [p.share for p in own]
    base = MARGIN + SIDE + 4 + STRIP
    largest = max(shares, default=0.0) or 1.0
    spans = [(X(p.lower), X(p.upper)) for p in own]
    parts = [
        element("rect", x=MARGIN, y=MARGIN, width=SIDE, height=SIDE, class_="frame bordered"),
        svg.line(X(0), Y(0), X(1), Y(1), "diagonal"),
        svg.polyline([X(p.predicted) for p in own], [Y(p.observed) for p in own], "curve"),
        *_marks(own),
        # Most predictions are near 0; the square root lets the rest be seen.
        svg.bars(spans, [STRIP * (v / largest) ** 0.5 for v in shares], base, "share"),
    ]
    box = f"0 0 {svg.coordinate(SIDE + 2 * MARGIN)} {svg.coordinate(base + 1)}"
    error = _error(curve)
    label = f"Reliability of {title}: {error}, {rows}"
    figure = element("svg", *parts, viewBox=box, class_="chart small", role="img", aria_label=label)
    return Panel(title, error, rows, figure)


def _marks(own: Sequence[Point]) -> list[Element]:
    return [_mark(p, p.low, p.high) for p in own if p.low is not None and p.high is not None]


def _mark(point: Point, low: float, high: float) -> Element:
    x = X(point.predicted)
    marker = "marker off" if point.off else "marker"
    return element(
        "g",
        svg.line(x, Y(low), x, Y(high), "whisker"),
        element("circle", cx=x, cy=Y(point.observed), r=2.4, class_=marker),
        class_="vague" if point.vague else None,
    )
