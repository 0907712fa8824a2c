"""A comparison on a terminal: every metric and model, with its interval and its difference to the baseline."""

from rich.table import Table
from rich.text import Text

from calibrant.cli.outputs import console
from calibrant.cli.show import folded, number
from calibrant.io import printable
from calibrant.results import (
    Compared,
    Comparison,
    Interval,
    known_limits,
    missing_differences,
    rule_in_words,
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
    rule = rule_in_words(comparison)
    note += f"\n{rule}" if rule else ""
    for reason, without in missing_differences(comparison).items():
        note += f"\nno interval of the difference of {printable(', '.join(without))}: {reason}"
    out.print(Text(note, style="dim"))


def _limits(interval: Interval | None) -> str:
    """Format limits, if any."""
    own = known_limits(interval)
    return "" if own is None else f"{number(own[0])} to {number(own[1])}"


def _change(entry: Compared) -> tuple[str, str, str]:
    difference = entry.difference
    if difference is None:
        return "", "", ""
    mark = "*" if difference.is_significant else " "
    limits = known_limits(difference)
    if limits is None:
        return f"{difference.value:+.4g} ", "", ""
    return f"{difference.value:+.4g}{mark}", f"{limits[0]:+.4g} to {limits[1]:+.4g}", f"{difference.adjusted:.2g}"
