"""A comparison on a terminal: every metric and model, with its interval and its difference to the baseline."""

import math

from rich.table import Table
from rich.text import Text

from calibrant.cli.console import console
from calibrant.cli.show import folded, number
from calibrant.io import printable
from calibrant.results import (
    Compared,
    Comparison,
    Interval,
    has_range_only,
    missing_differences,
    own_limits,
    shown_limits,
)


def print_comparison(comparison: Comparison, drawn: str = "rows") -> None:
    """Print every metric and model with its interval and its difference to the baseline, by samples of `drawn`."""
    out, table = console(), Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("metric", no_wrap=True)
    table.add_column("model", overflow="fold")
    share = f"{comparison.level:.0%}"
    for heading in ("value", f"{share} interval", f"minus {printable(comparison.baseline)}", f"{share} interval", "p"):
        table.add_column(heading, justify="right", no_wrap=heading in ("value", "p"), overflow="fold")
    for metric in comparison.metrics:
        for model in comparison.models:
            entry = comparison.entry(model, metric)
            name = folded(metric, out.width, 100) if model == comparison.models[0] else ""
            table.add_row(name, Text(printable(model)), number(entry.value), _limits(entry.interval), *_change(entry))
    out.print(table)
    note = (
        f"* the interval of the difference excludes 0; {comparison.n_resamples:,} bootstrap samples of {drawn}; p is "
        "adjusted for the number of differences (Holm)"
    )
    differences = [entry.difference for entry in comparison.entries if entry.difference is not None]
    for reason, without in missing_differences(comparison).items():
        what = printable(", ".join(without))
        note += f"\n( ) and p = 1 for {what}, as no interval is known to cover: {reason}"
    if any(difference.quantity for difference in differences):
        note += (
            "\n( ) range over the samples, which chance shifts; * and p are then about the difference of debiased mean "
            "squared errors"
        )
    out.print(Text(note, style="dim"))


def _limits(interval: Interval | None) -> str:
    """Write limits, unless they are about another quantity than the value beside them."""
    own = own_limits(interval)
    return "" if own is None else f"{number(own[0])} to {number(own[1])}"


def _change(entry: Compared) -> tuple[str, str, str]:
    difference = entry.difference
    if difference is None:
        return "", "", ""
    mark = "*" if difference.is_significant else " "
    low, high = shown_limits(difference) or (math.nan, math.nan)
    limits = f"{low:+.4g} to {high:+.4g}"
    shown = f"({limits})" if has_range_only(difference) else limits
    return f"{difference.value:+.4g}{mark}", shown, f"{difference.adjusted:.2g}"
