"""Write the files of a finished experiment, and read its result."""

import csv
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant._border.numerals import count, four_decimals, percent, with_sign
from calibrant.exceptions import InputError
from calibrant.io import printable, write_atomically, write_text
from calibrant.lab.experiment.plan import Plan, make_plan
from calibrant.lab.experiment.read import read_stored
from calibrant.lab.experiment.summary import as_comparison, revive
from calibrant.lab.store import Store, unpack
from calibrant.results import (
    Compared,
    Comparison,
    CurveLine,
    Difference,
    ExperimentResult,
    LearningCurve,
    LearningPoint,
    Pipeline,
    PipelineCurves,
    SeedSummary,
    as_record,
    known_limits,
)
from calibrant.results.words.comparisons import judged_in_words, metric_label, stars

if TYPE_CHECKING:
    from numpy.typing import NDArray

RESULTS = "results.json"


def write_outputs(folder: Path, result: ExperimentResult, plan: Plan, store: Store) -> None:
    """Write tables, curves and page, and the logits as archives, unless they came from archives."""
    from calibrant.report.experiment import render_experiment

    if not plan.config.data.has_logits:
        _export(plan, store, folder / "logits", None)
    write_text(folder / "table.csv", _as_csv(_table(result)))
    write_text(folder / "table.md", as_markdown(result))
    write_text(folder / "curves.csv", _as_csv(_curve_rows(result.curves)))
    if result.learning:
        write_text(folder / "learning.csv", _as_csv(_learning_rows(result.learning)))
    write_text(folder / "index.html", render_experiment(result))
    write_text(folder / RESULTS, json.dumps(without_curves(result), indent=1, allow_nan=False) + "\n")


def without_curves(result: ExperimentResult) -> dict[str, object]:
    """Return the result as a record without the curves, which are in a separate file."""
    record: dict[str, object] = as_record(result)
    del record["curves"]
    return record


def load_result(folder: str | os.PathLike[str]) -> ExperimentResult:
    """Return the result in the folder of a finished experiment, without the curves.

    Raises
    ------
    FileNotFoundError
        If there is no experiment, or it is not finished.
    """
    path = Path(folder) / RESULTS
    config = read_stored(Path(folder))
    if not path.is_file():
        raise FileNotFoundError(
            f"the experiment {config.title!r} in {printable(folder)} is not finished. Run it again to continue."
        )
    try:
        record = json.loads(path.read_bytes())
        return revive(
            ExperimentResult,
            record | {"curves": []},
            pipelines=tuple(revive(Pipeline, entry) for entry in record["pipelines"]),
            comparisons=tuple(map(as_comparison, record["comparisons"])),
            summary=tuple(revive(SeedSummary, entry) for entry in record["summary"]),
            learning=tuple(map(_learning_curve, record["learning"])),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{printable(path)} is damaged. Run the experiment again to repair it.") from error


def _learning_curve(record: Mapping[str, Any]) -> LearningCurve:
    return revive(LearningCurve, record, points=tuple(revive(LearningPoint, entry) for entry in record["points"]))


def export_logits(
    folder: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    seed: int | None = None,
    dtype: str | None = None,
) -> None:
    """Write the logits of an experiment as one archive per network, which a config with source = "logits" reads.

    Parameters
    ----------
    folder : str or path
        The folder of an experiment whose logits are complete.
    target : str or path
        The archives are NAME.npz in this folder, or seed-0/NAME.npz and so on if there are several seeds.
    seed : int, optional
        Write only the logits of this seed.
    dtype : str, optional
        Such as "float16"; by default unchanged.
    """
    plan = make_plan(read_stored(Path(folder)))
    if seed is not None:
        if seed not in plan.config.seeds:
            raise InputError(f"seed must be one of {', '.join(map(str, plan.config.seeds))}, but is {seed!r}.")
        plan = Plan(plan.config, tuple(part for part in plan.seeds if part.seed == seed))
    _export(plan, Store(Path(folder)), Path(target), dtype)


def _export(plan: Plan, store: Store, target: Path, dtype: str | None) -> None:
    for part in plan.seeds:
        place = target if len(plan.seeds) == 1 else target / f"seed-{part.seed}"
        place.mkdir(parents=True, exist_ok=True)
        for name in part.test:
            arrays: dict[str, NDArray[np.generic]] = {}
            for split, steps in (("calibration", part.calibration), ("test", part.test)):
                found = unpack(store.read(steps[name]))
                logits = found["logits"]
                arrays[f"{split}_logits"] = logits if dtype is None else logits.astype(dtype)
                arrays[f"{split}_labels"] = found["labels"].astype(np.int16)
                arrays["classes"] = found["classes"]
            with write_atomically(place / f"{name}.npz") as file:
                np.savez_compressed(file, allow_pickle=False, **arrays)


def _as_csv(rows: Iterator[dict[str, object]]) -> str:
    text = io.StringIO()
    first = next(rows)
    writer = csv.DictWriter(text, list(first), lineterminator="\n")
    writer.writeheader()
    for row in chain([first], rows):
        writer.writerow({key: _not_a_formula(value) for key, value in row.items()})
    return text.getvalue()


def _not_a_formula(value: object) -> object:
    """Quote a string that a spreadsheet would run as a formula; leave anything else unchanged."""
    return f"'{value}" if isinstance(value, str) and value.lstrip().startswith(("=", "+", "-", "@")) else value


def _table(result: ExperimentResult) -> Iterator[dict[str, object]]:
    """Yield one row per seed, pipeline and metric."""
    pipelines = {pipeline.name: pipeline for pipeline in result.pipelines}
    for seed, comparison in zip(result.seeds, result.comparisons, strict=True):
        for entry in comparison.entries:
            pipeline = pipelines[entry.model]
            about = {"seed": seed, "pipeline": pipeline.name, "network": pipeline.network}
            yield about | {"calibrator": pipeline.calibrator} | _numbers(entry)


def _numbers(entry: Compared) -> dict[str, object]:
    """Return value, interval and difference of an entry, with None for those that it lacks."""
    interval, difference = entry.interval, entry.difference
    limits = ("low", "high", "method", "expected")
    changes = ("value", "low", "high", "method", "pvalue", "adjusted", "is_significant", "reason")
    row: dict[str, object] = {"metric": entry.metric, "better": entry.better, "value": entry.value}
    row |= {f"interval_{key}": getattr(interval, key, None) for key in limits}
    return row | {f"difference_{key}": getattr(difference, key, None) for key in changes}


def _curve_rows(curves: Sequence[PipelineCurves]) -> Iterator[dict[str, object]]:
    for entry in curves:
        lines: dict[str, CurveLine] = {"confidence": entry.confidence, "average": entry.average}
        lines |= {f"class {name}": line for name, line in entry.classes.items()}
        for name, line in lines.items():
            for point in zip(line.predicted.tolist(), line.observed.tolist(), line.count.tolist(), strict=True):
                about = {"seed": entry.seed, "pipeline": entry.pipeline, "curve": name}
                predicted, observed, rows = point
                yield about | {"predicted": round(predicted, 6), "observed": round(observed, 6), "rows": int(rows)}


def _learning_rows(curves: Sequence[LearningCurve]) -> Iterator[dict[str, object]]:
    for curve in curves:
        for point in curve.points:
            yield dict(curve.settings) | as_record(point)


ARROWS = {"lower": " ↓", "higher": " ↑", "none": ""}


def as_markdown(result: ExperimentResult) -> str:
    """Return all tables: over the seeds if there are several, then values, intervals and differences per seed."""
    lines = [f"# {_plain(result.title)}", "", *_about(result)]
    if len(result.seeds) > 1:
        lines += ["", f"## Mean over {len(result.seeds)} seeds, and the range", "", *_over_seeds(result)]
    for seed, comparison in zip(result.seeds, result.comparisons, strict=True):
        lines += ["", f"## Seed {seed}: values on {count(comparison.n_samples)} test rows", "", *_values(comparison)]
        lines += ["", f"## Seed {seed}: differences from {_plain(comparison.baseline)}", "", *_differences(comparison)]
    return "\n".join(lines) + "\n"


def _about(result: ExperimentResult) -> list[str]:
    first = result.comparisons[0]
    share = percent(first.level)
    words = (
        f"Data: {result.data}. Pipelines are compared with {_plain(first.baseline)} by {count(first.n_resamples)} "
        f"bootstrap samples of the test rows. \\* the {share} limits of the difference exclude 0; \\*\\* also after "
        "Holm's adjustment for the number of pipelines. In brackets: limits, where a valid method is known. KDE "
        "bandwidths were chosen on the calibration rows."
    )
    return [f"{words} {_plain(judged_in_words(first))}".rstrip()]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _head(comparison: Comparison) -> Iterator[str]:
    better = {entry.metric: entry.better for entry in comparison.entries}
    yield _row(["pipeline", *(f"{metric_label(comparison, m)}{ARROWS[better[m]]}" for m in comparison.metrics)])
    yield _row(["---", *("---:" for _ in comparison.metrics)])


def _over_seeds(result: ExperimentResult) -> Iterator[str]:
    first = result.comparisons[0]
    yield from _head(first)
    found = {(s.pipeline, s.metric): s for s in result.summary}
    n = len(result.seeds)
    for model in first.models:
        cells = []
        for metric in first.metrics:
            s = found[model, metric]
            marks = [f"{k}/{n} {side}" for k, side in ((s.n_better, "better"), (s.n_worse, "worse")) if k]
            span = f"{four_decimals(s.mean)} ({four_decimals(s.least)} to {four_decimals(s.greatest)})"
            cells.append(", ".join([span, *marks]))
        yield _row([_plain(model), *cells])


def _values(comparison: Comparison) -> Iterator[str]:
    yield from _head(comparison)
    for model in comparison.models:
        cells = [_value(comparison.entry(model, metric), comparison.level) for metric in comparison.metrics]
        yield _row([_plain(model), *cells])


def _value(entry: Compared, level: float) -> str:
    """Return a value with its limits and the stars of its difference."""
    own = known_limits(entry.interval)
    limits = "" if own is None else f" [{four_decimals(own[0])}, {four_decimals(own[1])}]"
    return f"{four_decimals(entry.value)}{stars(entry.difference, level)}{limits}"


def _differences(comparison: Comparison) -> Iterator[str]:
    yield from _head(comparison)
    for model in comparison.models:
        if model != comparison.baseline:
            cells = [
                _difference(comparison.entry(model, metric).difference, comparison.level)
                for metric in comparison.metrics
            ]
            yield _row([_plain(model), *cells])


def _difference(difference: Difference | None, level: float) -> str:
    if difference is None:
        return ""
    limits = known_limits(difference)
    shown = "" if limits is None else f" [{with_sign(limits[0])}, {with_sign(limits[1])}]"
    return f"{with_sign(difference.value)}{stars(difference, level)}{shown}"


def _plain(name: str) -> str:
    """Return a name with Markdown's special characters escaped."""
    return "".join(f"\\{c}" if c in r"\`*_[]<>|#" else c for c in name.replace("\n", " "))
