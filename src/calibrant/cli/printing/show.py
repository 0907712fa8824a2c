"""Words, tables, JSON and progress on a terminal; plain text in a pipe."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

from rich.console import Console
from rich.table import Table
from rich.text import Text

from calibrant._border.numerals import counted
from calibrant._border.text import printable
from calibrant.cli import streams

rows = counted
"""Write a number of rows."""

MOMENT = 0.5
"""Seconds before the bar appears, so that short work does not make it flicker."""

STYLES = {"good": "bold green", "unclear": "bold yellow", "bad": "bold red"}


class _Console(Console):
    """A console that continues when the reader closes the pipe, so that gates still determine the exit code."""

    def on_broken_pipe(self) -> None:
        """Discard all further output."""
        streams.discard(self.file)


def console(*, stderr: bool = False) -> Console:
    """Return the console for results, or the one for progress."""
    return _Console(stderr=stderr, emoji=False)  # A name such as :warning: is no emoji.


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
    from calibrant._core.progress import listening

    with progress_bar(what, quiet=quiet) as progress, listening(progress):
        yield


def print_json(value: object) -> None:
    """Write a result as JSON."""
    from calibrant.results import as_record

    record = as_record(value)
    text = json.dumps(record, indent=2, allow_nan=False, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:  # The terminal cannot show all of Unicode, or a name is not valid Unicode.
        text = json.dumps(record, indent=2, allow_nan=False)
    streams.write(sys.stdout, f"{text}\n")


def print_table(headings: Sequence[str], lines: Iterable[Sequence[str | Text]]) -> None:
    """Print a column of names and columns of numbers; in a narrow terminal they are folded, so that none is cut off."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    name, *numbers = headings
    table.add_column(name, overflow="fold")
    for heading in numbers:
        table.add_column(Text(heading), justify="right", overflow="fold")
    for first, *others in lines:
        table.add_row(first if isinstance(first, Text) else Text(printable(first)), *others)
    console().print(table)


def report_failures(failures: Sequence[str]) -> int:
    """Print the gates that failed on standard error, and return the exit code."""
    for failure in failures:
        streams.write(sys.stderr, f"calibrant: failed: {printable(failure)}\n")
    return int(bool(failures))


def print_heading(text: str) -> None:
    """Print a heading after an empty line."""
    console().print(Text(f"\n{printable(text)}", style="bold underline"))


def print_lines(lines: Iterable[str], style: str = "") -> None:
    """Print lines of text."""
    out = console()
    for line in lines:
        out.print(Text(printable(line), style=style))


def print_path(what: str, path: Path) -> None:
    """Say where something was written."""
    print_command(f"\nThe {what} is at", printable(path))


def print_command(words: str, command: str) -> None:
    """Print words and a command to copy, which is never broken into two lines."""
    console().print(Text(f"{words} {command}"), soft_wrap=True)
