"""Groups whose predictions are off, on a terminal."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from rich.text import Text

from calibrant._border.numerals import between, count, decimals, percent, pvalue_cell
from calibrant.cli.printing import show
from calibrant.io import printable

if TYPE_CHECKING:
    from calibrant.results import FoundGroup, GroupFindings

MOST_SHOWN = 10
"""Number of groups, and of omitted columns, that are printed."""

NOTES = (
    "off by: observed minus predicted, with limits. p: adjusted for all groups examined. worth: how much the log loss "
    "of all rows falls if the log-odds of this group are shifted; the shift is learnt and measured on different rows."
)

FORECAST_NOTES = (
    "mean place: mean of u, the place of a target in its forecast; 50% if calibrated. off by, with limits: that minus "
    "50%; for forecasts that are too narrow or too wide, the mean of (2 u - 1)^2 minus 1/3. p: adjusted for all groups "
    "examined. worth: how much the CRPS of all rows falls if this group is shifted and scaled; both are learnt and "
    "measured on different rows."
)


def print_findings(found: "GroupFindings") -> None:
    """Print the findings in words, then the groups that stand alone, and the columns that were left out."""
    show.print_lines([found.headline], "bold yellow" if found.found else "bold green")
    show.print_lines([found.explanation])
    if found.found:
        _print_table([group for group in found.found if group.stands_alone], of_forecasts=found.of_forecasts)
    show.print_lines(left_out_lines(found.left_out))


def left_out_lines(columns: Mapping[str, str]) -> list[str]:
    """Return lines about columns from which no groups are made, and why."""
    if not columns:
        return []
    named = [f"  {name}: {reason}" for name, reason in list(columns.items())[:MOST_SHOWN]]
    more = len(columns) - len(named)
    return ["", "Columns left out:", *named, *([f"  and {more} more"] if more else [])]


def _print_table(groups: "Sequence[FoundGroup]", *, of_forecasts: bool) -> None:
    means = ("mean place", "90% cover") if of_forecasts else ("predicted", "observed")
    lines = [(_label(group), count(group.n_rows), *_means(group), *_numbers(group)) for group in groups[:MOST_SHOWN]]
    show.print_lines([""])
    show.print_table(("group", "rows", *means, "off by", "p"), lines)
    show.print_lines([FORECAST_NOTES if of_forecasts else NOTES], "dim")


def _label(group: "FoundGroup") -> Text:
    event = f" ({group.event})" if group.event else ""
    half = "\n  leaf, on half the rows" if group.is_on_half else ""
    return Text(f"{printable(group.label + event)}\n  {group.direction}, worth {decimals(group.worth, 4)}{half}")


def _means(group: "FoundGroup") -> tuple[str, str]:
    if group.coverage is None:
        return percent(group.predicted, 1), percent(group.observed, 1)
    return percent(group.observed, 1) if group.what == "bias" else "", percent(group.coverage, 1)


def _numbers(group: "FoundGroup") -> tuple[str, str]:
    limits = between((group.low, group.high), partial(decimals, sign=True))
    return f"{decimals(group.size, sign=True)}\n{limits}".rstrip(), pvalue_cell(group.adjusted)
