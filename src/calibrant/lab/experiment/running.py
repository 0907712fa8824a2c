"""Run an experiment, continue one that was stopped, and report its status."""

import json
import os
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path

from calibrant._border.types import Progress
from calibrant.io import write_text
from calibrant.lab.experiment.config import Config
from calibrant.lab.experiment.output import RESULTS, write_outputs
from calibrant.lab.experiment.plan import Plan, make_plan
from calibrant.lab.experiment.read import CONFIG, as_content, read_config, read_stored
from calibrant.lab.experiment.steps import Step
from calibrant.lab.experiment.summary import summarise
from calibrant.lab.experiment.work import WORK, Bench
from calibrant.lab.runner import complete
from calibrant.lab.store import Store, is_running, locked
from calibrant.results import ExperimentResult, ExperimentStatus, StepStatus

TIMES = "times.json"

_FINE = 1000
"""Number of units into which the progress bar divides a step."""


def run(
    config: Config | str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    progress: Progress | None = None,
    note: Callable[[str], None] | None = None,
) -> ExperimentResult:
    """Run an experiment, or the remaining part of it.

    Every unit of work is stored in a file in the folder. The same call continues a run that was stopped or killed, and
    gives the same results to the last bit.

    Parameters
    ----------
    config : Config, str or path
        A TOML file, or the name of a shipped config such as "digits".
    out : str or path
        A folder for the results, created if it does not exist.
    progress : callable, optional
        Called with (work done, total work).
    note : callable, optional
        Called with a description of the next step, such as "calibrating ce with ts".

    Returns
    -------
    ExperimentResult
        Also written to the folder: results.json, table.csv, table.md, curves.csv and index.html.

    Raises
    ------
    InputError
        If the config is not valid, or another process is running in the folder.
    """
    chosen = config if isinstance(config, Config) else read_config(config)
    plan = make_plan(chosen)
    folder = Path(out)
    with locked(folder, "experiment"):
        write_text(folder / CONFIG, json.dumps(as_content(chosen), indent=1) + "\n")
        store = Store(folder)
        _complete(plan, store, progress or _ignore, note or _ignore)
        result = summarise(plan, store)
        write_outputs(folder, result, plan, store)
    return result


def status(folder: str | os.PathLike[str]) -> ExperimentStatus:
    """Return the status of the experiment in a folder; every file is verified."""
    where = Path(folder)
    plan, store, times = make_plan(read_stored(where)), Store(where), _times(where)
    steps = tuple(
        StepStatus(
            name=step.name,
            kind=step.kind,
            state=store.state(step),
            file=step.filename,
            seconds=times.get(step.filename),
        )
        for step in plan.steps
    )
    done = all(step.state == "done" for step in steps) and (where / RESULTS).is_file()
    return ExperimentStatus(title=plan.config.title, is_running=is_running(where), is_complete=done, steps=steps)


def _complete(plan: Plan, store: Store, progress: Progress, note: Callable[[str], None]) -> None:
    bench, times = Bench(plan.config, store), _times(store.folder)
    todo = store.missing(plan.steps)
    total, left = (sum(step.cost for step in steps) for steps in (plan.steps, todo))
    starts = accumulate((step.cost for step in todo), initial=total - left)
    bars = {step: _part(progress, start, step.cost, total) for step, start in zip(todo, starts, strict=False)}
    for step in {*plan.steps} - {*todo}:
        store.drop_checkpoint(step)

    def compute(step: Step) -> bytes:
        note(step.words)
        (store.folder / RESULTS).unlink(missing_ok=True)  # They would belong to an earlier experiment.
        return WORK[step.kind](step, bench, bars[step])

    def tell(step: Step, seconds: float) -> None:
        times[step.filename] = round(seconds, 3)
        write_text(store.folder / TIMES, json.dumps(times, indent=1) + "\n")
        store.drop_checkpoint(step)
        bars[step](1, 1)

    progress((total - left) * _FINE, total * _FINE)
    complete(todo, store, compute, tell)


def _part(progress: Progress, before: int, cost: int, total: int) -> Progress:
    """Return a callback for one step, which moves the progress bar of the whole experiment."""
    return lambda done, of: progress(before * _FINE + cost * _FINE * done // max(of, 1), total * _FINE)


def _times(folder: Path) -> dict[str, float]:
    """Return the durations of steps; they do not affect results, so a damaged file is ignored."""
    try:
        times = json.loads((folder / TIMES).read_bytes())
    except (OSError, ValueError):
        return {}
    return times if isinstance(times, dict) else {}


def _ignore(*_: object) -> None:
    """Report nothing."""
