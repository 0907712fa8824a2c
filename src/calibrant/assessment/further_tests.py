"""Further tests than the one behind the verdict."""

from contextlib import suppress
from dataclasses import replace

import numpy as np

from calibrant.exceptions import InputError
from calibrant.hypotest import TESTS, CalibrationTest, ConsistencyTest
from calibrant.metrics import SKCE
from calibrant.predictions import Predictions
from calibrant.results import TestResult

MOST_PAIRED_ROWS = 2000
"""With more rows, the kernel test is that of blocks."""

REDRAWN_CELLS = 6 * 10**6
"""Labels redrawn for the kernel test, times classes: with more of them there are fewer redraws."""

FEWEST_RESAMPLES = 199
"""Smallest number of redraws for the kernel test, unless fewer are requested."""


def further_tests(predictions: Predictions, n_resamples: int, rng: np.random.Generator) -> dict[str, TestResult]:
    """Return further tests than the exact one, by name; those that refuse these predictions are left out.

    The kernel test is exact, by redrawn labels, up to 2000 rows; above it is that of blocks, where its law holds.
    """
    tests: dict[str, CalibrationTest] = {name: TESTS[name] for name in ("spiegelhalter", "cox", "ecce")}
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
