"""Tables on a terminal: metrics in groups, and comparisons, all with their intervals."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from textwrap import fill

from rich.table import Table
from rich.text import Text

from calibrant import metrics
from calibrant._border.numerals import between, percent, pvalue_cell, significant, with_sign
from calibrant._border.text import suggestion
from calibrant.cli.outputs import console
from calibrant.cli.show import NAME_ROOM, folded
from calibrant.exceptions import InputError
from calibrant.io import printable
from calibrant.metrics import METRICS, Metric
from calibrant.metrics.names import metric_name
from calibrant.results import (
    Assessment,
    Compared,
    Comparison,
    Difference,
    ForecastAssessment,
    Interval,
    bandwidth_in_words,
    known_limits,
    limits_in_words,
    missing_differences,
    missing_limits,
    rule_in_words,
)
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

ALL = "all"

ROOM = 80
"""Width of a terminal in which headings need not be folded."""


def chosen(names: Sequence[str], known: Mapping[str, Metric], default: Sequence[str]) -> list[str]:
    """Return the names of the metrics to show, in the order of the table."""
    names = [metric_name(name, known) for name in names]
    unknown = [name for name in names if name not in known and name != ALL]
    if unknown:
        meant = suggestion(unknown[0].lower(), known) or f" {_listed(known)}"
        raise InputError(f'--metrics must be "{ALL}" or names of metrics, but {unknown[0]!r} is not.{meant}')
    asked = known if ALL in names else names or default
    return [name for name in known if name in asked]


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
            table.add_row(Text(group if out.width >= ROOM else fill(group, longest), style="bold"))
        for name in members:
            own = limits.get(name)
            estimate = assessment.metrics[name]
            value = "" if why_without_value(estimate) else significant(estimate.value, 4)
            table.add_row(folded(f"  {name}", out.width), value, interval_text(own), chance_in_words(own, significant))
    out.print(table)
    if any(known is not None and known.null is not None for known in map(limits.get, shown)):
        out.print(Text(f"if calibrated: {CALIBRATED} of this size", style="dim"))
    for note in _caveats(assessment, limits, shown):
        out.print(Text(note, style="dim"))
    if len(shown) < len(known) and not are_forecasts:
        are = "is" if len(shown) == 1 else "are"
        text = f"{len(shown)} of {len(known)} metrics {are} shown; --metrics {ALL} shows the others"
        out.print(Text(text, style="dim"))


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


def interval_text(interval: Interval | Difference | None, write: Callable[[float], str] = significant) -> str:
    """Format limits, if any."""
    return between(shown_limits(interval), write)


def _listed(known: Mapping[str, Metric]) -> str:
    return f"They are: {', '.join(known)}."


def print_comparison(comparison: Comparison, drawn: str = "rows") -> None:
    """Print every metric and model with its interval and its difference from the baseline, by samples of `drawn`."""
    out, share = console(), percent(comparison.level)
    head = ("", "value", f"{share} interval", "difference", f"{share} interval", "p")
    cells = {(metric, model): _cells(comparison.entry(model, metric)) for metric, model in _places(comparison)}
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
    note = (
        f"difference: minus {printable(comparison.baseline)}; * its interval excludes 0; "
        f"{limits_in_words(comparison, drawn)}; p is adjusted for the number of differences (Holm)"
    )
    for words in (rule_in_words(comparison), printable(bandwidth_in_words(comparison))):
        note += f"\n{words}" if words else ""
    for words in wide_limits(((entry.metric, entry.interval) for entry in comparison.entries), printable):
        note += f"\n{words}"
    for reason, without in missing_differences(comparison).items():
        note += f"\nno interval for the difference in {printable(', '.join(without))}: {reason}"
    out.print(Text(note, style="dim"))


def _places(comparison: Comparison) -> Iterable[tuple[str, str]]:
    return product(comparison.metrics, comparison.models)


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
