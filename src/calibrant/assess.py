"""Everything a report needs to know about one set of predictions."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from calibrant import __version__
from calibrant._convert import InputError, convert
from calibrant._typing import Progress, Rng
from calibrant.compare.inputs import chosen_metrics
from calibrant.curves import reliability_curve
from calibrant.hypotest import ConsistencyTest, holm
from calibrant.limits import further_tests, limits_of
from calibrant.metrics import ECE, METRICS, KdeECE, Metric
from calibrant.pictures import pictures
from calibrant.predictions import Predictions, check_predictions
from calibrant.results import Assessment, ClassSummary, TestResult
from calibrant.verdict import judge

SIZE_RESAMPLES = 199
"""Redraws that say what chance would make of the error that the verdict shows."""


def assess(  # noqa: PLR0913 (each is one decision of the user)
    predictions: Predictions,
    *,
    name: str = "predictions",
    metrics: Mapping[str, Metric] | Sequence[str] | None = None,
    n_resamples: int = 999,
    by: Any = None,
    intervals: bool = True,
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
        A group for each row; every group is assessed as well, without intervals and further tests.
    intervals : bool, default=True
        Whether metrics get 95 % confidence limits, where a valid method is known; of numbers that are fitted to every
        bootstrap sample, such as the calibration slope, up to 10 000 rows.
    progress : callable, optional
        Called with (redraws done, redraws in all).
    rng : Generator, int or None

    Returns
    -------
    Assessment

    Examples
    --------
    >>> p = Predictions([0.9, 0.95] * 20, labels=[0, 1] * 20)
    >>> assess(p, n_resamples=99, rng=0).verdict.code
    'over-confident'
    """
    check_predictions(predictions)
    groups = {} if by is None else _split(predictions, by)
    chosen = METRICS if metrics is None else chosen_metrics(metrics)
    total = n_resamples * (1 + len(groups))
    generator = np.random.default_rng(rng)

    def one(part: Predictions, part_name: str, position: int) -> tuple[Assessment, TestResult]:
        shifted = None if progress is None else lambda done, _: progress(position * n_resamples + done, total)
        # Both metrics see no more than whether the predicted class is right, which is quicker to draw than a label.
        null: Literal["full", "top-label"] = "full" if part.n_classes == 2 else "top-label"
        test = ConsistencyTest(ECE(), n_resamples, null)(part, generator, progress=shifted)
        # The bandwidth was chosen with the labels: right for the size of the error, but not for an exact test.
        fitted = KdeECE().fit_bandwidth(part)
        size = ConsistencyTest(fitted, min(n_resamples, SIZE_RESAMPLES), null)(part, generator)
        return _assemble(part, part_name, chosen, test, size), size

    whole, size = one(predictions, name, 0)
    parts = {key: one(part, key, 1 + i)[0] for i, (key, part) in enumerate(groups.items())}
    settings = {
        "version": __version__,
        "resamples": n_resamples,
        "seed": rng if isinstance(rng, int) else None,
        "weighted": predictions.is_weighted,
    }
    adjusted = holm({key: part.test.pvalue for key, part in parts.items()}) if parts else {}
    drawn = pictures(predictions, whole.metrics, generator)
    null = {
        key: test.null for test, metric in ((whole.test, ECE()), (size, KdeECE())) for key in _named(metric, chosen)
    }
    limits = limits_of(predictions, chosen, whole.metrics, null, n_resamples, generator) if intervals else {}
    tests = further_tests(predictions, n_resamples, generator)
    return replace(whole, groups=parts, adjusted=adjusted, settings=settings, intervals=limits, tests=tests, **drawn)


def _named(metric: Metric, metrics: Mapping[str, Metric]) -> list[str]:
    """Return the names under which a metric is asked for."""
    return [key for key, other in metrics.items() if other == metric]


def _assemble(
    predictions: Predictions, name: str, metrics: Mapping[str, Metric], test: TestResult, size: TestResult
) -> Assessment:
    n_weighted = int((predictions.weights > 0).sum())
    return Assessment(
        name=name,
        n_samples=predictions.n_samples,
        n_classes=predictions.n_classes,
        verdict=judge(predictions, test, size),
        metrics={
            key: metric.estimate(predictions) for key, metric in metrics.items() if metric.least_rows <= n_weighted
        },
        test=test,
        curve=reliability_curve(predictions),
        classes=tuple(_summarise(predictions, c) for c in range(predictions.n_classes)),
    )


def _summarise(predictions: Predictions, c: int) -> ClassSummary:
    view = predictions.one_vs_rest(c)
    observed = view.labels == 1
    return ClassSummary(
        name=str(predictions.classes[c]),
        n_observed=int((observed & (view.weights > 0)).sum()),
        predicted=float(np.average(view.positive, weights=view.weights)),
        observed=float(np.average(observed, weights=view.weights)),
        error=ECE()(view),
    )


def _split(predictions: Predictions, by: Any) -> dict[str, Predictions]:
    keys = convert(by, "by").values.ravel()
    if len(keys) != predictions.n_samples:
        raise InputError(
            f"by must have one group a row, but there are {len(keys)} entries for {predictions.n_samples} rows."
        )
    names, inverse = np.unique(keys.astype(str), return_inverse=True)
    parts = {name: predictions.take(np.flatnonzero(inverse == i)) for i, name in enumerate(names.tolist())}
    return {name: part for name, part in parts.items() if part.weights.any()}
