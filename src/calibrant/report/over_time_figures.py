"""The figures of the page about calibration over time: evidence, shift and slope, day by day."""

import math
from collections.abc import Sequence

from calibrant.report import svg
from calibrant.report.svg import Element, Scale, element
from calibrant.results import WatchedDay, WatchResult
from calibrant.results.writing import name, number, signed

WIDTH, LEFT, RIGHT, TOP = 860.0, 62.0, 14.0, 20.0
N_LABELS = 6
MANY_DAYS = 120
"""More days than this have smaller dots."""


def days_axis(days: Sequence[WatchedDay], y: float) -> tuple[Scale, Element]:
    """Return the scale of days by their number, and its axis with some of their names."""
    x = Scale(-0.5, max(len(days), 2) - 0.5, LEFT, WIDTH - RIGHT)
    step = max(1, math.ceil(len(days) / N_LABELS))
    # A name near an end stays within the figure.
    inside = [min(max(x(i), LEFT + 30), WIDTH - RIGHT - 30) for i in range(len(days))]
    marks = [
        svg.text(inside[i], y + 17, name(days[i].name, limit=14), "tick") for i in range(step // 2, len(days), step)
    ]
    return x, element("g", svg.line(x.start, y, x.stop, y, "axis"), *marks)


def evidence(result: WatchResult) -> Element:
    """Draw the evidence after every day on a logarithmic scale, with the limit and when calibration broke."""
    height, days = 230.0, result.days
    logs = [day.log_e / math.log(10) for day in days]
    limit = result.log_limit / math.log(10)
    y = Scale(min(-1.0, *logs), max(limit + 1, *logs) * 1.04, height, TOP)
    x, axis = days_axis(days, height)
    places = [x(i) for i in range(len(days))]
    parts = [*_powers(x, y), axis, *_when(result, x, height)]
    parts.append(svg.line(x.start, y(limit), x.stop, y(limit), "alarm-line"))
    at = f"alarm at {math.exp(result.log_limit):.3g}"
    parts.append(svg.text(x.start + 6, y(limit) - 5, at, "alarm-text", "start"))
    plugin = [day.log_e_plugin for day in days if day.log_e_plugin is not None]
    if len(plugin) == len(days):
        shown = [y(min(max(value / math.log(10), y.low), y.high)) for value in plugin]
        parts.append(svg.polyline(places, shown, "plugin-line"))
    parts.append(svg.polyline(places, [y(value) for value in logs], "curve"))
    parts += [_tip(days[i], places[i], y(logs[i]), _radius(result)) for i in range(len(days))]
    return _chart(parts, height, "Evidence of a change, after each day")


def _radius(result: WatchResult) -> float:
    return 3.0 if len(result.days) <= MANY_DAYS else 1.5


def _tip(day: WatchedDay, x: float, y: float, radius: float) -> Element:
    words = f"{name(day.name)}: evidence {number(math.exp(min(day.log_e, 700)))} after {day.n_samples:,} rows"
    return element("g", element("title", words), element("circle", cx=x, cy=y, r=radius, class_="marker off"))


def _powers(x: Scale, y: Scale) -> list[Element]:
    """Rule the area at powers of ten, with their names on the left."""
    step = max(1, round((y.high - y.low) / 6))
    ticks = [value for value in range(math.ceil(y.low), math.floor(y.high) + 1) if value % step == 0]
    lines = [svg.line(x.start, y(value), x.stop, y(value), "grid") for value in ticks]
    return lines + [svg.text(LEFT - 7, y(value) + 4, power_of_ten(value), "tick", "end") for value in ticks]


def power_of_ten(exponent: int) -> str:
    """Write a power of ten.

    Examples
    --------
    >>> power_of_ten(2), power_of_ten(-12)
    ('100', '10⁻¹²')
    """
    if -2 <= exponent <= 3:
        return f"{10.0**exponent:,g}"
    return "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _when(result: WatchResult, x: Scale, height: float) -> list[Element]:
    """Mark since when calibration is changed, the range of that day, and the alarm."""
    change = result.change
    if change is None:
        return []
    place = {day.name: i for i, day in enumerate(result.days)}
    low, high = x(place[change.earliest] - 0.5), x(place[change.latest] + 0.5)
    since, alarm = x(place[change.since] - 0.5), x(place[change.alarm])
    return [
        element("rect", x=low, y=TOP, width=high - low, height=height - TOP, class_="range"),
        svg.line(since, TOP, since, height, "since-line"),
        svg.line(alarm, TOP, alarm, height, "alarm-day"),
        svg.text(since, TOP - 6, "changed", "tick", "end" if since > WIDTH / 2 else "start"),
    ]


def coefficient(result: WatchResult, which: str, label: str, expected: float) -> Element:
    """Draw shift or slope of every day with its 95% limits, and the value that is expected."""
    height = 190.0
    found = [(i, getattr(day, which), getattr(day, f"{which}_error")) for i, day in enumerate(result.days)]
    known = [(i, value, 1.96 * error) for i, value, error in found if value is not None and error < 10]
    # Days with few events have limits without end: they do not decide the scale.
    spread = sorted(abs(value - expected) + error for _, value, error in known) or [0.0]
    reach = 1.15 * max(min(spread[-1], 2 * spread[math.floor(0.9 * (len(spread) - 1))]), 0.05)
    y = Scale(expected - reach, expected + reach, height, TOP)
    x, axis = days_axis(result.days, height)
    parts = [svg.line(x.start, y(value), x.stop, y(value), "grid") for value, _ in y.ticks(4)]
    parts += [svg.text(LEFT - 7, y(value) + 4, text, "tick", "end") for value, text in y.ticks(4)]
    parts += [axis, *_when(result, x, height), svg.line(x.start, y(expected), x.stop, y(expected), "diagonal")]
    radius = _radius(result)
    parts += [_whisker(f"{result.days[i].name}: {label}", x(i), y, (value, error), radius) for i, value, error in known]
    return _chart(parts, height, f"{label} of every day with 95% limits")


def _whisker(what: str, x: float, y: Scale, found: tuple[float, float], radius: float) -> Element:
    """Draw a value with its limits, cut at the frame."""
    value, error = found

    def cut(at: float) -> float:
        return y(min(max(at, y.low), y.high))

    words = f"{name(what)} {signed(value)}, {signed(value - error)} to {signed(value + error)}"
    line = svg.line(x, cut(value - error), x, cut(value + error), "whisker")
    dot = [element("circle", cx=x, cy=y(value), r=radius, class_="marker off")] if y.low <= value <= y.high else []
    return element("g", element("title", words), line, *dot)


def _chart(parts: Sequence[Element], height: float, words: str) -> Element:
    view = f"0 0 {svg.coordinate(WIDTH)} {svg.coordinate(height + 26)}"
    return element("svg", *parts, viewBox=view, class_="chart series-0", role="img", aria_label=words)
