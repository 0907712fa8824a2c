"""A comparison on a terminal: every metric and model, with its interval and its difference from the baseline."""

from collections.abc import Iterable, Sequence
from itertools import product

from rich.text import Text

from calibrant.cli.outputs import console
from calibrant.io import printable
from calibrant.results import (
    Compared,
    Comparison,
    Difference,
    Interval,
    bandwidth_in_words,
    known_limits,
    limits_in_words,
    missing_differences,
    rule_in_words,
)
from calibrant.results.writing import significant


def print_comparison(comparison: Comparison, drawn: str = "rows") -> None:
    """Print every metric and model with its interval and its difference from the baseline, by samples of `drawn`."""
    out, share = console(), f"{comparison.level:.0%}"
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
    own = (significant(entry.value, 3), _limits(entry.interval, ".3g"))
    if difference is None:
        return (*own, "", "", "")
    mark = "*" if difference.is_significant else " "
    p = "" if known_limits(difference) is None else f"{difference.adjusted:.2g}"
    pvalue = "<.001" if p and difference.adjusted < 0.001 else p
    return (*own, f"{difference.value:+.3g}{mark}", _limits(difference, "+.2g"), pvalue)


def _limits(interval: Interval | Difference | None, form: str) -> str:
    """Format limits, if any."""
    limits = known_limits(interval)
    return "" if limits is None else f"{limits[0]:{form}} to {limits[1]:{form}}"
