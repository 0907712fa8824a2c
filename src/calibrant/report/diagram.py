"""The reliability diagram with the distribution of predictions below it, and small diagrams of the classes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from calibrant._border.numerals import count, counted, decimals, number, percent
from calibrant._border.text import name
from calibrant._border.types import FloatArray
from calibrant.report.series import Marked, Series
from calibrant.results import Assessment, ReliabilityCurve
from calibrant.results.drawing import svg
from calibrant.results.drawing.reliability import (
    ReliabilityFigure,
    Words,
    error_text,
    reliability_figure,
    spread,
    tilted_end,
    words_of,
)
from calibrant.results.drawing.reliability_svg import bars, lines, mark, place, small_curve
from calibrant.results.drawing.svg import Element, Scale, element

LEFT, SIDE, TOP, RIGHT = 50.0, 380.0, 10.0, 12.0
BOTTOM = TOP + SIDE
STRIP, GAP = 26.0, 10.0

N_PROBES = 25
"""Points along a dense curve that show their numbers."""

X = Scale(0, 1, LEFT, LEFT + SIDE)
Y = Scale(0, 1, BOTTOM, TOP)

Curves = Mapping[int, ReliabilityCurve]
"""The curves of a diagram, by the number of their series."""


def reliability_diagram(series: Sequence[Series], curves: Curves, key: str, *, tilted: bool = False) -> Element:
    """Draw all curves, or their distances from the diagonal; `key` identifies the diagram on its page."""
    words, end = words_of(curves.values(), tilted=tilted), tilted_end([*curves.values()])
    figures = {i: reliability_figure(curve, tilted=tilted, end=end) for i, curve in curves.items()}
    shared = next(iter(figures.values()))
    y = Scale(*shared.ends, Y.start, Y.stop)
    calibrated = svg.line(X(0), y(shared.calibrated[0]), X(1), y(shared.calibrated[1]), "diagonal")
    layers = [layer(s, _speaking_curve(s, curves[s.index], figures[s.index], y)) for s in series if s.index in curves]
    parts = [*_hints(words), calibrated, *([clipped(layers)] if tilted else layers)]
    return framed(parts, y, (words.horizontal, words.vertical), key)


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
    """Cut off what leaves the frame: a nested SVG element clips its content."""
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


def _hints(words: Words) -> Iterator[Element]:
    yield svg.text(X(0.02), Y(0.95), words.above, "hint", "start")
    yield svg.text(X(0.98), Y(0.03), words.below, "hint", "end")


RADIUS = 5.0
"""Radius of a mark that stands for all rows."""


def _speaking_curve(series: Series, curve: ReliabilityCurve, figure: ReliabilityFigure, y: Scale) -> list[Element]:
    """Draw a curve whose points show their numbers; a line has some points along it that do."""
    chosen = spaced(figure.x) if figure.is_line else range(len(figure.x))
    marks: list[Element] = []
    for i in chosen:
        class_ = "point probe" if figure.is_line else "point vague" if figure.vague[i] else "point"
        parts = mark(figure, i, (X, y), series.shape, RADIUS)
        marks.append(speaking(series, facts(curve, i), place(figure, i, (X, y)), parts, class_, first=not marks))
    return [*lines(figure, (X, y)), *marks]


LIMITS = {"confidence": "interval", "consistency": "band"}
"""What the limits of a curve are called, by the kind of its band."""


def _position(value: float) -> str:
    """Return a probability with three decimals, which line up better than significant digits."""
    return decimals(value) if 0 < value < 1 else number(value).removesuffix(".00")


def facts(curve: ReliabilityCurve, i: int) -> dict[str, str]:
    """Return what the tooltip of a point of a curve says."""
    share = float(curve.weight[i]) / (float(curve.weight.sum()) or 1.0)
    found = {
        "Predictions": f"{_position(float(curve.lower[i]))} to {_position(float(curve.upper[i]))}",
        "Rows": f"{count(float(curve.count[i]))} ({percent(share, 1)})",
        "Mean prediction": number(float(curve.predicted[i])),
        "Frequency": number(float(curve.observed[i])),
    }
    if curve.low is not None and curve.high is not None:
        limits = f"{_position(float(curve.low[i]))} to {_position(float(curve.high[i]))}"
        found[f"{percent(curve.level)} {LIMITS[curve.band]}"] = limits
    return found


def spaced(x: FloatArray, most: int = N_PROBES) -> list[int]:
    """Return at most `most` points of a curve, at about equal distances along the horizontal axis."""
    if len(x) <= most:
        return [*range(len(x))]
    width = float(x[-1] - x[0]) or 1.0
    cells: dict[int, int] = {}
    for i, value in enumerate(x.tolist()):
        cells.setdefault(int(most * (value - float(x[0])) / width * (1 - 1e-9)), i)
    return [*cells.values()]


def speaking(
    series: Marked,
    said: Mapping[str, str],
    place: tuple[float, float],
    parts: Iterable[Element],
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
        # The Tab key stops once per curve; the arrow keys move along it.
        tabindex="0" if first else "-1",
        aria_label=", ".join(f"{key} {value}" for key, value in said.items()),
        data_tip="\n".join([series.label, *(f"{key}\t{value}" for key, value in said.items())]),
    )


def probes(n_points: int, about: int = N_PROBES) -> range:
    """Return which points along a curve show their numbers, if about this number do."""
    return range(0, n_points, max(1, n_points // about))


def stops(
    series: Marked, found: Iterable[tuple[Mapping[str, str], tuple[float, float]]], class_: str = "point probe"
) -> list[Element]:
    """Draw the points along a curve that show their numbers: what each says, and its place."""
    return [
        speaking(series, said, place, [svg.marker(series.shape, *place, 4, "marker off")], class_, first=i == 0)
        for i, (said, place) in enumerate(found)
    ]


def strip(series: Series, curve: ReliabilityCurve) -> Element:
    """Draw the distribution of the predictions, for below the diagram: events above the line, other rows below it."""
    rows, middle = spread(curve), GAP + STRIP
    return element(
        "svg",
        *bars(rows, X, middle, STRIP),
        svg.line(X(0), middle, X(1), middle, "axis"),
        svg.text(LEFT - 7, GAP + 9, rows.largest, "tick", "end"),
        svg.marker(series.shape, LEFT - 12, middle, 4, "marker off"),
        viewBox=_view_box(middle + (0 if rows.down is None else STRIP) + 2),
        class_=f"chart diagram {series.style}",
        data_series=str(series.index),
        hidden=None if series.shown else "",
        role="img",
        aria_label=f"Distribution of the predictions of {series.label}",
    )


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


def _panel(title: str, rows: str, curve: ReliabilityCurve) -> Panel:
    base = MARGIN + SMALL_SIDE + 4 + SMALL_STRIP
    parts = [
        element("rect", x=MARGIN, y=MARGIN, width=SMALL_SIDE, height=SMALL_SIDE, class_="frame bordered"),
        svg.line(SMALL_X(0), SMALL_Y(0), SMALL_X(1), SMALL_Y(1), "diagonal"),
        *small_curve(reliability_figure(curve), (SMALL_X, SMALL_Y), 4.2),
        *bars(spread(replace(curve, histogram=None)), SMALL_X, base, SMALL_STRIP),
    ]
    error = error_text(curve)
    label = f"Reliability of {title}: {error}, {rows}"
    return Panel(title, error, rows, svg.image(parts, SMALL_SIDE + 2 * MARGIN, base + 1, label, "chart small"))
