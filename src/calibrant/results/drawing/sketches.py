"""Small figures of results that carry their own colours, for pages whose style is not ours."""

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.results.drawing import BLUE, RED, svg
from calibrant.results.drawing.reliability import WORDS, reliability_figure, spread
from calibrant.results.drawing.reliability_svg import bars, small_curve
from calibrant.results.drawing.svg import Element, Scale, element
from calibrant.results.drawing.thinning import thin_curve

if TYPE_CHECKING:
    from calibrant.results.curves import CumulativeCurve, ReliabilityCurve
    from calibrant.results.forecasts import PITHistogram, QuantileCurve

SIDE, LEFT, BELOW, STRIP = 200.0, 56.0, 34.0, 14.0
MOST_POINTS = 300
"""A line with more points is thinned: a notebook keeps every figure it shows."""

STYLES = {
    "axis": {"stroke": "currentColor", "stroke-opacity": "0.4"},
    "band": {"fill": "currentColor", "fill-opacity": "0.15"},
    "curve": {"fill": "none", "stroke": BLUE, "stroke-width": "1.4"},
    "curve strong": {"fill": "none", "stroke": RED, "stroke-width": "2.6"},
    "curve vague": {"fill": "none", "stroke": BLUE, "stroke-width": "0.8", "stroke-opacity": "0.4"},
    "diagonal": {"stroke": "currentColor", "stroke-opacity": "0.6", "stroke-dasharray": "4 3"},
    "frame": {"fill": "none", "stroke": "currentColor", "stroke-opacity": "0.4"},
    "marker": {"fill": BLUE},
    "marker off": {"fill": RED},
    "share": {"fill": BLUE},
    "share rest": {"fill": "currentColor", "fill-opacity": "0.3"},
    "tick": {"font-size": "11", "font-family": "sans-serif", "fill": "currentColor"},
    "vague": {"opacity": "0.4"},
    "whisker": {"stroke": BLUE},
    "whisker soft": {"stroke": "currentColor", "stroke-width": "6", "stroke-opacity": "0.2"},
}
"""The style of each CSS class of the page: a notebook has no style sheet of ours."""


def _inline(drawn: Element) -> Element:
    """Replace the CSS class of an element, and of all within it, by its attributes."""
    own = {key: value for key, value in drawn.attributes.items() if key != "class"}
    inner = tuple(_inline(child) if isinstance(child, Element) else child for child in drawn.children)
    return Element(drawn.tag, {**own, **STYLES.get(drawn.attributes.get("class", ""), {})}, inner)


def _frame(x: Scale, y: Scale, titles: tuple[str, str], marks: Iterable[Element], above: float = 0.0) -> Element:
    """Put marks between labelled axes in the colour of the page's text, with room above them."""
    ends = [
        element("rect", x=LEFT, y=6, width=SIDE, height=SIDE, class_="frame"),
        *(svg.text(x(value), SIDE + 19, written, "tick") for value, written in x.ticks(2)),
        *(svg.text(LEFT - 4, y(value) + 4, written, "tick", "end") for value, written in y.ticks(3)),
        svg.text(LEFT + SIDE / 2, SIDE + 32, titles[0], "tick"),
        svg.turned(titles[1], 10, SIDE / 2 + 6, "tick"),
    ]
    size = {"width": LEFT + SIDE + 8, "height": SIDE + 6 + BELOW + above}
    view = f"0 {svg.coordinate(-above)} {svg.coordinate(size['width'])} {svg.coordinate(size['height'])}"
    label = f"{titles[1]} against {titles[0]}"
    return _inline(element("svg", *marks, *ends, viewBox=view, role="img", aria_label=label, **size))


def _pixels(scale: Scale, values: FloatArray) -> list[float]:
    kept = np.unique(np.linspace(0, len(values) - 1, min(len(values), MOST_POINTS)).astype(int))
    return scale.each(np.asarray(values)[kept])


def _unit() -> tuple[Scale, Scale]:
    return Scale(0, 1, LEFT, LEFT + SIDE), Scale(0, 1, SIDE + 6, 6)


def reliability(curve: "ReliabilityCurve") -> Element:
    """Draw what the page draws, with the points that are off in red."""
    (x, y), curve, words = _unit(), thin_curve(curve), WORDS[curve.view]
    marks = [
        *bars(spread(curve), x, -STRIP, STRIP),
        svg.line(x(0), -STRIP, x(1), -STRIP, "axis"),
        svg.line(x(0), y(0), x(1), y(1), "diagonal"),
        *small_curve(reliability_figure(curve), (x, y), 4.0),
    ]
    return _frame(x, y, (words.horizontal, words.vertical), marks, 2 * STRIP)


def quantiles(curve: "QuantileCurve") -> Element:
    """Draw observed against nominal coverage, with the limits of chance."""
    x, y = _unit()
    at, (low, high) = _pixels(x, curve.nominal), (_pixels(y, limit) for limit in (curve.low, curve.high))
    marks = [svg.band(at, low, high, "band"), svg.line(x(0), y(0), x(1), y(1), "diagonal")]
    line = svg.polyline(at, _pixels(y, curve.observed), "curve")
    return _frame(x, y, ("nominal coverage", "observed"), [*marks, line])


def cumulative(curve: "CumulativeCurve") -> Element:
    """Draw the running sum, and two standard deviations of its end to either side."""
    ends = np.append(curve.cumulative, [-2 * curve.sigma, 2 * curve.sigma])
    low, high = float(ends.min()), float(ends.max())
    room = 0.05 * (high - low) or 1.0
    x, y = _unit()[0], Scale(low - room, high + room, SIDE + 6, 6)
    chance = svg.band([x(0), x(1)], [y(-2 * curve.sigma)] * 2, [y(2 * curve.sigma)] * 2, "band")
    path = svg.polyline(_pixels(x, curve.share), _pixels(y, curve.cumulative), "curve")
    marks = [chance, svg.line(x(0), y(0), x(1), y(0), "diagonal"), path]
    return _frame(x, y, ("share of rows", "sum of outcome - prediction"), marks)


def transforms(histogram: "PITHistogram") -> Element:
    """Draw the counts as bars, red beyond the limits of chance."""
    top = 1.1 * float(max(histogram.count.max(), histogram.high.max()))
    x, y = Scale(0, 1, LEFT, LEFT + SIDE), Scale(0, top, SIDE + 6, 6)
    edges = [*histogram.lower.tolist(), float(histogram.upper[-1])]
    off = (histogram.count < histogram.low) | (histogram.count > histogram.high)
    spans, heights = [(x(a), x(b)) for a, b in pairwise(edges)], [y(0) - y(v) for v in histogram.count.tolist()]
    marks = [
        svg.bars(spans, [tall * here for tall, here in zip(heights, chosen.tolist(), strict=True)], y(0), class_)
        for chosen, class_ in ((~off, "share"), (off, "marker off"))
    ]
    flat = svg.line(x(0), y(histogram.expected), x(1), y(histogram.expected), "diagonal")
    return _frame(x, y, ("probability integral transform", "targets"), [*marks, flat])
