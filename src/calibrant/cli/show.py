"""Results on a terminal, words before tables; plain text in a pipe."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from textwrap import fill
from threading import Timer
from typing import TypeVar

from rich.console import Console
from rich.table import Table
from rich.text import Text

from calibrant._border.numerals import between, count, counted, pvalue_cell, significant
from calibrant._core.progress import listening
from calibrant.cli import streams
from calibrant.cli.outputs import console
from calibrant.io import printable
from calibrant.results import Assessment, Estimate, ForecastAssessment, Verdict, as_record, state
from calibrant.results.assessment import group_verdict, smallest_adjusted
from calibrant.results.words.metrics import CALIBRATED

rows = counted
"""Write a number of rows."""

Judged = TypeVar("Judged", Assessment, ForecastAssessment)

NAME_ROOM = 20
"""Width of the name of a metric in a narrow terminal."""

FULL_WIDTH = 80
"""Names are not broken in a terminal with at least this many columns."""

MOMENT = 0.5
"""Seconds before the bar appears, so that short work does not make it flicker."""

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
STYLES = {"good": "bold green", "unclear": "bold yellow", "bad": "bold red"}


@contextmanager
def progress_bar(what: str, *, quiet: bool, then: str = "") -> Iterator[Callable[[int, int], None]]:
    """Show a bar on standard error if the body runs longer than a moment; yield the callback that moves it.

    After the last step, the bar shows `then`.
    """
    where = console(stderr=True)
    if quiet or not where.is_terminal or where.is_dumb_terminal:
        yield lambda _done, _total: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=where, transient=True)
    task = bar.add_task(what, total=None)

    def move(done: int, total: int) -> None:
        if not total:
            bar.update(task, description=f"{what}, step {done}")
            return
        bar.update(task, completed=done, total=total, visible=not then or done < total)
        if then and done >= total and len(bar.tasks) == 1:
            bar.add_task(then, total=None)

    delay = Timer(MOMENT, bar.start)
    delay.start()
    try:
        yield move
    finally:
        delay.cancel()
        delay.join()
        bar.stop()


@contextmanager
def listening_bar(what: str, *, quiet: bool) -> Iterator[None]:
    """Show a progress bar for a body that reports its steps; they are counted if their number is unknown."""
    with progress_bar(what, quiet=quiet) as progress, listening(progress):
        yield


def print_json(value: object) -> None:
    """Write a result as JSON."""
    record = as_record(value)
    text = json.dumps(record, indent=2, allow_nan=False, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:  # The terminal cannot show all of Unicode, or a name is not valid Unicode.
        text = json.dumps(record, indent=2, allow_nan=False)
    streams.write(sys.stdout, f"{text}\n")


def without_draws(assessment: Judged) -> Judged:
    """Leave out the null draws and the data of figures, which readers of JSON do not need."""
    plain = replace(assessment, test=replace(assessment.test, null=None))
    if isinstance(plain, Assessment):
        plain = replace(plain, curves={}, cumulative=None, ranking=None, classwise=None)
    return replace(plain, groups={name: without_draws(group) for name, group in plain.groups.items()})


def print_verdict(assessment: Assessment | ForecastAssessment) -> None:
    """Print the verdict in words."""
    out = console()
    verdict = assessment.verdict
    style = STYLES[state(verdict)]
    out.print(Text(printable(f"{_symbol(out, verdict.code)} {verdict.headline}"), style=style))
    out.print(Text(printable(verdict.explanation)))


def print_estimates(columns: Mapping[str, Mapping[str, Estimate]]) -> None:
    """Print a table with a row for each metric and a column for each set of predictions."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("metric", no_wrap=True)
    for name in columns:
        table.add_column(Text(printable(name)), justify="right", overflow="fold")
    for metric in next(iter(columns.values())):
        table.add_row(metric, *(significant(column[metric].value, 4) for column in columns.values()))
    console().print(table)


def report_failures(failures: Sequence[str]) -> int:
    """Print the gates that failed on standard error, and return the exit code."""
    for failure in failures:
        streams.write(sys.stderr, f"calibrant: failed: {printable(failure)}\n")
    return int(bool(failures))


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
    out = console()
    out.print(table)
    note = f"error: {error}; by chance: up to this in {CALIBRATED}; p is adjusted for the number of groups (Holm)"
    if len(groups) > MOST_GROUPS:
        note = f"{MOST_GROUPS} of {count(len(groups))} groups are shown; --json has all\n{note}"
    out.print(Text(note, style="dim"))


def _kind(verdict: Verdict) -> str:
    """Return the kind of a verdict, with "slightly" if the error is within the tolerance."""
    small = "slightly " if verdict.code != "calibrated" and verdict.size == "within tolerance" else ""
    return f"{small}{verdict.code}"


def print_heading(text: str) -> None:
    """Print a heading after an empty line."""
    console().print(Text(f"\n{printable(text)}", style="bold underline"))


def print_lines(lines: Iterable[str]) -> None:
    """Print lines of text."""
    out = console()
    for line in lines:
        out.print(Text(printable(line)))


def print_path(what: str, path: Path) -> None:
    """Say where something was written."""
    print_command(f"\nThe {what} is at", printable(path))


def print_command(words: str, command: str) -> None:
    """Print words and a command to copy, which is never broken into two lines."""
    console().print(Text(f"{words} {command}"), soft_wrap=True)


def folded(name: str, width: int) -> str:
    """Return a name, broken at its hyphens if the terminal is narrow.

    Examples
    --------
    >>> folded("kde-ece-per-predicted-class", 60).split()
    ['kde-ece-per-', 'predicted-class']
    """
    margin = name[: len(name) - len(name.lstrip())]
    return name if width >= FULL_WIDTH else fill(name, len(margin) + NAME_ROOM, subsequent_indent=margin)


def _symbol(out: Console, code: str) -> str:
    """Return the symbol of a verdict, in ASCII if the terminal cannot show it."""
    return SYMBOLS[code] if (out.encoding or "").lower().startswith("utf") else ASCII.get(code, "!")
