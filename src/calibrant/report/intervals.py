"""Prediction intervals on rows that they were not fitted to: some of them drawn, and how many targets they hold."""

from math import isfinite
from typing import Any

from calibrant._border.numerals import number, percent
from calibrant.results import CoveredPart, IntervalCheck, as_record, known_limits
from calibrant.results.drawing import svg
from calibrant.results.drawing.svg import Element, Scale, element

WIDE, TALL, LEFT, TOP = 700.0, 260.0, 46.0, 8.0


def rows(check: IntervalCheck) -> list[tuple[CoveredPart, Element]]:
    """Return all rows together, then each group, with a figure on a scale that they share."""
    parts = (check.total, *check.parts)
    least = min(min(part.before, part.covered, check.level) for part in parts)
    x = Scale(max(0.0, least - 0.05), 1.0, 4, svg.ROW_WIDTH - 4)
    return [(part, _coverage(part, check.level, x)) for part in parts]


def _coverage(part: CoveredPart, level: float, x: Scale) -> Element:
    """Draw what is promised, its range by chance, and both shares: hollow before, filled after."""
    known = known_limits(part)
    limits = None if known is None else (x.cut(known[0]), x.cut(known[1]))
    marks = svg.row_mark(x(part.before), 3.5, "ring"), svg.row_mark(x(part.covered))
    return svg.row_figure(x(level), limits, *marks, class_="interval")


def drawing(check: IntervalCheck) -> Element:
    """Draw some rows: the forecasts' own intervals, the fitted ones, and the targets."""
    found = check.rows
    ends = [v for part in vars(found).values() for v in part.tolist() if isfinite(v)]
    margin = 0.04 * ((max(ends) - min(ends)) or 1.0)
    y = Scale(min(ends) - margin, max(ends) + margin, TOP + TALL, TOP)
    x = Scale(-1, len(found.target), LEFT, WIDE - 8)
    parts = [part for i in range(len(found.target)) for part in _drawn(check, i, x, y)]
    label = f"{len(found.target)} rows with their intervals before and after, and their targets"
    frame = element("rect", x=LEFT, y=TOP, width=WIDE - 8 - LEFT, height=TALL, class_="frame")
    title = "Rows, from the lowest to the highest forecast"
    axes = svg.axis_left(y, LEFT, "Value"), svg.text((LEFT + WIDE) / 2, TOP + TALL + 18, title, "label")
    return svg.image([frame, axes[0], *parts, axes[1]], WIDE, TOP + TALL + 26, label, "chart intervals")


def _drawn(check: IntervalCheck, i: int, x: Scale, y: Scale) -> list[Element]:
    target, before_low, before_high, low, high = (float(values[i]) for values in vars(check.rows).values())
    said = f"{number(target)}, {percent(check.level)} interval {number(low)} to {number(high)}"
    tip = element("title", f"{said}; before {number(before_low)} to {number(before_high)}")
    class_ = "hit" if low <= target <= high else "hit missed"
    return [
        svg.line(x(i), y.cut(low), x(i), y.cut(high), "span"),
        svg.line(x(i), y.cut(before_low), x(i), y.cut(before_high), "span own"),
        element("circle", tip, cx=x(i), cy=y(target), r=2.6, class_=class_),
    ]


def record(check: IntervalCheck) -> dict[str, object]:
    """Return the numbers of the section, with one row per drawn interval, for the data of a page."""
    whole: dict[str, Any] = as_record(check)
    columns = whole["rows"]
    return whole | {"rows": [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]}
