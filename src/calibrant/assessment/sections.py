"""The sections of an assessment: each is a function from the shared work to fields of the result."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Unpack

import numpy as np

from calibrant.assessment.many_rows import summarised
from calibrant.assessment.ranges import has_quick_range, values_by_chance
from calibrant.assessment.size import CONFIDENCE, NO_RESAMPLING, SIZE
from calibrant.assessment.verdict import Examined, examine
from calibrant.assessment.work import Fields, Work, measured
from calibrant.curves.view import binary_view
from calibrant.exceptions import InputError
from calibrant.hypotest.multiple import holm
from calibrant.intervals.methods import known_interval
from calibrant.metrics import ECE, METRICS, SKCE, decompose
from calibrant.predictions import Predictions
from calibrant.results import Assessment, ClassSummary, Interval, TestResult


def metrics(work: Work, _rng: np.random.Generator) -> Fields:
    """Return the values of the metrics."""
    return {"metrics": work.estimates(work.steps.of_section)}


def limits(work: Work, rng: np.random.Generator) -> Fields:
    """Return confidence limits of the metrics with a valid method, or why there are none, and their range by chance.

    Errors that chance makes positive have no limits, only their range over labels drawn from the predictions.
    """
    predictions, metrics, estimates = work.predictions, work.metrics, work.estimates()
    known = {key: work.examined.size.null for key, metric in metrics.items() if metric == METRICS[SIZE]}
    wanted = {key: metrics[key] for key in estimates if key not in known and has_quick_range(metrics[key], predictions)}
    total = len(wanted) + len(estimates)  # Redrawn metrics count twice.
    drawn = values_by_chance(
        predictions, wanted, work.n_resamples, rng, lambda done: work.steps.of_section(done, total)
    )
    null, found = {**known, **drawn}, dict[str, Interval]()
    for done, (key, estimate) in enumerate(estimates.items(), start=len(wanted)):
        work.steps.of_section(done, total)
        own = null.get(key)
        interval = known_interval(predictions, metrics[key], estimate.value, CONFIDENCE, NO_RESAMPLING, rng, own)
        if interval is not None:
            found[key] = interval
    return {"intervals": found}


BAND_RESAMPLES = 199
"""Number of redraws for the bands of the curves."""


def curves(work: Work, rng: np.random.Generator) -> Fields:
    """Return reliability curves with their bands, and the running sum of residuals.

    The kernel curve has the bandwidth of `METRICS["kde-ece"]`, so that the curve and the number agree.
    """
    from calibrant.curves import cumulative_curve, isotonic_curve, kernel_curve, reliability_curve

    streams = rng.spawn(2)
    rows, name = binary_view(work.predictions)
    view, kde = summarised(rows), METRICS["kde-ece"]
    found = {"isotonic": isotonic_curve(view, n_resamples=BAND_RESAMPLES, rng=streams[0])}
    if kde.suits(work.predictions):
        bandwidth = kde.fit_bandwidth(work.predictions).bandwidth  # type: ignore[attr-defined]  # a KdeECE
        found["kernel"] = kernel_curve(view, bandwidth=bandwidth, n_resamples=BAND_RESAMPLES, rng=streams[1])
    return {
        "curve": replace(reliability_curve(view), view=name),
        "curves": {key: replace(curve, view=name) for key, curve in found.items()},
        "cumulative": replace(cumulative_curve(view), view=name),
    }


def classes(work: Work, _rng: np.random.Generator) -> Fields:
    """Return the table of the classes, and with more than two classes a curve of each."""
    from calibrant.curves import classwise_curves, reliability_curve

    several = work.predictions.n_classes > 2
    return {
        "classes": class_summaries(work.predictions),
        "classwise": classwise_curves(work.predictions, reliability_curve) if several else None,
    }


def class_summaries(predictions: Predictions) -> tuple[ClassSummary, ...]:
    """Return how often each class is predicted and observed, and its calibration error against the rest.

    Examples
    --------
    >>> first, *_ = class_summaries(Predictions([[0.5, 0.2, 0.3], [0.7, 0.2, 0.1]] * 2, labels=[0, 1] * 2))
    >>> first.name, first.n_observed, round(first.predicted, 3), first.observed
    ('0', 2, 0.6, 0.5)
    """
    labels, k = predictions.labels, predictions.n_classes
    weights = predictions.weights / predictions.weights.max()  # So that the sum of huge ones does not overflow.
    total = weights.sum()
    counts = np.bincount(labels[weights > 0], minlength=k).tolist()
    observed = (np.bincount(labels, weights, minlength=k) / total).tolist()
    predicted = (weights @ predictions.probs / total).tolist()
    errors = ECE().class_values(predictions).tolist()
    rows = zip(map(str, predictions.classes), counts, predicted, observed, errors, strict=True)
    return tuple(
        ClassSummary(name=name, n_observed=count, predicted=mean, observed=share, error=error)
        for name, count, mean, share, error in rows
    )


def parts(work: Work, _rng: np.random.Generator) -> Fields:
    """Return the decompositions of the squared error and of the log loss."""
    return {"decompositions": (decompose(work.predictions), decompose(work.predictions, "log"))}


def ranking(work: Work, _rng: np.random.Generator) -> Fields:
    """Return the ROC curve of class 1, or of the confidence, and its convex hull; None if no row or all are events."""
    from calibrant.roc import convex_hull, outline, roc_curve

    rows, name = binary_view(work.predictions)
    view = summarised(rows)
    if len(np.unique(view.labels[view.weights > 0])) < 2:
        return {"ranking": None}
    return {"ranking": outline(convex_hull(roc_curve(view.positive, view.labels, view.weights)), view=name)}


def tests(work: Work, rng: np.random.Generator) -> Fields:
    """Return tests besides the one behind the verdict."""
    return {"tests": further_tests(work.predictions, work.n_resamples, rng)}


MOST_PAIRED_ROWS = 2000
"""With more rows, the kernel test is the block test."""

REDRAWN_CELLS = 6 * 10**6
"""Redraws times rows times classes for the kernel test: with more rows or classes there are fewer redraws."""

FEWEST_RESAMPLES = 199
"""Smallest number of redraws for the kernel test, unless fewer are requested."""


def further_tests(predictions: Predictions, n_resamples: int, rng: np.random.Generator) -> dict[str, TestResult]:
    """Return the principal tests besides the omnibus test, by name, without those that refuse these predictions.

    The kernel test is exact, by redrawn labels, up to 2000 rows; with more rows it is the block test.
    """
    from calibrant.hypotest import TESTS, CalibrationTest, ConsistencyTest

    tests: dict[str, CalibrationTest] = {name: test for name, test in TESTS.items() if test.about().principal}
    n_present = int((predictions.weights > 0).sum())
    if n_present <= MOST_PAIRED_ROWS:
        affordable = max(FEWEST_RESAMPLES, REDRAWN_CELLS // (n_present * predictions.n_classes))
        tests["skce"] = ConsistencyTest(SKCE(), min(n_resamples, affordable))
    else:
        tests["skce-block"] = TESTS["skce-block"]
    found = {}
    for name, test in tests.items():
        with suppress(InputError):  # Too few rows, or a logistic regression without a finite solution.
            found[name] = replace(test(predictions, rng=rng), null=None)
    return found


def groups(work: Work, rng: np.random.Generator) -> Fields:
    """Return verdict and metrics of every group, and p-values adjusted for their number."""
    found: dict[str, Assessment] = {}
    for name, part in work.groups.items():
        examined = examine(part, work.n_resamples, work.tolerance, work.steps.within(), rng)
        found[name] = assembled(part, name, examined, metrics=measured(part, work.of_groups))
    adjusted = holm({name: part.test.pvalue for name, part in found.items()}) if found else {}
    return {"groups": found, "adjusted": adjusted}


def assembled(predictions: Predictions, name: str, examined: Examined, **fields: Unpack[Fields]) -> Assessment:
    """Return an assessment with verdict, test and these fields."""
    return Assessment(
        name=name,
        n_samples=predictions.n_rows,
        n_classes=predictions.n_classes,
        verdict=examined.verdict,
        test=examined.test,
        **fields,
    )


SECTIONS: Mapping[str, Callable[[Work, np.random.Generator], Fields]] = {
    "metrics": metrics,
    "limits": limits,
    "curves": curves,
    "classes": classes,
    "parts": parts,
    "ranking": ranking,
    "tests": tests,
    "groups": groups,
}
"""Every section by name, in the order in which they are computed. The verdict is always computed."""
