"""Many rows, judged by fine cells that stand for them, in seconds and with little memory.

For two classes everything comes from the cells. For more classes, only the curves and the ranges by chance of the
confidence do; the rest comes from the rows.
"""

from collections.abc import Mapping
from dataclasses import replace

from calibrant.assessment.work import Fields, measured
from calibrant.binning.cells.grid import DIGITS, grid_of
from calibrant.binning.cells.line import Line, as_predictions
from calibrant.binning.cells.weights import ONE, as_units
from calibrant.hypotest.calibration_test import mark_weights, weights_follow_labels
from calibrant.metrics import METRICS, NLL, Metric, SquaredError
from calibrant.metrics.score_parts import AT_MOST, Discrimination, Miscalibration, at_most
from calibrant.predictions import Predictions
from calibrant.results import Assessment, Estimate

MANY_ROWS = 1_000_000
"""From this many rows on, the relative error due to cells is below 1e-3, except in fits that follow noise
(docs/scale.md). With fewer rows it is larger, as bins end at cells, and the rows themselves take a few seconds only."""

EXACT = ("accuracy", "nll", "brier", "squared-error")
"""Metrics that are computed from the rows: means over rows, which are fast."""


def summarised(rows: Predictions) -> Predictions:
    """Return the cells of many rows of two classes, if their weights fit into a sketch; other rows as they are.

    Examples
    --------
    >>> few = Predictions([0.2, 0.9], labels=[0, 1])
    >>> summarised(few) is few
    True
    """
    if rows.n_classes != 2 or not are_many(rows):
        return rows
    return rows.once("cells of many rows", lambda: _cells(rows))


def are_many(rows: Predictions) -> bool:
    """Return whether cells stand for the rows where that is possible."""
    return rows.n_samples >= MANY_ROWS and rows.copies is None and _fit(rows)


def _fit(rows: Predictions) -> bool:
    """Return whether the weights, relative to their mean, can be summed as integers: none too large or too small."""
    if not rows.is_weighted:
        return True
    relative = rows.weights / rows.weights.mean()
    return bool(relative.max() <= ONE and relative[relative > 0].min() >= 2.0**-10)


def _cells(rows: Predictions) -> Predictions:
    line = _line(rows)
    cells = as_predictions(line.cells(), rows.classes, line.sums())
    return mark_weights(cells) if weights_follow_labels(rows) else cells


def _line(rows: Predictions) -> Line:
    return rows.once("line of many rows", lambda: _counted(rows))


def _counted(rows: Predictions) -> Line:
    line = Line.empty(grid_of(DIGITS))
    units = as_units(rows.weights / rows.weights.mean()) if rows.is_weighted else None
    present = slice(None) if units is None else units > 0
    line.add(rows.positive[present], rows.labels[present] == 1, None if units is None else units[present])
    return line


def with_bounds(metrics: Mapping[str, Estimate], line: Line, scores: Mapping[str, float]) -> dict[str, Estimate]:
    """Return estimates from cells of rows, counted in `line`; details of parts of scores get upper bounds for the rows.

    The mean scores of the rows are "squared-error" and "log".
    """
    found, parts = dict(metrics), line.events_last()
    for name, one in metrics.items():
        metric = METRICS.get(name)
        if isinstance(metric, (Miscalibration, Discrimination)):
            bound = at_most(metric, *parts, scores)
            found[name] = replace(one, details={**one.details, AT_MOST: max(bound, one.value)})
    return found


def of_rows(found: Assessment, rows: Predictions, named: Mapping[str, Metric] | None) -> Assessment:
    """Turn an assessment of the cells of rows into one of the rows; metrics named that need single rows get these."""
    more: Fields = {"settings": {**found.settings, "cells": True, "weighted": rows.is_weighted}}
    if found.metrics:
        wanted = {key: METRICS[key] for key in EXACT if key in found.metrics}
        cells = summarised(rows)
        single = {key: metric for key, metric in (named or {}).items() if not metric.suits(cells)}
        scores = {"squared-error": SquaredError()(rows), "log": NLL()(rows)}
        bounded = with_bounds(found.metrics, _line(rows), scores)
        values = {**bounded, **measured(rows, wanted | single)}
        more["metrics"] = {key: values[key] for key in (found.metrics if named is None else named) if key in values}
    return replace(found, n_samples=rows.n_samples, **more)
