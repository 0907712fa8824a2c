"""Small figures of results that carry their own colours, for pages whose style is not ours."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.report.svg import Element, Scale, coordinate, element
from calibrant.report.thin import Point, points, thin_curve
from calibrant.results import CumulativeCurve, PITHistogram, QuantileCurve, ReliabilityCurve
from calibrant.results.drawing import BLUE, RED, WORDS, is_dense, off_points, runs

SIDE, LEFT, BELOW = 200.0, 56.0, 34.0
MOST_POINTS = 300
"""A line with more points is thinned: a notebook keeps every figure it shows."""


def _frame(x: Scale, y: Scale, titles: tuple[str, str], marks: Sequence[Element]) -> Element:
    """Put marks between labelled axes in the colour of the page's text."""
    ends = [
        element("rect", x=LEFT, y=6, width=SIDE, height=SIDE, fill="none", stroke="currentColor", stroke_opacity="0.4"),
        *(_words(x(value), SIDE + 19, written, "middle") for value, written in x.ticks(2)),
        *(_words(LEFT - 4, y(value) + 4, written, "end") for value, written in y.ticks(3)),
        _words(LEFT + SIDE / 2, SIDE + 32, titles[0], "middle"),
        element("text", titles[1], transform=f"translate(10 {SIDE / 2 + 6}) rotate(-90)", **_font("middle")),
    ]
    view = f"0 0 {coordinate(LEFT + SIDE + 8)} {coordinate(SIDE + 6 + BELOW)}"
    label = f"{titles[1]} against {titles[0]}"
    size = {"width": LEFT + SIDE + 8, "height": SIDE + 6 + BELOW}
    return element("svg", *marks, *ends, viewBox=view, role="img", aria_label=label, **size)


def _font(anchor: str) -> dict[str, str]:
    return {"font-size": "11", "font-family": "sans-serif", "fill": "currentColor", "text-anchor": anchor}


def _words(x: float, y: float, words: str, anchor: str) -> Element:
    return element("text", words, x=x, y=y, **_font(anchor))


def _points(xs: FloatArray, ys: FloatArray, x: Scale, y: Scale) -> str:
    kept = np.unique(np.linspace(0, len(xs) - 1, min(len(xs), MOST_POINTS)).astype(int))
    pairs = zip(np.asarray(xs)[kept].tolist(), np.asarray(ys)[kept].tolist(), strict=True)
    return " ".join(f"{coordinate(x(a))},{coordinate(y(b))}" for a, b in pairs)


def _line(xs: FloatArray, ys: FloatArray, x: Scale, y: Scale, colour: str = BLUE, width: str = "1.8") -> Element:
    return element("polyline", points=_points(xs, ys, x, y), fill="none", stroke=colour, stroke_width=width)


def _band(xs: FloatArray, low: FloatArray, high: FloatArray, x: Scale, y: Scale) -> Element:
    ends = f"{_points(xs, low, x, y)} {_points(np.asarray(xs)[::-1], np.asarray(high)[::-1], x, y)}"
    return element("polygon", points=ends, fill="currentColor", fill_opacity="0.15")


def _straight(x1: float, y1: float, x2: float, y2: float) -> Element:
    dashes = {"stroke": "currentColor", "stroke-opacity": "0.6", "stroke-dasharray": "4 3"}
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, **dashes)


def _unit() -> tuple[Scale, Scale]:
    return Scale(0, 1, LEFT, LEFT + SIDE), Scale(0, 1, SIDE + 6, 6)


def _reliability(curve: ReliabilityCurve) -> Element:
    """Draw what the page draws: points with whiskers, or a line with its band; what is off is red."""
    (x, y), words, curve = _unit(), WORDS[curve.view], thin_curve(curve)
    marks = [_straight(x(0), y(0), x(1), y(1))]
    if is_dense(curve):
        if curve.low is not None and curve.high is not None:
            marks.insert(0, _band(curve.predicted, curve.low, curve.high, x, y))
        marks.append(_line(curve.predicted, curve.observed, x, y))
        marks += [_line(curve.predicted[run], curve.observed[run], x, y, RED, "2.6") for run in runs(off_points(curve))]
    else:
        marks.append(_line(curve.predicted, curve.observed, x, y, width="0.8"))
        marks += [mark for point in points(curve) for mark in _marked(point, x, y)]
    return _frame(x, y, (words.horizontal, words.vertical), marks)


def _marked(point: Point, x: Scale, y: Scale) -> Iterator[Element]:
    """Draw a point, with its whisker if it has limits."""
    at, colour = x(point.predicted), RED if point.off else BLUE
    if point.low is not None and point.high is not None:
        yield element("line", x1=at, y1=y(point.low), x2=at, y2=y(point.high), stroke=colour)
    yield element("circle", cx=at, cy=y(point.observed), r=2 + 2 * point.share**0.5, fill=colour)


def _quantiles(curve: QuantileCurve) -> Element:
    x, y = _unit()
    marks = [_band(curve.nominal, curve.low, curve.high, x, y), _straight(x(0), y(0), x(1), y(1))]
    return _frame(x, y, ("nominal coverage", "observed"), [*marks, _line(curve.nominal, curve.observed, x, y)])


def _cumulative(curve: CumulativeCurve) -> Element:
    ends = np.append(curve.cumulative, [-2 * curve.sigma, 2 * curve.sigma])
    low, high = float(ends.min()), float(ends.max())
    room = 0.05 * (high - low) or 1.0
    x, y = Scale(0, 1, LEFT, LEFT + SIDE), Scale(low - room, high + room, SIDE + 6, 6)
    chance = _band(np.array([0.0, 1.0]), np.full(2, -2 * curve.sigma), np.full(2, 2 * curve.sigma), x, y)
    marks = [chance, _straight(x(0), y(0), x(1), y(0)), _line(curve.share, curve.cumulative, x, y)]
    return _frame(x, y, ("share of rows", "sum of outcome - prediction"), marks)


def _pit(histogram: PITHistogram) -> Element:
    top = 1.1 * float(max(histogram.count.max(), histogram.high.max()))
    x, y = Scale(0, 1, LEFT, LEFT + SIDE), Scale(0, top, SIDE + 6, 6)
    edges = [*histogram.lower.tolist(), float(histogram.upper[-1])]
    off = (histogram.count < histogram.low) | (histogram.count > histogram.high)
    marks = [
        element(
            "rect",
            x=x(a) + 0.5,
            y=y(count),
            width=x(b) - x(a) - 1,
            height=y(0) - y(count),
            fill=RED if red else BLUE,
            fill_opacity="0.75",
        )
        for (a, b), count, red in zip(pairwise(edges), histogram.count.tolist(), off.tolist(), strict=True)
    ]
    flat = _straight(x(0), y(histogram.expected), x(1), y(histogram.expected))
    return _frame(x, y, ("probability integral transform", "targets"), [*marks, flat])


SKETCHES: dict[type, Callable[[Any], Element]] = {
    CumulativeCurve: _cumulative,
    PITHistogram: _pit,
    QuantileCurve: _quantiles,
    ReliabilityCurve: _reliability,
}
"""The figure of each kind of result that has one."""
