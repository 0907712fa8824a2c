"""`calibrant experiment`: run a whole experiment, show its progress, and show its results."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from calibrant._border.numerals import count, four_decimals, percent
from calibrant.cli.options.reading import INPUT, File, Json, Out, Quiet
from calibrant.cli.printing import show
from calibrant.exceptions import InputError
from calibrant.io import printable

if TYPE_CHECKING:
    from calibrant.results import Comparison, ExperimentResult, ExperimentStatus

HEADING = 14
"""Width of the heading of a metric, in characters; a longer name is broken at its hyphens."""

COLUMNS = 4
"""Number of metrics that fit side by side into a terminal of 80 columns."""

command = App(
    name="experiment",
    help=(
        "Train networks, calibrate them in many ways, and compare the results on test rows.\n\n"
        "For example:\n  calibrant experiment run digits --out digits\n  calibrant experiment status digits"
    ),
)


@command.command
def run(
    config: Annotated[str, Parameter(group=INPUT)], /, *, out: Out, json: Json = False, quiet: Quiet = False
) -> None:
    """Run the experiment that CONFIG describes, or the steps of it that are still missing.

    A run may be stopped at any time; the same command continues it.

    For example:
      calibrant experiment run digits --out digits
      calibrant experiment run study.toml --out results --quiet

    Parameters
    ----------
    config
        A TOML file, or the name of a shipped config: demo, digits, fashion-mnist, fashion-mnist-logits.
    out
        Folder for the results, and for the files from which a run continues.
    """
    from calibrant.lab import experiment as experiments
    from calibrant.lab.experiment.output import without_curves

    _refuse_among_results(Path(config), out)
    with step_bar(quiet=quiet or json) as (progress, note):
        result = experiments.run(config, out, progress=progress, note=note)
    if json:
        show.print_json(without_curves(result))
        return
    print_result(result)
    show.print_path("page", out / "index.html")


def _refuse_among_results(config: Path, folder: Path) -> None:
    """Refuse a config that files of its own experiment could replace; none of these ends in .toml."""
    place = config.resolve()
    if config.is_file() and place.suffix != ".toml" and place.is_relative_to(folder.resolve()):
        raise InputError(
            f"{printable(config)} lies in the folder of --out, whose files could replace it. Name another folder, or "
            "give it the ending .toml."
        )


@command.command
def status(folder: File, /, *, json: Json = False) -> int:
    """Show the progress of the experiment in FOLDER, after verifying every file.

    The exit code is 1 if steps are still missing.

    For example:
      calibrant experiment status digits

    Parameters
    ----------
    folder
        The folder that was given to --out.
    """
    from calibrant.lab import experiment as experiments

    found = experiments.status(folder)
    if json:
        show.print_json(found)
    else:
        _print_status(found)
    return int(not found.is_complete)


@command.command(name="show")
def show_result(folder: File, /, *, json: Json = False) -> None:
    """Show the table of the finished experiment in FOLDER.

    For example:
      calibrant experiment show digits
      calibrant experiment show digits --json

    Parameters
    ----------
    folder
        The folder that was given to --out.
    """
    from calibrant.lab import experiment as experiments
    from calibrant.lab.experiment.output import without_curves

    result = experiments.load_result(folder)
    if json:
        show.print_json(without_curves(result))
        return
    print_result(result)
    show.print_path("page", folder / "index.html")


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


def _print_status(found: "ExperimentStatus") -> None:
    done = [step for step in found.steps if step.state == "done"]
    seconds = sum(step.seconds or 0.0 for step in done)
    at_work = "; a process is running" if found.is_running else ""
    state = "finished" if found.is_complete else "not finished"
    words = f"{state}: {len(done)} of {len(found.steps)} steps, {count(seconds)} s of work{at_work}"
    missing = [f"  {step.state:<8} {step.name}" for step in found.steps if step.state != "done"]
    show.print_lines([found.title, words, *missing])
