"""Measure, test and judge one set of predictions."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict

import numpy as np

from calibrant._border.types import Progress, Rng
from calibrant.assessment.many_rows import are_many, of_rows, summarised
from calibrant.assessment.sections import SECTIONS, assembled
from calibrant.assessment.verdict import TOLERANCE, check_tolerance, examine
from calibrant.assessment.work import Fields, Steps, Work, rows_by_group, settings_of
from calibrant.exceptions import InputError
from calibrant.forecasts import Forecasts
from calibrant.metrics import METRICS, Metric
from calibrant.metrics.measuring import suited_names
from calibrant.metrics.names import chosen_metrics
from calibrant.predictions import Predictions, check_predictions
from calibrant.predictions.two_arrays import as_data
from calibrant.results import Assessment

OF_GROUPS = ("accuracy", "nll", "brier", "squared-error", "ece", "rms-debiased")
"""Metrics of every group by default: few, as there may be thousands of groups."""

OF_CONFIDENCE = frozenset({"limits", "curves", "ranking"})
"""Sections that take the confidence of many rows from cells."""


class JudgeOptions(TypedDict, total=False):
    """Arguments of `assess` that say how rows are judged."""

    n_resamples: int
    tolerance: float
    progress: Progress | None
    rng: Rng


class AssessOptions(JudgeOptions, total=False):
    """Arguments of `assess` for a sketch, which holds no single rows."""

    name: str
    sections: Iterable[str] | None
    metrics: Mapping[str, Metric] | Sequence[str] | None


def assess(  # noqa: PLR0913 (each is one decision of the user)
    predictions: object,
    y_prob: object = None,
    sample_weight: object = None,
    *,
    name: str = "predictions",
    sections: Iterable[str] | None = None,
    metrics: Mapping[str, Metric] | Sequence[str] | None = None,
    n_resamples: int = 999,
    by: object = None,
    tolerance: float = TOLERANCE,
    progress: Progress | None = None,
    rng: Rng = None,
) -> Assessment:
    """Measure, test and judge one set of predictions.

    Parameters
    ----------
    predictions : Predictions, Sketch, or array-like of shape (n,)
        With `y_prob`, the labels.
    y_prob : array-like of shape (n, K) or (n,), optional
        Probabilities, if labels are given: `assess(y_true, y_prob)`.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows, if labels are given.
    name : str, default="predictions"
        What to call them in tables.
    sections : iterable of names in SECTIONS, default=all of them
        What to compute in addition to the verdict: "metrics", their "limits", "curves", "classes", the "parts" of
        scores, the "ranking", further "tests", "groups". A page needs all of them. What a section holds does not depend
        on which others are computed.
    metrics : mapping of str to Metric, or sequence of names in METRICS, optional
        By default all of METRICS, except those that are slow for the given number of rows and classes, and for two
        classes averages over classes: class 1 determines class 0.
    n_resamples : int, default=999
        Redraws of the labels in the test behind the verdict, and at most for the ranges by chance.
    by : array-like of shape (n,), optional
        The group of each row; every group gets a verdict as well, and a few metrics unless `metrics` are given.
    tolerance : float, default=0.02
        The largest calibration error that does not matter: the verdict says whether the error is shown to be within or
        beyond it.
    progress : callable, optional
        Called with (work done, work in all), in units of one redraw of the labels.
    rng : Generator, int or None
        With an int, the verdict is kept with the predictions: asking for further sections does not test again.

    Returns
    -------
    Assessment

    Notes
    -----
    A million or more rows of two classes are judged by fine cells that stand for them, as in a sketch; then `settings`
    hold ``"cells": True``. Scores are those of the rows, and docs/scale.md says how exact the rest is. Metrics that
    need single rows are left out unless they are named.

    A million rows of more classes are judged and measured themselves. Curves of the confidence and ranges of its errors
    by chance come from cells; then `settings` hold ``"cells_of_confidence": True``.

    Examples
    --------
    >>> p = Predictions([0.9, 0.95] * 20, labels=[0, 1] * 20)
    >>> assess(p, sections=(), n_resamples=99, rng=0).verdict.headline
    'Biased: it predicts class 1 too often, with 92.5% on average where 50.0% are observed.'
    """
    check_tolerance(tolerance)
    if hasattr(predictions, "assessed"):  # A sketch, whose package is in a higher layer.
        if by is not None:
            raise InputError("by is for rows, but a sketch holds none. Make a sketch of each group.")
        own = {"name": name, "sections": sections, "metrics": metrics, "n_resamples": n_resamples}
        return predictions.assessed(**own, tolerance=tolerance, progress=progress, rng=rng)
    rows = _as_rows(predictions, y_prob, sample_weight)
    predictions = summarised(rows)
    wanted = _chosen(sections)
    groups = {key: summarised(rows.take(part)) for key, part in rows_by_group(by, rows).items()}
    share = max(1, n_resamples // 5)  # A section counts as this many redraws in the progress.
    steps = Steps(n_resamples * (1 + len(groups)) + share * len(wanted), progress, share)
    generator = np.random.default_rng(rng)
    # Every section has its own stream, so that none depends on which others are computed.
    streams = dict(zip(SECTIONS, generator.spawn(len(SECTIONS)), strict=True))
    named = None if metrics is None else chosen_metrics(metrics)
    seed = rng if isinstance(rng, int) else generator
    work = Work(
        predictions=predictions,
        metrics=_affordable(predictions) if named is None else named,
        n_resamples=n_resamples,
        tolerance=tolerance,
        examined=examine(predictions, n_resamples, tolerance, steps.within(), seed),
        groups=groups,
        of_groups={key: METRICS[key] for key in OF_GROUPS} if named is None else named,
        steps=steps,
    )
    steps.add(n_resamples - steps.done)  # All at once, if the verdict was known already.
    settings = {**settings_of(predictions, n_resamples, tolerance, rng), "sections": list(wanted)}
    if predictions.n_classes > 2 and are_many(predictions) and not OF_CONFIDENCE.isdisjoint(wanted):
        settings["cells_of_confidence"] = True
    fields: Fields = {"settings": settings}
    for key in wanted:
        fields |= SECTIONS[key](work, streams[key])
        steps.end_section()
    found = assembled(predictions, name, work.examined, **fields)
    return found if predictions is rows else of_rows(found, rows, named)


def _as_rows(data: object, y_prob: object, sample_weight: object) -> Predictions:
    rows = as_data(data, y_prob, sample_weight)
    if isinstance(rows, Forecasts):
        raise TypeError("assess is for class probabilities, but got Forecasts. Pass them to assess_forecasts.")
    return check_predictions(rows)


def _chosen(sections: Iterable[str] | None) -> list[str]:
    """Return the requested sections, in the order of SECTIONS."""
    if sections is None:
        return [*SECTIONS]
    if isinstance(sections, str):
        raise TypeError(f'sections must be several names such as ("metrics", "limits"), but is {sections!r}.')
    asked = [*sections]
    unknown = [key for key in asked if key not in SECTIONS]
    if unknown:
        raise InputError(f"sections must be among {', '.join(SECTIONS)}, but {unknown[0]!r} is not.")
    return [key for key in SECTIONS if key in asked]


def _affordable(predictions: Predictions) -> Mapping[str, Metric]:
    """Return all metrics that are fast enough, without redundant ones."""
    names = suited_names([*METRICS], predictions.n_classes)
    return {key: METRICS[key] for key in names if METRICS[key].is_affordable(predictions)}
