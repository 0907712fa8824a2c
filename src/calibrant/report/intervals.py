"""Prediction intervals on rows that they were not fitted to: some of them drawn, and how many targets they hold."""

from dataclasses import dataclass
from math import isfinite
from typing import Any

from calibrant._border.numerals import count, number, percent, pvalue
from calibrant.results import CoveredPart, IntervalCheck, as_record
from calibrant.results.drawing import svg
from calibrant.results.drawing.svg import Element, Scale, coordinate, element
from calibrant.results.words.names import name

WIDE, TALL, LEFT, TOP = 700.0, 260.0, 46.0, 8.0


@dataclass(frozen=True)
class Row:
    """A group, or all rows, as the table shows it."""

    label: str
    fitted: str
    rows: str
    before: str
    covered: str
    chance: str
    pvalue: str
    width_before: str
    width: str
    figure: Element


def rows(check: IntervalCheck) -> list[Row]:
    """Return the row of all data together, then one row per group."""
    least = min(min(part.before, part.covered, check.level) for part in (check.total, *check.parts))
    x = Scale(max(0.0, least - 0.05), 1.0, 4, svg.ROW_WIDTH - 4)
    return [_row(part, check.level, x) for part in (check.total, *check.parts)]


def _row(part: CoveredPart, level: float, x: Scale) -> Row:
    return Row(
        label=name(part.name) if part.name else "all rows",
        fitted=count(part.n_fitted),
        rows=count(part.n_samples),
        before=percent(part.before, 1),
        covered=percent(part.covered, 1),
        chance="" if part.low is None or part.high is None else f"{percent(part.low, 1)} to {percent(part.high, 1)}",
        pvalue="" if part.pvalue is None else pvalue(part.pvalue),
        width_before=number(part.width_before),
        width=number(part.width),
        figure=_coverage(part, level, x),
    )


def _coverage(part: CoveredPart, level: float, x: Scale) -> Element:
    """Draw what is promised, its range by chance, and both shares: hollow before, filled after."""
    limits = None if part.low is None or part.high is None else (x(max(part.low, x.low)), x(part.high))
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
    return element(
        "svg",
        element("rect", x=LEFT, y=TOP, width=WIDE - 8 - LEFT, height=TALL, class_="frame"),
        svg.axis_left(y, LEFT, "Value"),
        *parts,
        svg.text((LEFT + WIDE) / 2, TOP + TALL + 18, "Rows, from the lowest to the highest forecast", "label"),
        viewBox=f"0 0 {coordinate(WIDE)} {coordinate(TOP + TALL + 26)}",
        class_="chart intervals",
        role="img",
        aria_label=label,
    )


def _drawn(check: IntervalCheck, i: int, x: Scale, y: Scale) -> list[Element]:
    found = check.rows
    place, target, low, high = x(i), float(found.target[i]), float(found.low[i]), float(found.high[i])
    inside = [min(max(v, y.low), y.high) for v in (low, high)]
    own = float(found.low_before[i]), float(found.high_before[i])
    own_inside = [min(max(v, y.low), y.high) for v in own]
    missed = not low <= target <= high
    said = f"{number(target)}, {percent(check.level)} interval {number(low)} to {number(high)}"
    tip = element("title", f"{said}; before {number(own[0])} to {number(own[1])}")
    mark = element("circle", tip, cx=place, cy=y(target), r=2.6, class_="hit missed" if missed else "hit")
    return [
        svg.line(place, y(inside[0]), place, y(inside[1]), "span"),
        svg.line(place, y(own_inside[0]), place, y(own_inside[1]), "span own"),
        mark,
    ]


def record(check: IntervalCheck) -> dict[str, object]:
    """Return the numbers of the section, with one row per drawn interval, for the data of a page."""
    whole: dict[str, Any] = as_record(check)
    columns = whole["rows"]
    return whole | {"rows": [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]}
