"""Groups that a search has found, as a table with a small figure for each."""

from calibrant._border.numerals import aligned, percent, signed
from calibrant._border.text import name
from calibrant.results import FoundGroup, GroupFindings
from calibrant.results.drawing import svg
from calibrant.results.drawing.svg import Element, Scale

MOST = 50
"""Groups that overlap with others are listed up to this number."""


def rows(found: GroupFindings, *, alone: bool) -> list[tuple[FoundGroup, str, str, Element]]:
    """Return the groups that stand alone, or the strongest others, each with its size and its worth, and with a figure.

    All figures share one scale, with 0 in the middle.
    """
    groups = [group for group in found.found if group.stands_alone == alone][: None if alone else MOST]
    reach = max((abs(end) for group in found.found for end in _limits(group)), default=1.0) or 1.0
    x = Scale(-1.05 * reach, 1.05 * reach, 0, svg.ROW_WIDTH)
    sizes, worths = aligned([g.size for g in groups], sign=True), aligned([g.worth for g in groups], sign=True)
    return [(g, size, worth, _drawn(g, x)) for g, size, worth in zip(groups, sizes, worths, strict=True)]


def label(group: FoundGroup) -> str:
    """Name a group, and the class that was searched if there were several."""
    return name(f"{group.label} ({group.event})" if group.event else group.label, limit=200)


def direction(group: FoundGroup) -> str:
    """Say in which direction a group is off, and whether half of the rows say so."""
    half = "; leaf, on half the rows" if group.is_on_half else ""
    return f"{'predictions' if group.coverage is None else 'forecasts'} {group.direction}{half}"


def predicted(group: FoundGroup) -> str:
    """Return the mean prediction or, for forecasts with a biased centre, the mean place of the targets."""
    if group.what == "spread":
        return ""
    return percent(group.predicted if group.what == "probability" else group.observed, 1)


def observed(group: FoundGroup) -> str:
    """Return the frequency of the event or, for forecasts, the coverage."""
    return percent(group.observed if group.coverage is None else group.coverage, 1)


def limits(group: FoundGroup) -> str:
    """Return the limits of the size."""
    return " to ".join(map(signed, _limits(group)))


def _limits(group: FoundGroup) -> tuple[float, float]:
    return (group.size if group.low is None else group.low), (group.size if group.high is None else group.high)


def _drawn(group: FoundGroup, x: Scale) -> Element:
    """Draw observed minus predicted with its limits."""
    low, high = _limits(group)
    return svg.row_figure(x(0), (x(low), x(high)), svg.row_mark(x(group.size)), class_="interval worse")


def left_out(found: GroupFindings) -> str:
    """Name the columns that were not searched, with the reasons."""
    return "; ".join(f"{name(column)}: {reason}" for column, reason in found.left_out.items())
