"""The figures of the page of an experiment."""

import math
from collections.abc import Sequence

from calibrant._border.numerals import as_given, number, signed
from calibrant._border.text import name
from calibrant.report.series import Marked
from calibrant.report.tables import side
from calibrant.results import (
    Compared,
    Comparison,
    CurveLine,
    Difference,
    ExperimentResult,
    LearningCurve,
    LearningPoint,
    PipelineCurves,
    known_limits,
)
from calibrant.results.drawing import svg
from calibrant.results.drawing.svg import Element, Scale, element

ROW, LEFT, WIDTH = 18.0, 160.0, 190.0
"""No wider than the screen of a phone, on which a wider figure would shrink until its text cannot be read."""

SIDE, MARGIN = 150.0, 34.0


def differences(comparison: Comparison, metric: str, label: str) -> Element:
    """Draw the difference of every pipeline from the baseline, with its limits."""
    entries = [comparison.entry(model, metric) for model in comparison.models if model != comparison.baseline]
    shown = [entry for entry in entries if _is_drawn(entry.difference)]
    ends = [limit for entry in shown if entry.difference for limit in known_limits(entry.difference) or ()]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    spread = (high - low) or 1.0
    x = Scale(low - 0.04 * spread, high + 0.04 * spread, LEFT, LEFT + WIDTH)
    floor = ROW * len(shown) + 8
    # A long title has more room in the middle of the figure than below the axis.
    title = svg.text((LEFT + WIDTH + 14) / 2, floor + 36, f"{label}, difference", "label")
    parts = [svg.line(x(0), 2, x(0), floor, "diagonal"), svg.axis_below(x, floor, "", about=3), title]
    parts += [_interval(entry, x, ROW * i + 13) for i, entry in enumerate(shown)]
    words = f"{label}: differences from {name(comparison.baseline)} with limits"
    return svg.image(parts, LEFT + WIDTH + 14, floor + 44, words)


def has_differences(comparison: Comparison, metric: str) -> bool:
    """Return whether any difference in this metric has limits, and so a place in a figure."""
    return any(_is_drawn(comparison.entry(model, metric).difference) for model in comparison.models)


def _is_drawn(difference: Difference | None) -> bool:
    limits = None if difference is None else known_limits(difference)
    return difference is not None and limits is not None and all(map(math.isfinite, (difference.value, *limits)))


def _interval(entry: Compared, x: Scale, y: float) -> Element:
    difference = entry.difference
    limits = None if difference is None else known_limits(difference)
    if difference is None or limits is None:
        return element("g")
    low, high = limits
    title = element("title", f"{entry.model}: {signed(difference.value)}, {signed(low)} to {signed(high)}")
    return element(
        "g",
        title,
        svg.text(LEFT - 8, y + 4, name(entry.model, limit=26), "tick", "end"),
        svg.line(x(low), y, x(high), y, "span"),
        element("circle", cx=x(difference.value), cy=y, r=4, class_="dot"),
        class_=f"effect {side(entry) or 'plain'}",
    )


def reliability(curves: PipelineCurves) -> Element:
    """Draw confidence against correctness, every class thinly, and the average over classes."""
    x, y = Scale(0, 1, MARGIN, MARGIN + SIDE), Scale(0, 1, 6 + SIDE, 6)
    parts = [
        element("rect", x=MARGIN, y=6, width=SIDE, height=SIDE, class_="frame"),
        svg.line(x(0), y(0), x(1), y(1), "diagonal"),
        *(_curve(line, x, y, "class-line") for line in curves.classes.values()),
        _curve(curves.average, x, y, "average-line"),
        _curve(curves.confidence, x, y, "confidence-line"),
        svg.axis_below(x, 6 + SIDE, "Predicted", about=2),
        svg.axis_left(y, MARGIN, "", about=2),
    ]
    return svg.image(parts, MARGIN + SIDE + 8, SIDE + 48, f"Reliability curves of {name(curves.pipeline)}")


def _curve(line: CurveLine, x: Scale, y: Scale, class_: str) -> Element:
    return svg.polyline(x.each(line.predicted), y.each(line.observed), class_)


def first_curves(result: ExperimentResult) -> list[PipelineCurves]:
    """Return the curves of the first seed."""
    return [curves for curves in result.curves if curves.seed == result.seeds[0]]


def learning(curve: LearningCurve, metric: str, label: str) -> Element:
    """Draw a metric against the number of rows, on a logarithmic axis, with a line for every calibrator."""
    lines = {calibrator: _finite(curve.of(calibrator, metric)) for calibrator in curve.calibrators}
    before = curve.baseline[metric]
    values = [point.value for points in lines.values() for point in points]
    # Uncalibrated predictions may be far worse than all others, and would leave these no room.
    reach = 1.5 * (max(values, default=1.0) - min(values, default=0.0))
    is_near = math.isfinite(before) and before - max(values, default=before) <= reach
    ends = values + ([before] if is_near else [])
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    spread = (high - low) or abs(high) or 1.0
    y = Scale(low - 0.05 * spread, high + 0.05 * spread, 190, 8)
    first, last = math.log(curve.sizes[0]), math.log(curve.sizes[-1])
    x = Scale(first, last if last > first else first + 1, 62, 350)
    parts = [
        *(svg.line(x.start, y(value), x.stop, y(value), "grid") for value, _ in y.ticks(4)),
        *(svg.text(x(math.log(size)), 207, _short(size), "tick") for size in curve.sizes),
        svg.line(x.start, 190, x.stop, 190, "axis"),
        svg.text((x.start + x.stop) / 2, 226, "Rows that the calibrator is fitted to", "label"),
        svg.axis_left(y, 62, "", about=4),
        svg.turned(label, 14, 99),
    ]
    if is_near:
        parts.append(svg.line(x.start, y(before), x.stop, y(before), "diagonal"))
    parts += [_learnt(i, calibrator, lines[calibrator], x, y) for i, calibrator in enumerate(curve.calibrators)]
    return svg.image(parts, 362, 234, f"{label} on the test rows against the number of calibration rows")


def _finite(points: Sequence[LearningPoint]) -> list[LearningPoint]:
    return [point for point in points if math.isfinite(point.value)]


def _short(size: int) -> str:
    return f"{as_given(size / 1000)}k" if size >= 1000 else str(size)


def _learnt(index: int, calibrator: str, points: Sequence[LearningPoint], x: Scale, y: Scale) -> Element:
    places = [(x(math.log(point.size)), y(point.value)) for point in points]
    sign = Marked(index, calibrator)
    parts: list[Element] = [svg.polyline([a for a, _ in places], [b for _, b in places], "curve")]
    for (a, b), point in zip(places, points, strict=True):
        title = element("title", f"{calibrator}, {point.size} rows: {number(point.value)}")
        parts.append(element("g", title, svg.marker(sign.shape, a, b, 3.5, "marker off")))
    return element("g", *parts, class_=sign.style)


def swatch(index: int) -> Element:
    """Return the sign of a calibrator in a legend."""
    return Marked(index, "").swatch
