"""The reliability diagram: curves on square axes, and below them the spread of predictions; small ones of classes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from calibrant._border.numerals import count, counted, number, percent
from calibrant._border.types import BoolArray
from calibrant.report import svg
from calibrant.report.series import Marked, Series
from calibrant.report.svg import Element, Scale, element
from calibrant.report.thin import Point, facts, points
from calibrant.results import Assessment, ReliabilityCurve
from calibrant.results.drawing import WORDS, Words, is_dense, off_points, runs, vague_points
from calibrant.results.names import name

LEFT, SIDE, TOP, RIGHT = 50.0, 380.0, 10.0, 12.0
BOTTOM = TOP + SIDE
STRIP, GAP = 26.0, 10.0

N_PROBES = 25
"""Points along a dense curve that show their numbers."""

X = Scale(0, 1, LEFT, LEFT + SIDE)
Y = Scale(0, 1, BOTTOM, TOP)

Height = Callable[[Point, float], float]
"""The height on the page of a value at a point."""

Curves = Mapping[int, ReliabilityCurve]
"""The curves of a diagram, by the number of their series."""


def words(series: Sequence[Series]) -> Words:
    """Return the words of a figure by what its curves compare."""
    return WORDS["top-label" if all(s.assessment.n_classes > 2 for s in series) else "class"]


def axis_titles(series: Sequence[Series]) -> tuple[str, str]:
    """Name the axes."""
    found = words(series)
    return found.horizontal, found.vertical


def reliability_diagram(series: Sequence[Series], curves: Curves, key: str) -> Element:
    """Draw all curves; `key` identifies the diagram on its page."""
    parts = [
        *_hints(series),
        svg.line(X(0), Y(0), X(1), Y(1), "diagonal"),
        *(layer(s, drawn_curve(s, curves[s.index], upright(Y))) for s in series if s.index in curves),
    ]
    return framed(parts, Y, axis_titles(series), key)


def framed(parts: Sequence[Element], y: Scale, titles: tuple[str, str], key: str, x: Scale = X) -> Element:
    """Put axes around what a diagram shows."""
    return element(
        "svg",
        element("rect", x=LEFT, y=TOP, width=SIDE, height=SIDE, class_="frame"),
        *svg.grid(x, y),
        svg.axis_below(x, BOTTOM, titles[0]),
        svg.axis_left(y, LEFT, titles[1]),
        *parts,
        viewBox=_view_box(BOTTOM + 46),
        class_=f"chart diagram {key}",
        role="group",
        aria_labelledby=f"{key}-title",
        aria_describedby=f"{key}-reading",
    )


def clipped(parts: Sequence[Element]) -> Element:
    """Cut off what leaves the frame: an inner drawing area does so by itself."""
    inner = element("g", *parts, transform=f"translate({svg.coordinate(-LEFT)} {svg.coordinate(-TOP)})")
    return element("svg", inner, x=LEFT, y=TOP, width=SIDE, height=SIDE, class_="clip")


def layer(series: Marked, parts: Sequence[Element]) -> Element:
    """Group what belongs to one series, so that it can be hidden."""
    return element(
        "g",
        *parts,
        class_=series.style,
        data_series=str(series.index),
        hidden=None if series.shown else "",
        role="group",
        aria_label=f"Curve of {series.label}",
    )


def _view_box(height: float) -> str:
    return f"0 0 {svg.coordinate(LEFT + SIDE + RIGHT)} {svg.coordinate(height)}"


def _hints(series: Sequence[Series]) -> Iterator[Element]:
    found = words(series)
    yield svg.text(X(0.02), Y(0.95), found.above, "hint", "start")
    yield svg.text(X(0.98), Y(0.03), found.below, "hint", "end")


def upright(y: Scale) -> Height:
    """Place values as they are."""
    return lambda _, value: y(value)


def tilted(y: Scale) -> Height:
    """Place values by their distance from the prediction."""
    return lambda point, value: y(value - point.predicted)


def drawn_curve(series: Series, curve: ReliabilityCurve, height: Height) -> list[Element]:
    """Draw a curve: points with whiskers if it has few, else a line with its band and points that show numbers."""
    own = points(curve)
    xs, ys = [X(p.predicted) for p in own], [height(p, p.observed) for p in own]
    if not is_dense(curve):
        marks = [mark(series, curve, p, height, first=i == 0) for i, p in enumerate(own)]
        lines = [svg.polyline(xs, ys, "curve vague"), *_stretches(own, height, ~vague_points(curve), "curve")]
        return [*(_band(own, xs, height) if curve.band == "consistency" else ()), *lines, *marks]
    probes = [_probe(series, curve, p, height, first=i == 0) for i, p in enumerate(spaced(own))]
    lines = [svg.polyline(xs, ys, "curve"), *_stretches(own, height, off_points(curve), "curve strong")]
    return [*_band(own, xs, height), *lines, *probes]


def _band(own: Sequence[Point], xs: Sequence[float], height: Height) -> Iterator[Element]:
    low = [height(p, p.low) for p in own if p.low is not None]
    high = [height(p, p.high) for p in own if p.high is not None]
    if low:
        yield svg.band(xs, low, high, "band")


def _stretches(own: Sequence[Point], height: Height, marked: BoolArray, class_: str) -> Iterator[Element]:
    """Draw the stretches of a curve along which its points are marked."""
    for run in runs(marked):
        yield svg.polyline([X(p.predicted) for p in own[run]], [height(p, p.observed) for p in own[run]], class_)


def spaced(own: Sequence[Point], most: int = N_PROBES) -> list[Point]:
    """Return points at about equal distances along the axis of the predictions."""
    if len(own) <= most:
        return list(own)
    low, high = own[0].predicted, own[-1].predicted
    cells: dict[int, Point] = {}
    for p in own:
        cells.setdefault(int(most * (p.predicted - low) / ((high - low) or 1.0) * (1 - 1e-9)), p)
    return [*cells.values()]


def mark(series: Series, curve: ReliabilityCurve, point: Point, height: Height, *, first: bool) -> Element:
    """Draw a point with its whiskers, as large as the share of its rows."""
    x, y = X(point.predicted), height(point, point.observed)
    parts = [svg.marker(series.shape, x, y, 2.5 + 2.5 * point.share**0.5, _marker_class(point))]
    if point.low is not None and point.high is not None:
        parts.insert(0, svg.line(x, height(point, point.low), x, height(point, point.high), "whisker"))
    class_ = "point vague" if point.vague else "point"
    return speaking(series, facts(point, curve), (x, y), parts, class_, first=first)


def _probe(series: Series, curve: ReliabilityCurve, point: Point, height: Height, *, first: bool) -> Element:
    x, y = X(point.predicted), height(point, point.observed)
    marker = svg.marker(series.shape, x, y, 4, _marker_class(point))
    return speaking(series, facts(point, curve), (x, y), [marker], "point probe", first=first)


def _marker_class(point: Point) -> str:
    return "marker off" if point.off else "marker"


def speaking(
    series: Marked,
    said: Mapping[str, str],
    place: tuple[float, float],
    parts: Sequence[Element],
    class_: str,
    *,
    first: bool,
) -> Element:
    """Make a point of the diagram show its numbers when it is hovered over or reached by the keyboard."""
    return element(
        "g",
        element("circle", cx=place[0], cy=place[1], r=9, class_="target"),
        *parts,
        class_=class_,
        role="img",
        # One stop of the Tab key a curve; the arrow keys lead along it.
        tabindex="0" if first else "-1",
        aria_label=", ".join(f"{key} {value}" for key, value in said.items()),
        data_tip="\n".join([series.label, *(f"{key}\t{value}" for key, value in said.items())]),
    )


def strip(series: Series, curve: ReliabilityCurve) -> Element:
    """Draw how the predictions are spread, to stand below the diagram: events above the line, the rest below."""
    spans, up, down = _shares(curve)
    largest = max([*up, *down], default=0.0) or 1.0
    middle = GAP + STRIP
    return element(
        "svg",
        # Of a confident model, nearly all rows are at one end; the square root lets the others be seen.
        svg.bars(spans, [STRIP * (v / largest) ** 0.5 for v in up], middle, "share"),
        svg.bars(spans, [-STRIP * (v / largest) ** 0.5 for v in down], middle, "share rest"),
        svg.line(X(0), middle, X(1), middle, "axis"),
        svg.text(LEFT - 7, GAP + 9, percent(round(largest, 2)), "tick", "end"),
        svg.marker(series.shape, LEFT - 12, middle, 4, "marker off"),
        viewBox=_view_box(middle + (STRIP if any(down) else 0) + 2),
        class_=f"chart diagram {series.style}",
        data_series=str(series.index),
        hidden=None if series.shown else "",
        role="img",
        aria_label=f"Spread of the predictions of {series.label}",
    )


def _shares(curve: ReliabilityCurve) -> tuple[list[tuple[float, float]], list[float], list[float]]:
    """Return cells of the predictions in pixels, and the shares of events and of other rows in each."""
    histogram = curve.histogram
    if histogram is None:
        own = points(curve)
        return [(X(p.lower), X(p.upper)) for p in own], [p.share for p in own], [0.0] * len(own)
    total = float(histogram.positives.sum() + histogram.negatives.sum()) or 1.0
    up, down = (histogram.positives / total).tolist(), (histogram.negatives / total).tolist()
    return [(X(a), X(b)) for a, b in pairwise(histogram.edges.tolist())], up, down


SMALL_SIDE = 108.0
MARGIN = 3.0
SMALL_X = Scale(0, 1, MARGIN, MARGIN + SMALL_SIDE)
SMALL_Y = Scale(0, 1, MARGIN + SMALL_SIDE, MARGIN)
SMALL_STRIP = 18.0


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
        *(_panel(name(key), counted(support.get(key, 0)), curve) for key, curve in drawn),
    ]


def _error(curve: ReliabilityCurve) -> str:
    return "" if curve.error is None else f"{curve.error.name} {number(curve.error.value)}"


def _panel(title: str, rows: str, curve: ReliabilityCurve) -> Panel:
    own = points(curve)
    shares = [p.share for p in own]
    base = MARGIN + SMALL_SIDE + 4 + SMALL_STRIP
    largest = max(shares, default=0.0) or 1.0
    spans = [(SMALL_X(p.lower), SMALL_X(p.upper)) for p in own]
    parts = [
        element("rect", x=MARGIN, y=MARGIN, width=SMALL_SIDE, height=SMALL_SIDE, class_="frame bordered"),
        svg.line(SMALL_X(0), SMALL_Y(0), SMALL_X(1), SMALL_Y(1), "diagonal"),
        svg.polyline([SMALL_X(p.predicted) for p in own], [SMALL_Y(p.observed) for p in own], "curve"),
        *_small_marks(own),
        # Most predictions are near 0; the square root lets the rest be seen.
        svg.bars(spans, [SMALL_STRIP * (v / largest) ** 0.5 for v in shares], base, "share"),
    ]
    box = f"0 0 {svg.coordinate(SMALL_SIDE + 2 * MARGIN)} {svg.coordinate(base + 1)}"
    error = _error(curve)
    label = f"Reliability of {title}: {error}, {rows}"
    figure = element("svg", *parts, viewBox=box, class_="chart small", role="img", aria_label=label)
    return Panel(title, error, rows, figure)


def _small_marks(own: Sequence[Point]) -> list[Element]:
    return [_small_mark(p, p.low, p.high) for p in own if p.low is not None and p.high is not None]


def _small_mark(point: Point, low: float, high: float) -> Element:
    x = SMALL_X(point.predicted)
    marker = "marker off" if point.off else "marker"
    return element(
        "g",
        svg.line(x, SMALL_Y(low), x, SMALL_Y(high), "whisker"),
        element("circle", cx=x, cy=SMALL_Y(point.observed), r=2.4, class_=marker),
        class_="vague" if point.vague else None,
    )
