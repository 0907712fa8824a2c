"""Groups that a search has found, as a table with a small figure for each."""

from collections.abc import Sequence
from dataclasses import dataclass

from calibrant._border.numerals import aligned, count, percent, pvalue, signed
from calibrant.results import FoundGroup, GroupFindings
from calibrant.results.drawing import svg
from calibrant.results.drawing.svg import Element, Scale
from calibrant.results.words.names import name

MOST = 50
"""Groups that overlap with others are listed up to this number."""


@dataclass(frozen=True)
class Row:
    """A group as the table shows it."""

    label: str
    direction: str
    rows: str
    predicted: str
    observed: str
    size: str
    limits: str
    pvalue: str
    worth: str
    figure: Element


def main_rows(found: GroupFindings) -> list[Row]:
    """Return the groups that stand alone."""
    return _rows([group for group in found.found if group.stands_alone], found)


def other_rows(found: GroupFindings) -> list[Row]:
    """Return the strongest of those that overlap with others."""
    return _rows([group for group in found.found if not group.stands_alone][:MOST], found)


def _rows(groups: Sequence[FoundGroup], found: GroupFindings) -> list[Row]:
    reach = max((abs(end) for group in found.found for end in _limits(group)), default=1.0) or 1.0
    sizes = aligned([group.size for group in groups], sign=True)
    worths = aligned([group.worth for group in groups], sign=True)
    return [
        Row(
            label=name(f"{group.label} ({group.event})" if group.event else group.label, limit=200),
            direction=f"{'predictions' if group.coverage is None else 'forecasts'} {group.direction}{_half(group)}",
            rows=count(group.n_rows),
            predicted=_first(group),
            observed=percent(group.observed if group.coverage is None else group.coverage, 1),
            size=size,
            limits=" to ".join(map(signed, _limits(group))),
            pvalue=pvalue(group.adjusted),
            worth=worth,
            figure=_drawn(group, reach),
        )
        for group, size, worth in zip(groups, sizes, worths, strict=True)
    ]


def _half(group: FoundGroup) -> str:
    return "; leaf, on half the rows" if group.is_on_half else ""


def _first(group: FoundGroup) -> str:
    """Return the mean prediction or, for forecasts with a biased centre, the mean place of the targets."""
    if group.what == "spread":
        return ""
    return f"{percent(group.predicted if group.what == 'probability' else group.observed, 1)}"


def _limits(group: FoundGroup) -> tuple[float, float]:
    return (group.size if group.low is None else group.low), (group.size if group.high is None else group.high)


def _drawn(group: FoundGroup, reach: float) -> Element:
    """Draw observed minus predicted with its limits; 0 is in the middle, and all groups share the scale."""
    x = Scale(-1.05 * reach, 1.05 * reach, 0, svg.ROW_WIDTH)
    low, high = _limits(group)
    return svg.row_figure(x(0), (x(low), x(high)), svg.row_mark(x(group.size)), class_="interval worse")


def left_out(found: GroupFindings) -> str:
    """Name the columns that were not searched, with the reasons."""
    return "; ".join(f"{name(column)}: {reason}" for column, reason in found.left_out.items())
