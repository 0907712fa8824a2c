"""Assessments on a terminal: the verdict, metrics, groups of rows and comparisons, all with their limits."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from textwrap import fill
from typing import Any, TypeVar

from rich.table import Table
from rich.text import Text

from calibrant import metrics
from calibrant._border.numerals import between, count, percent, pvalue_cell, significant, with_sign
from calibrant._border.text import printable
from calibrant.cli.options.reading import ALL
from calibrant.cli.printing.show import STYLES, console, print_lines
from calibrant.metrics import METRICS
from calibrant.results import (
    Assessment,
    Compared,
    Comparison,
    Difference,
    ForecastAssessment,
    Interval,
    Verdict,
    bandwidth_in_words,
    known_limits,
    limits_in_words,
    missing_differences,
    missing_limits,
    rule_in_words,
    state,
)
from calibrant.results.assessment import group_verdict, smallest_adjusted
from calibrant.results.words.metrics import (
    CALIBRATED,
    cautions,
    chance_in_words,
    fit_caveats,
    forecast_notes,
    infinity_caveats,
    shown_limits,
    why_without_value,
    wide_limits,
)

FULL_WIDTH = 80
"""Nothing is folded in a terminal with at least this many columns."""

NAME_ROOM = 20
"""Width of the name of a metric in a narrow terminal."""

MOST_GROUPS = 50
"""Most groups that are printed."""

SYMBOLS = {
    "calibrated": "✓",
    "consistent": "?",
    "over-confident": "▲",
    "under-confident": "▼",
    "biased": "◆",
    "miscalibrated": "✗",
}
ASCII = {"calibrated": "+", "consistent": "?"}

Judged = TypeVar("Judged", bound=Assessment | ForecastAssessment)


def without_draws(assessment: Judged) -> Judged:
    """Leave out the null draws and the data of figures, which readers of JSON do not need."""
    plain = replace(assessment, test=replace(assessment.test, null=None))
    if isinstance(plain, Assessment):
        plain = replace(plain, curves={}, cumulative=None, ranking=None, classwise=None)
    groups: Any = {name: without_draws(group) for name, group in plain.groups.items()}
    return replace(plain, groups=groups)


def print_verdict(assessment: Assessment | ForecastAssessment) -> None:
    """Print the verdict in words."""
    verdict = assessment.verdict
    shows_all = (console().encoding or "").lower().startswith("utf")
    symbol = SYMBOLS[verdict.code] if shows_all else ASCII.get(verdict.code, "!")
    print_lines([f"{symbol} {verdict.headline}"], STYLES[state(verdict)])
    print_lines([verdict.explanation])


def print_metrics(assessment: Assessment | ForecastAssessment, names: Sequence[str]) -> None:
    """Print a table with a row for each metric, in groups."""
    are_forecasts = isinstance(assessment, ForecastAssessment)
    known = metrics.FORECAST_METRICS if are_forecasts else METRICS
    limits = assessment.limits if isinstance(assessment, ForecastAssessment) else assessment.intervals
    table = Table(box=None, pad_edge=False, collapse_padding=True, header_style="bold")
    table.add_column("metric", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    for heading in ("95% interval", "if calibrated"):  # They fold in a narrow terminal.
        table.add_column(heading, justify="right", overflow="fold")
    shown = [name for name in names if name in assessment.metrics]
    out, longest = console(), 2 + max((min(len(name), NAME_ROOM) for name in shown), default=0)
    groups = {name: known[name].about().group for name in shown}
    for group in dict.fromkeys(groups.values()):
        members = [name for name in shown if groups[name] == group]
        if members:
            table.add_row(Text(group if out.width >= FULL_WIDTH else fill(group, longest), style="bold"))
        for name in members:
            own = limits.get(name)
            estimate = assessment.metrics[name]
            value = "" if why_without_value(estimate) else significant(estimate.value, 4)
            table.add_row(folded(f"  {name}", out.width), value, interval_text(own), chance_in_words(own, significant))
    out.print(table)
    if any(own is not None and own.null is not None for own in map(limits.get, shown)):
        print_lines([f"if calibrated: {CALIBRATED} of this size"], "dim")
    print_lines(_caveats(assessment, limits, shown), "dim")
    if len(shown) < len(known) and not are_forecasts:
        are = "is" if len(shown) == 1 else "are"
        print_lines([f"{len(shown)} of {len(known)} metrics {are} shown; --metrics {ALL} shows the others"], "dim")


def _caveats(
    assessment: Assessment | ForecastAssessment, limits: Mapping[str, Interval], names: Sequence[str]
) -> Iterator[str]:
    """Say what is infinite, by which rows; what has no value or hangs on certain predictions; what has no limits."""
    named = [(name, assessment.metrics[name]) for name in names]
    yield from infinity_caveats(named)
    yield from fit_caveats(named)
    valued = [name for name, estimate in named if not why_without_value(estimate)]
    for reason, without in missing_limits((name, limits.get(name)) for name in valued).items():
        yield f"no interval for {', '.join(without)}, as none has known coverage: {reason}"
    if isinstance(assessment, Assessment) and assessment.n_classes == 2:
        yield from cautions(named)
    if isinstance(assessment, ForecastAssessment):
        yield from forecast_notes(assessment, names, str)


def folded(name: str, width: int) -> str:
    """Return a name, broken at its hyphens if the terminal is narrow.

    Examples
    --------
    >>> folded("kde-ece-per-predicted-class", 60).split()
    ['kde-ece-per-', 'predicted-class']
    """
    margin = name[: len(name) - len(name.lstrip())]
    return name if width >= FULL_WIDTH else fill(name, len(margin) + NAME_ROOM, subsequent_indent=margin)


def interval_text(interval: Interval | Difference | None, write: Callable[[float], str] = significant) -> str:
    """Format limits, if any."""
    return between(shown_limits(interval), write)


MEASURED: Mapping[type, tuple[str, str, str, str]] = {
    Assessment: ("accuracy", "accuracy", "root mean square, debiased", "95% limits"),
    ForecastAssessment: ("interval-coverage", "90% cover", "MACE, of quantiles", "≥95% limits"),
}
"""For the table of groups: a metric and its heading, the name of the error, and the heading of its limits."""


def print_groups(assessment: Assessment | ForecastAssessment) -> None:
    """Print a line for each group, the largest error first."""
    if not assessment.groups:
        return
    measured, heading_of_it, error, heading_of_limits = MEASURED[type(assessment)]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("group", overflow="fold")
    for heading in ("rows", heading_of_it, "error", heading_of_limits, "by chance", "p"):
        table.add_column(heading, justify="right", overflow="fold")
    table.add_column("verdict", overflow="fold")
    groups: Mapping[str, Assessment | ForecastAssessment] = assessment.groups
    bound = smallest_adjusted(assessment)
    for name, group in sorted(groups.items(), key=lambda item: -item[1].verdict.error)[:MOST_GROUPS]:
        verdict = group.verdict
        share = significant(group.metrics[measured].value, 4) if measured in group.metrics else ""
        limits = between((verdict.low, verdict.high), partial(significant, digits=2))
        numbers = (
            share,
            significant(verdict.error),  # The limits have two digits, so that a line fits into 80 characters.
            limits,
            significant(verdict.detectable, 4),
            pvalue_cell(assessment.adjusted.get(name, verdict.pvalue), bound),
        )
        table.add_row(Text(printable(name)), count(group.n_samples), *numbers, _kind(group_verdict(assessment, name)))
    console().print(table)
    notes = [f"error: {error}; by chance: up to this in {CALIBRATED}; p is adjusted for the number of groups (Holm)"]
    if len(groups) > MOST_GROUPS:
        notes.insert(0, f"{MOST_GROUPS} of {count(len(groups))} groups are shown; --json has all")
    print_lines(notes, "dim")


def _kind(verdict: Verdict) -> str:
    """Return the kind of a verdict, with "slightly" if the error is within the tolerance."""
    small = "slightly " if verdict.code != "calibrated" and verdict.size == "within tolerance" else ""
    return f"{small}{verdict.code}"


def print_comparison(comparison: Comparison, drawn: str = "rows") -> None:
    """Print every metric and model with its interval and its difference from the baseline, by samples of `drawn`."""
    out, share = console(), percent(comparison.level)
    head = ("", "value", f"{share} interval", "difference", f"{share} interval", "p")
    cells = {
        (metric, model): _cells(comparison.entry(model, metric))
        for metric in comparison.metrics
        for model in comparison.models
    }
    widths = [max(map(len, column)) for column in zip(head[1:], *cells.values(), strict=True)]
    names = [f"  {printable(model)}" for model in comparison.models]
    room = max(0, min(max(map(len, names)), out.width - sum(widths) - 2 * len(widths)))
    out.print(Text(" " * room + _numbers(head[1:], widths), style="bold"), soft_wrap=True)
    for metric in comparison.metrics:
        out.print(Text(metric, style="bold"))
        for model, name in zip(comparison.models, names, strict=True):
            if len(name) > room:  # It has lines of its own.
                out.print(Text(name))
            shown = name if len(name) <= room else ""
            out.print(Text(f"{shown:<{room}}{_numbers(cells[metric, model], widths)}"), soft_wrap=True)
    print_lines(_notes(comparison, drawn), "dim")


def _notes(comparison: Comparison, drawn: str) -> Iterator[str]:
    yield (
        f"difference: minus {comparison.baseline}; * its interval excludes 0; {limits_in_words(comparison, drawn)}; "
        "p is adjusted for the number of differences (Holm)"
    )
    yield from filter(None, (rule_in_words(comparison), bandwidth_in_words(comparison)))
    yield from wide_limits(((entry.metric, entry.interval) for entry in comparison.entries), str)
    for reason, without in missing_differences(comparison).items():
        yield f"no interval for the difference in {', '.join(without)}: {reason}"


def _numbers(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Return numbers below their headings."""
    return "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip()


def _cells(entry: Compared) -> tuple[str, ...]:
    """Return a value with its limits, and the difference with its limits and p-value."""
    difference = entry.difference
    own = (_written(entry.value, significant), interval_text(entry.interval))
    if difference is None:
        return (*own, "", "", "")
    mark = "*" if difference.is_significant else " "
    p = "" if known_limits(difference) is None else pvalue_cell(difference.adjusted)
    limits = interval_text(difference, partial(with_sign, digits=2))
    return (*own, f"{_written(difference.value, with_sign)}{mark}", limits, p)


def _written(value: float, write: Callable[[float], str]) -> str:
    """Return a number, or nothing if there is none."""
    return "" if math.isnan(value) else write(value)
