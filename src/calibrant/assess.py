"""Everything a report needs to know about one set of predictions."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from calibrant import __version__
from calibrant._convert import InputError, convert
from calibrant._typing import Progress, Rng
from calibrant.bootstrap import group_rows
from calibrant.class_summaries import class_summaries
from calibrant.compare.inputs import chosen_metrics
from calibrant.curves import reliability_curve
from calibrant.hypotest import holm
from calibrant.limits import further_tests, limits_of
from calibrant.metrics import METRICS, Metric
from calibrant.pictures import pictures
from calibrant.predictions import Predictions, check_predictions
from calibrant.results import Assessment
from calibrant.verdict import SIZE, TOLERANCE, Examined, Size, check_tolerance, examine

OF_GROUPS = ("accuracy", "nll", "brier", "squared-error", "ece", "rms-debiased")
"""What is measured of every group, unless other metrics are asked for: there may be thousands of groups."""


def assess(  # noqa: PLR0913 (each is one decision of the user)
    predictions: Predictions,
    *,
    name: str = "predictions",
    metrics: Mapping[str, Metric] | Sequence[str] | None = None,
    n_resamples: int = 999,
    by: Any = None,
    intervals: bool = True,
    tolerance: float = TOLERANCE,
    progress: Progress | None = None,
    rng: Rng = None,
) -> Assessment:
    """Measure, test and judge one set of predictions.

    Parameters
    ----------
    predictions : Predictions
    name : str, default="predictions"
        What to call them in tables.
    metrics : mapping of str to Metric, or sequence of names in METRICS, default=METRICS
    n_resamples : int, default=999
        Redraws of the labels in the test behind the verdict; and bootstrap samples behind the intervals, of which there
        are 399 at most.
    by : array-like of shape (n,), optional
        A group for each row; every group is assessed as well, without intervals and further tests, and by a few
        metrics unless `metrics` are given.
    intervals : bool, default=True
        Whether metrics get 95 % confidence limits, where a valid method is known; of numbers that are fitted to every
        bootstrap sample, such as the calibration slope, up to 10 000 rows.
    tolerance : float, default=0.02
        The largest calibration error that does not matter: the verdict says whether the error is shown to be within it,
        or beyond.
    progress : callable, optional
        Called with (redraws done, redraws in all).
    rng : Generator, int or None

    Returns
    -------
    Assessment

    Examples
    --------
    >>> p = Predictions([0.9, 0.95] * 20, labels=[0, 1] * 20)
    >>> assess(p, n_resamples=99, rng=0).verdict.headline
    'Biased: it predicts class 1 too often, with 92.5% on average where 50.0% are observed.'
    """
    check_predictions(predictions)
    check_tolerance(tolerance)
    groups = {} if by is None else _split(predictions, by)
    chosen = METRICS if metrics is None else chosen_metrics(metrics)
    few = {key: METRICS[key] for key in OF_GROUPS} if metrics is None else chosen
    total = n_resamples * (1 + len(groups))
    generator = np.random.default_rng(rng)

    def one(part: Predictions, part_name: str, position: int) -> tuple[Assessment, Size]:
        shifted = None if progress is None else lambda done, _: progress(position * n_resamples + done, total)
        found = examine(part, n_resamples, tolerance, shifted, generator)
        return _assemble(part, part_name, few if position else chosen, found), found.size

    whole, size = one(predictions, name, 0)
    parts = {key: one(part, key, 1 + i)[0] for i, (key, part) in enumerate(groups.items())}
    settings = {
        "version": __version__,
        "resamples": n_resamples,
        "seed": rng if isinstance(rng, int) else None,
        "weighted": predictions.is_weighted,
        "tolerance": tolerance,
    }
    adjusted = holm({key: part.test.pvalue for key, part in parts.items()}) if parts else {}
    drawn = pictures(predictions, whole.metrics, generator)
    null = {key: size.null for key, metric in chosen.items() if metric == METRICS[SIZE]}
    limits = limits_of(predictions, chosen, whole.metrics, null, n_resamples, generator) if intervals else {}
    tests = further_tests(predictions, n_resamples, generator)
    return replace(whole, groups=parts, adjusted=adjusted, settings=settings, intervals=limits, tests=tests, **drawn)


def _assemble(predictions: Predictions, name: str, metrics: Mapping[str, Metric], found: Examined) -> Assessment:
    n_weighted = int((predictions.weights > 0).sum())
    return Assessment(
        name=name,
        n_samples=predictions.n_samples,
        n_classes=predictions.n_classes,
        verdict=found.verdict,
        metrics={
            key: metric.estimate(predictions) for key, metric in metrics.items() if metric.least_rows <= n_weighted
        },
        test=found.test,
        curve=reliability_curve(predictions),
        classes=class_summaries(predictions),
    )


def _split(predictions: Predictions, by: Any) -> dict[str, Predictions]:
    keys = convert(by, "by").values.ravel()
    if len(keys) != predictions.n_samples:
        raise InputError(
            f"by must have one group a row, but there are {len(keys)} entries for {predictions.n_samples} rows."
        )
    parts = {name: predictions.take(rows) for name, rows in group_rows(keys, len(keys)).items()}
    return {name: part for name, part in parts.items() if part.weights.any()}
