"""Curves, classes and further tests of an assessment."""

from contextlib import suppress
from dataclasses import replace

import numpy as np

from calibrant.assessment.many_rows import summarised
from calibrant.assessment.work import Fields
from calibrant.curves import isotonic_curve, kernel_curve, reliability_curve
from calibrant.curves.cumulative import cumulative_curve
from calibrant.curves.view import binary_view
from calibrant.exceptions import InputError
from calibrant.hypotest import TESTS, CalibrationTest, ConsistencyTest
from calibrant.metrics import ECE, METRICS, SKCE
from calibrant.predictions import Predictions
from calibrant.results import ClassSummary, ROCOutline, TestResult
from calibrant.roc import convex_hull, outline, roc_curve


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


BAND_RESAMPLES = 199
"""Number of redraws for the bands of the curves."""


def curves_of(predictions: Predictions, rng: np.random.Generator) -> Fields:
    """Return the curves of an `Assessment` by the names of its fields.

    The kernel curve has the bandwidth of `METRICS["kde-ece"]`, so that the curve and the number agree.
    """
    isotonic, kernel = rng.spawn(2)
    rows, name = binary_view(predictions)
    view = summarised(rows)
    curves = {"isotonic": isotonic_curve(view, n_resamples=BAND_RESAMPLES, rng=isotonic)}
    if METRICS["kde-ece"].suits(predictions):
        bandwidth = METRICS["kde-ece"].fit_bandwidth(predictions).bandwidth  # type: ignore[attr-defined]  # a KdeECE
        curves["kernel"] = kernel_curve(view, bandwidth=bandwidth, n_resamples=BAND_RESAMPLES, rng=kernel)
    return {
        "curve": replace(reliability_curve(view), view=name),
        "curves": {key: replace(curve, view=name) for key, curve in curves.items()},
        "cumulative": replace(cumulative_curve(view), view=name),
    }


def ranking_of(predictions: Predictions) -> ROCOutline | None:
    """Return the ROC curve of the event and its hull; None if the event always happened, or never."""
    rows, name = binary_view(predictions)
    view = summarised(rows)
    if len(np.unique(view.labels[view.weights > 0])) < 2:
        return None
    return outline(convex_hull(roc_curve(view.positive, view.labels, view.weights)), view=name)
