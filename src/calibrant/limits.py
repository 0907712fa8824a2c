"""Confidence limits and further tests of one set of predictions, within bounds on their time."""

from collections.abc import Hashable, Mapping
from contextlib import suppress
from dataclasses import replace

import numpy as np

from calibrant._convert import InputError
from calibrant._typing import FloatArray
from calibrant.bootstrap import Bootstrap
from calibrant.hypotest import TESTS, AsymptoticSKCETest, CalibrationTest
from calibrant.intervals import METHODS, Found, Limits, as_interval, family, why_not
from calibrant.intervals.parts import bins_of
from calibrant.metrics import Classwise, Metric, PerPredictedClass, Root, TopLabel
from calibrant.predictions import Predictions
from calibrant.results import Estimate, Interval, TestResult

LEVEL = 0.95
"""Of all intervals."""

MOST_RESAMPLES, FEWEST_RESAMPLES = 399, 199
CELLS = 2 * 10**7
"""Bootstrap samples times rows: with more rows there are fewer samples."""

MOST_FITTED_ROWS = 10_000
"""With more rows, numbers that are fitted to each bootstrap sample get no limits, as these would take too long."""

MOST_PAIRED_ROWS = 2000
"""With more rows, the kernel test is that of blocks."""


def limits_of(
    predictions: Predictions,
    metrics: Mapping[str, Metric],
    estimates: Mapping[str, Estimate],
    null: Mapping[str, FloatArray | None],
    n_resamples: int,
    rng: np.random.Generator,
) -> dict[str, Interval]:
    """Return confidence limits of those metrics for which a valid method is known, and what chance makes, by name.

    Parameters
    ----------
    predictions : Predictions
    metrics : mapping of str to Metric
    estimates : mapping of str to Estimate
        Their values, if they have one.
    null : mapping of str to array
        Values of some metrics on labels drawn from the predictions, which say what chance makes of them.
    n_resamples : int
        Bootstrap samples, at most; there are never more than 399, and from 50 000 rows on fewer, down to 199.
    rng : Generator
    """
    affordable = int(np.clip(CELLS // predictions.n_samples, FEWEST_RESAMPLES, MOST_RESAMPLES))
    bootstrap = Bootstrap(min(n_resamples, affordable))
    found: dict[str, Interval] = {}
    known: dict[Hashable, Limits] = {}
    for key, estimate in estimates.items():
        metric, draws = metrics[key], null.get(key)
        reason = why_not(metric, predictions, bootstrap)
        method = None if reason else _affordable(family(metric, predictions, bootstrap), predictions)
        result = Found("none", None, reason)
        if method is not None:
            same = _same_limits(metric, method, key)
            with suppress(InputError):  # Too few rows, or nothing in them that varies.
                if same not in known:
                    known[same] = METHODS[method](predictions, metric, LEVEL, bootstrap, rng)
                result = Found(method, known[same])
        if result.limits is not None or result.reason or draws is not None:
            found[key] = as_interval(metric, estimate.value, LEVEL, result, draws)
    return found


def further_tests(predictions: Predictions, n_resamples: int, rng: np.random.Generator) -> dict[str, TestResult]:
    """Return further tests than the exact one, by name; those that refuse these predictions are left out."""
    tests: dict[str, CalibrationTest] = {name: TESTS[name] for name in ("spiegelhalter", "cox", "ecce")}
    if int((predictions.weights > 0).sum()) <= MOST_PAIRED_ROWS:
        tests["skce"] = AsymptoticSKCETest(n_resamples=n_resamples)
    else:
        tests["skce-block"] = TESTS["skce-block"]
    found = {}
    for name, test in tests.items():
        with suppress(InputError):  # Too few rows, or a logistic regression without a finite solution.
            found[name] = replace(test(predictions, rng=rng), null=None)
    return found


def _affordable(method: str | None, predictions: Predictions) -> str | None:
    return None if method == "bca" and predictions.n_samples > MOST_FITTED_ROWS else method


def _same_limits(metric: Metric, method: str, key: str) -> Hashable:
    """Return what the limits depend on: of debiased ones, the rows and bins alone."""
    if method != "debiased":
        return key
    if isinstance(metric, Root):
        return metric
    lift = next((kind for kind in (Classwise, PerPredictedClass, TopLabel) if isinstance(metric, kind)), None)
    return lift, repr(bins_of(metric))
