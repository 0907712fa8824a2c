"""The page about calibration over time: the verdict, its evidence, and every day; from results only."""

import math
from collections.abc import Callable, Sequence
from functools import partial

from calibrant._border.numerals import count, counted, number, percent, power_of_ten, signed, significant
from calibrant._border.text import capital, name
from calibrant.report.page import rendered
from calibrant.report.tables import ABSENT
from calibrant.results import WatchedDay, WatchResult
from calibrant.results.drawing import svg
from calibrant.results.drawing.svg import Element, Scale, element
from calibrant.results.over_time import WIDE


def lead(result: WatchResult) -> str:
    """Say what was watched."""
    rows = sum(day.n_samples for day in result.days)
    span = name(result.days[0].name)
    if len(result.days) > 1:
        span = f"{len(result.days)} days, {span} to {name(result.days[-1].name)}"
    return f"{span}; {counted(rows)}."


def facts(result: WatchResult) -> list[tuple[str, str]]:
    """Return the numbers of the verdict."""
    limit = ("Alarm at evidence", number(math.exp(result.log_limit)))
    promise = ("False alarms, ever", f"at most {percent(result.alpha)}")
    largest = ("Largest evidence", written_evidence(max(day.log_e for day in result.days)))
    change = result.change
    if change is None:
        return [largest, limit, promise]
    passed = [] if change.until is None else [("Passed after", name(change.until))]
    return [
        ("Changed from" if passed else "Changed since", name(change.since)),
        ("95% range", f"{name(change.earliest)} to {name(change.latest)}"),
        *passed,
        ("Alarm after", name(change.alarm)),
        ("Predictions were" if passed else "Predictions are", " and ".join(change.named)),
        ("Shift of log-odds", signed(change.shift)),
        *_limits(change.shift, change.shift_error, signed),
        ("Slope of log-odds", number(change.slope)),
        *_limits(change.slope, change.slope_error, number),
        largest,
        limit,
        promise,
    ]


def _limits(value: float, error: float | None, write: Callable[[float], str]) -> list[tuple[str, str]]:
    if error is None:
        return []
    return [("Its 95% limits", f"{write(value - WIDE * error)} to {write(value + WIDE * error)}")]


def written_evidence(log_e: float) -> str:
    """Write evidence, however large.

    Examples
    --------
    >>> written_evidence(math.log(20)), written_evidence(1000.0)
    ('20.0', '10⁴³⁴')
    """
    if log_e < math.log(1e5):
        return number(math.exp(log_e))
    return power_of_ten(round(log_e / math.log(10)))


def repair_rows(result: WatchResult) -> list[tuple[str, bool, list[str]]]:
    """Return for every repair its name, whether it was chosen, and its numbers."""
    repair = None if result.change is None else result.change.repair
    if repair is None:
        return []
    return [
        (
            capital(each.label.removeprefix("a ")),
            each.name == repair.name,
            [
                str(each.n_parameters),
                number(each.gain),
                number(each.score),
                ABSENT if each.later_gain is None else signed(each.later_gain),
            ],
        )
        for each in repair.candidates
    ]


def day_rows(result: WatchResult) -> list[tuple[str, list[str]]]:
    """Return every day with its numbers."""

    def pair(value: float | None, error: float | None) -> str:
        return ABSENT if value is None or error is None else f"{signed(value)} ± {number(WIDE * error)}"

    return [
        (
            name(day.name),
            [
                count(day.n_samples),
                ABSENT if day.predicted is None else number(day.predicted),
                ABSENT if day.observed is None else number(day.observed),
                pair(day.shift, day.shift_error),
                pair(day.slope, day.slope_error),
                written_evidence(day.log_e),
            ],
        )
        for day in result.days
    ]


def render_watch(result: WatchResult, *, title: str = "Calibration over time") -> str:
    """Render a watch as one HTML page that needs only a browser.

    The page makes no network request, has no script, and the same result always gives the same page.

    Parameters
    ----------
    result : WatchResult
    title : str, default="Calibration over time"

    Returns
    -------
    str
        Write it to a file in UTF-8.
    """
    from calibrant import __version__

    return rendered(
        "over_time.html",
        title,
        sheet="over_time.css",
        result=result,
        lead=lead(result),
        facts=facts(result),
        repairs=repair_rows(result),
        rows=day_rows(result),
        evidence_chart=evidence_chart(result),
        coefficient_chart=partial(coefficient_chart, result),
        expected_slope=result.reference.get("slope", 1.0),
        expected_shift=result.reference.get("shift", 0.0),
        version=__version__,
    )


WIDTH, LEFT, RIGHT, TOP = 860.0, 62.0, 14.0, 20.0
N_LABELS = 6
MANY_DAYS = 120
"""More days than this have smaller dots."""


def days_axis(days: Sequence[WatchedDay], y: float) -> tuple[Scale, Element]:
    """Return the horizontal scale, on which days are numbered from 0, and its axis with the names of some days."""
    x = Scale(-0.5, max(len(days), 2) - 0.5, LEFT, WIDTH - RIGHT)
    step = max(1, math.ceil(len(days) / N_LABELS))
    # A name near an end stays within the figure.
    inside = [min(max(x(i), LEFT + 30), WIDTH - RIGHT - 30) for i in range(len(days))]
    marks = [
        svg.text(inside[i], y + 17, name(days[i].name, limit=14), "tick") for i in range(step // 2, len(days), step)
    ]
    return x, element("g", svg.line(x.start, y, x.stop, y, "axis"), *marks)


def evidence_chart(result: WatchResult) -> Element:
    """Draw the evidence after every day on a logarithmic scale, with the limit and when calibration broke."""
    height, days = 230.0, result.days
    logs = [day.log_e / math.log(10) for day in days]
    limit = result.log_limit / math.log(10)
    y = Scale(min(-1.0, *logs), max(limit + 1, *logs) * 1.04, height, TOP)
    x, axis = days_axis(days, height)
    places = [x(i) for i in range(len(days))]
    parts = [*_powers(x, y), axis, *_when(result, x, height)]
    parts.append(svg.line(x.start, y(limit), x.stop, y(limit), "alarm-line"))
    at = f"alarm at {significant(math.exp(result.log_limit))}"
    parts.append(svg.text(x.start + 6, y(limit) - 5, at, "alarm-text", "start"))
    plugin = [day.log_e_plugin for day in days if day.log_e_plugin is not None]
    if len(plugin) == len(days):
        parts.append(svg.polyline(places, [y.cut(value / math.log(10)) for value in plugin], "plugin-line"))
    parts.append(svg.polyline(places, [y(value) for value in logs], "curve"))
    parts += [_tip(days[i], places[i], y(logs[i]), _radius(result)) for i in range(len(days))]
    return svg.image(parts, WIDTH, height + 26, "Evidence of a change, after each day", "chart series-0")


def _radius(result: WatchResult) -> float:
    return 3.0 if len(result.days) <= MANY_DAYS else 1.5


def _tip(day: WatchedDay, x: float, y: float, radius: float) -> Element:
    words = f"{name(day.name)}: evidence {number(math.exp(min(day.log_e, 700)))} after {counted(day.n_samples)}"
    return element("g", element("title", words), element("circle", cx=x, cy=y, r=radius, class_="marker off"))


def _powers(x: Scale, y: Scale) -> list[Element]:
    """Draw grid lines at powers of ten, with their labels on the left."""
    step = max(1, round((y.high - y.low) / 6))
    ticks = [value for value in range(math.ceil(y.low), math.floor(y.high) + 1) if value % step == 0]
    lines = [svg.line(x.start, y(value), x.stop, y(value), "grid") for value in ticks]
    return lines + [svg.text(LEFT - 7, y(value) + 4, power_of_ten(value), "tick", "end") for value in ticks]


def _when(result: WatchResult, x: Scale, height: float) -> list[Element]:
    """Mark the first day of the change and its range, the last day if the change has passed, and the alarm."""
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
        *_names(since, None if change.until is None else x(place[change.until] + 0.5), x, height),
        _beside(alarm, x, "alarm"),
    ]


def _names(since: float, until: float | None, x: Scale, height: float) -> list[Element]:
    """Label the line of the change; draw and label the line of its end, if any. Labels stay within the figure."""
    if until is None:
        return [svg.text(since, TOP - 6, "changed", "tick", "end" if since > WIDTH / 2 else "start")]
    return [
        svg.line(until, TOP, until, height, "since-line"),
        svg.text(min(since, x.stop - 44) - 2, TOP - 6, "changed", "tick", "end"),
        svg.text(min(until, x.stop - 44) + 2, TOP - 6, "passed", "tick", "start"),
    ]


def _beside(place: float, x: Scale, word: str) -> Element:
    """Write a word to the right of a line or, where there is no room, to the left."""
    side, anchor = (-4, "end") if place > x.stop - 50 else (4, "start")
    return svg.text(place + side, TOP + 10, word, "alarm-text", anchor)


def coefficient_chart(result: WatchResult, which: str, label: str, expected: float) -> Element:
    """Draw shift or slope of every day with its 95% limits, and the value that is expected."""
    height = 190.0
    found = [(i, getattr(day, which), getattr(day, f"{which}_error")) for i, day in enumerate(result.days)]
    known = [(i, value, WIDE * error) for i, value, error in found if value is not None and error < 10]
    # Days with few events have very wide limits: they do not decide the scale.
    spread = sorted(abs(value - expected) + error for _, value, error in known) or [0.0]
    reach = 1.15 * max(min(spread[-1], 2 * spread[math.floor(0.9 * (len(spread) - 1))]), 0.05)
    y = Scale(expected - reach, expected + reach, height, TOP)
    x, axis = days_axis(result.days, height)
    parts = [svg.line(x.start, y(value), x.stop, y(value), "grid") for value, _ in y.ticks(4)]
    parts += [svg.text(LEFT - 7, y(value) + 4, text, "tick", "end") for value, text in y.ticks(4)]
    parts += [axis, *_when(result, x, height), svg.line(x.start, y(expected), x.stop, y(expected), "diagonal")]
    radius = _radius(result)
    parts += [_whisker(f"{result.days[i].name}: {label}", x(i), y, (value, error), radius) for i, value, error in known]
    return svg.image(parts, WIDTH, height + 26, f"{label} of every day with 95% limits", "chart series-0")


def _whisker(what: str, x: float, y: Scale, found: tuple[float, float], radius: float) -> Element:
    """Draw a value with its limits, cut at the frame."""
    value, error = found
    words = f"{name(what)} {signed(value)}, {signed(value - error)} to {signed(value + error)}"
    line = svg.line(x, y.cut(value - error), x, y.cut(value + error), "whisker")
    dot = [element("circle", cx=x, cy=y(value), r=radius, class_="marker off")] if y.low <= value <= y.high else []
    return element("g", element("title", words), line, *dot)
