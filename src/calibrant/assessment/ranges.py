"""The range of errors by chance, over labels drawn from the predictions, within bounds on its time."""

from collections.abc import Callable, Iterator, Mapping
from itertools import chain

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant._core.threads import in_order
from calibrant.assessment.many_rows import summarised
from calibrant.assessment.size import NO_RESAMPLING
from calibrant.intervals.by_chance import has_range
from calibrant.metrics import ICI, DirichletECE, GapQuantile, KdeECE, Metric, Root, SmoothECE, TopLabel
from calibrant.metrics.base.lift import Lift
from calibrant.predictions import Predictions
from calibrant.resampling.redraws import redraw_labels

MOST_REDRAWS, FEWEST_REDRAWS = 99, 39
"""Redraws of the labels for the range of errors by chance, which is for information only."""

RANGE_CELLS = 4 * 10**5
"""Redraws times rows: with more rows there are fewer redraws."""

MOST_REDRAWN: Mapping[type[Metric], int] = {
    DirichletECE: 2000,
    GapQuantile: 2000,
    ICI: 2000,
    KdeECE: 100_000,
    SmoothECE: 100_000,
}
"""With more rows (times classes, if each class has its own error) metrics that are slow to redraw get no range."""

MOST_CELLS = 2_000_000
"""With more rows times classes, averages over classes get no range."""

LEAST_ROWS = 1000
"""A class with fewer rows takes as much time as this many."""


def has_quick_range(metric: Metric, predictions: Predictions) -> bool:
    """Return whether the metric is an error that chance makes positive, and that is redrawn in little time."""
    return has_range(metric, predictions, NO_RESAMPLING) and _is_quick(metric, predictions)


def values_by_chance(
    predictions: Predictions,
    metrics: Mapping[str, Metric],
    n_resamples: int,
    rng: np.random.Generator,
    report: Callable[[int], None],
) -> dict[str, FloatArray]:
    """Return values of errors, by name, for labels drawn from the predictions.

    There are at most `n_resamples` redraws and at most 99; with more than 4000 rows fewer, down to 39. `report` is
    called with the number of metrics done.

    Errors of the confidence need only whether the predicted class is right. Binned errors of many rows need only the
    number of events in cells, and so do all errors of the confidence of a million rows. All others share the labels.
    """
    affordable = int(np.clip(RANGE_CELLS // predictions.n_samples, FEWEST_REDRAWS, MOST_REDRAWS))
    n_redraws = min(affordable, n_resamples)
    whole, confidence, *counts = rng.spawn(2 + len(metrics))
    found: dict[str, FloatArray] = {}
    by_labels: dict[Predictions, dict[str, Metric]] = {}
    for (key, metric), stream in zip(metrics.items(), counts, strict=True):
        view = metric.view(predictions)
        if metric.suits(cells := summarised(view)):
            view = cells
        counted = metric.prepare_counts(view) if view.n_classes == 2 else None
        if counted is None:
            by_labels.setdefault(view, {})[key] = metric
        else:
            found[key] = counted.redrawn(n_redraws, stream)
            report(len(found))
    for view, some in by_labels.items():
        stream = whole if view is predictions else confidence
        for key, values in _redrawn(view, some, n_redraws, stream):
            found[key] = np.append(found.get(key, np.empty(0)), values)
            report(len(found))
    return found


def _redrawn(
    view: Predictions, metrics: Mapping[str, Metric], n_redraws: int, rng: np.random.Generator
) -> Iterator[tuple[str, FloatArray]]:
    """Yield the name of a metric and its values for a block of redraws, as they are computed."""
    evaluators = {key: metric.prepare_labels(view) for key, metric in metrics.items()}

    def values(labels: IntArray) -> list[tuple[str, FloatArray]]:
        return [(key, evaluate(labels)) for key, evaluate in evaluators.items()]

    blocks = redraw_labels(view, n_redraws, rng)
    first = next(blocks)
    if first.shape[1] == n_redraws:  # A metric spreads its own work over the threads.
        yield from values(first)
    else:
        for found in in_order(values, chain([first], blocks)):
            yield from found


def _is_quick(metric: Metric, predictions: Predictions) -> bool:
    size, work = predictions.n_samples, 0
    while isinstance(metric, Lift):
        if not isinstance(metric, (Root, TopLabel)):
            size = predictions.n_samples * predictions.n_classes
            work = max(predictions.n_samples, LEAST_ROWS) * predictions.n_classes
        metric = metric.metric
    return size <= MOST_REDRAWN.get(type(metric), size) and work <= MOST_CELLS
