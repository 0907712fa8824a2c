"""Experiments on a terminal: the step that runs, the results, and which steps are missing."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from textwrap import fill
from typing import TYPE_CHECKING

from calibrant._border.numerals import count, four_decimals, percent
from calibrant.cli.printing import show

if TYPE_CHECKING:
    from calibrant.results import Comparison, ExperimentResult, ExperimentStatus

HEADING = 14
"""Width of the heading of a metric, in characters; a longer name is broken at its hyphens."""

COLUMNS = 4
"""Number of metrics that fit side by side into a terminal of 80 columns."""


@contextmanager
def step_bar(*, quiet: bool) -> Iterator[tuple[Callable[[int, int], None], Callable[[str], None]]]:
    """Show a bar with the name of the step on standard error; without a terminal, print a line per step."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    where = show.console(stderr=True)
    if quiet:
        yield lambda _done, _total: None, lambda _name: None
    elif not where.is_terminal or where.is_dumb_terminal:
        yield lambda _done, _total: None, lambda name: print(name, file=sys.stderr, flush=True)  # noqa: T201 (a log)
    else:
        columns = (BarColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
        with Progress(*columns, console=where, transient=True) as bar:
            task = bar.add_task("", total=None)
            yield (
                lambda done, total: bar.update(task, completed=done, total=total),
                lambda name: bar.update(task, description=name),
            )


def print_result(result: "ExperimentResult") -> None:
    """Print the values of every pipeline, seed after seed, with stars for differences from the baseline."""
    from calibrant.results.words.comparisons import judged_in_words, limits_in_words

    for seed, comparison in zip(result.seeds, result.comparisons, strict=True):
        words = f"{count(comparison.n_samples)} test rows"
        show.print_heading(f"{result.title}: {words}" if len(result.seeds) == 1 else f"Seed {seed}: {words}")
        for start in range(0, len(comparison.metrics), COLUMNS):
            _print_values(comparison, comparison.metrics[start : start + COLUMNS])
    first = result.comparisons[0]
    note = (
        f"* the {percent(first.level)} interval of the difference from {first.baseline} excludes 0, ** also after "
        f"Holm's adjustment for the pipelines; {limits_in_words(first, 'test rows')}. {judged_in_words(first)}"
    )
    show.print_lines(["", note.rstrip()])


def _print_values(comparison: "Comparison", metrics: tuple[str, ...]) -> None:
    from calibrant.results.words.comparisons import stars

    lines = []
    for model in comparison.models:
        entries = [comparison.entry(model, metric) for metric in metrics]
        lines.append((model, *(f"{four_decimals(e.value)}{stars(e.difference, comparison.level):<2}" for e in entries)))
    show.print_lines([""])
    show.print_table(("pipeline", *(fill(metric, HEADING) for metric in metrics)), lines)


def print_status(found: "ExperimentStatus") -> None:
    """Print how much of an experiment is done, and the steps that are not."""
    done = [step for step in found.steps if step.state == "done"]
    seconds = sum(step.seconds or 0.0 for step in done)
    at_work = "; a process is running" if found.is_running else ""
    state = "finished" if found.is_complete else "not finished"
    words = f"{state}: {len(done)} of {len(found.steps)} steps, {count(seconds)} s of work{at_work}"
    missing = [f"  {step.state:<8} {step.name}" for step in found.steps if step.state != "done"]
    show.print_lines([found.title, words, *missing])
