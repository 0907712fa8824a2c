"""Combine the results of steps into the result of an experiment."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from itertools import product
from typing import Any, TypeVar

import numpy as np

from calibrant import __version__
from calibrant.advice.learning import learning_point
from calibrant.hypotest import holm
from calibrant.lab.experiment.config import Config, Learning
from calibrant.lab.experiment.plan import Plan, SeedPlan
from calibrant.lab.store import Store
from calibrant.results import (
    Compared,
    Comparison,
    CurveLine,
    Description,
    Difference,
    ExperimentResult,
    Interval,
    LearningCurve,
    LearningPoint,
    PipelineCurves,
    SeedSummary,
    favours,
)

T = TypeVar("T")


def summarise(plan: Plan, store: Store) -> ExperimentResult:
    """Return the result of an experiment whose steps are all done."""
    config = plan.config
    found = [[json.loads(store.read(step)) for step in part.evaluations] for part in plan.seeds]
    comparisons = tuple(_merged(config, [as_comparison(e["comparison"]) for e in entries]) for entries in found)
    return ExperimentResult(
        title=config.title,
        data=config.data.source,
        seeds=config.seeds,
        pipelines=config.pipelines,
        comparisons=comparisons,
        summary=_over_seeds(comparisons),
        curves=tuple(
            curves
            for seed, entries in zip(config.seeds, found, strict=True)
            for curves in _curves(config, seed, {name: c for e in entries for name, c in e["curves"].items()})
        ),
        learning=tuple(_learning(config.learning, part, store) for part in plan.seeds if config.learning),
        settings={
            "version": __version__,
            "resamples": config.evaluation.resamples,
            "level": config.evaluation.level,
            "folds": config.evaluation.folds,
            "differences": config.evaluation.differences,
            "bandwidth": config.evaluation.bandwidth,
            "split_seed": config.data.seed,
        },
    )


def _merged(config: Config, parts: Sequence[Comparison]) -> Comparison:
    """Return one comparison of all pipelines, in the order of the config, with p-values adjusted per metric."""
    entries = {(e.model, e.metric): e for part in reversed(parts) for e in part.entries}
    adjusted: dict[tuple[str, str], float] = {}
    for metric in parts[0].metrics:
        own = {key: e.difference.pvalue for key, e in entries.items() if key[1] == metric and e.difference is not None}
        adjusted |= holm(own) if own else {}
    names = tuple(pipeline.name for pipeline in config.pipelines)
    return replace(
        parts[0],
        models=names,
        entries=tuple(_adjusted(entries[key], adjusted) for key in product(names, parts[0].metrics)),
    )


def _adjusted(entry: Compared, adjusted: Mapping[tuple[str, str], float]) -> Compared:
    if entry.difference is None:
        return entry
    return replace(entry, difference=replace(entry.difference, adjusted=adjusted[entry.model, entry.metric]))


def _over_seeds(comparisons: Sequence[Comparison]) -> tuple[SeedSummary, ...]:
    first = comparisons[0]
    cells = product(first.models, first.metrics)
    return tuple(_summary([c.entry(model, metric) for c in comparisons]) for model, metric in cells)


def _summary(entries: Sequence[Compared]) -> SeedSummary:
    values = [entry.value for entry in entries]
    differences = [entry.difference for entry in entries if entry.difference is not None]
    sides = [favours(entry) for entry in entries]
    return SeedSummary(
        pipeline=entries[0].model,
        metric=entries[0].metric,
        mean=math.fsum(values) / len(values),
        least=min(values),
        greatest=max(values),
        difference=math.fsum(d.value for d in differences) / len(differences) if differences else None,
        n_better=sides.count(1),
        n_worse=sides.count(-1),
    )


def _curves(config: Config, seed: int, found: Mapping[str, Any]) -> list[PipelineCurves]:
    return [
        PipelineCurves(
            seed=seed,
            pipeline=pipeline.name,
            confidence=_line(found[pipeline.name]["confidence"]),
            average=_line(found[pipeline.name]["average"]),
            classes={name: _line(line) for name, line in found[pipeline.name]["classes"].items()},
        )
        for pipeline in config.pipelines
    ]


def _line(record: Mapping[str, object]) -> CurveLine:
    return CurveLine(**{key: np.array(values, dtype=float) for key, values in record.items()})


def _learning(learning: Learning, part: SeedPlan, store: Store) -> LearningCurve:
    found = [json.loads(store.read(step)) for step in part.learning]
    keys = list(product(learning.calibrators, learning.sizes))
    records = dict(zip(keys, found, strict=True))
    cells = product(learning.calibrators, learning.metrics, learning.sizes)
    return LearningCurve(
        calibrators=learning.calibrators,
        metrics=learning.metrics,
        sizes=learning.sizes,
        n_repeats=learning.repeats,
        n_held_out=found[0]["rows"],
        baseline=found[0]["before"],
        points=tuple(_point(name, metric, size, records[name, size]) for name, metric, size in cells),
        settings={"network": learning.network, "seed": part.seed},
    )


def _point(calibrator: str, metric: str, size: int, record: Mapping[str, Any]) -> LearningPoint:
    values = np.array(record["values"][metric], dtype=float)
    return learning_point(calibrator, metric, size, values, np.full_like(values, record["before"][metric]))


def as_comparison(record: Mapping[str, Any]) -> Comparison:
    """Return the comparison of which `as_record` made a record."""
    entries = tuple(
        revive(
            Compared,
            entry,
            interval=None if entry["interval"] is None else revive(Interval, entry["interval"]),
            difference=None if entry["difference"] is None else revive(Difference, entry["difference"]),
        )
        for entry in record["entries"]
    )
    about = {metric: Description(**written) for metric, written in record.get("about", {}).items()}
    return revive(Comparison, record, entries=entries, about=about)


def revive(kind: type[T], record: Mapping[str, object], **parts: object) -> T:
    """Return a result of a class from the record that `as_record` made of it; `parts` replace nested results."""
    known = [f for f in fields(kind) if f.name in record]  # type: ignore[arg-type]  # result types are dataclasses
    written = {f.name: record[f.name] if f.type is str else _revived(record[f.name]) for f in known}
    return kind(**written | parts)


def _revived(value: object) -> object:
    """Return lists as tuples, and the strings for infinities and NaN as numbers."""
    if isinstance(value, list):
        return tuple(map(_revived, value))
    return float(value) if value in ("inf", "-inf", "nan") else value
