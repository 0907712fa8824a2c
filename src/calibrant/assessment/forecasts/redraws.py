"""The exact test behind the verdict: uniform transforms, redrawn."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._typing import FloatArray
from calibrant.assessment.forecasts.transforms import Transforms
from calibrant.hypotest.base import monte_carlo_pvalue
from calibrant.metrics.forecast_levels import level_array
from calibrant.results import TestResult

LEVELS = level_array(99)
"""Levels of MACE, as in the table of metrics: between two neighbours there is a hundredth of the transforms."""

DETECTABLE = 0.95
"""Errors below this quantile of those by chance could be chance."""


def redraw_test(
    checks: Sequence[Transforms], n_resamples: int, rng: np.random.Generator
) -> tuple[TestResult, Transforms]:
    """Return the test with the largest error, corrected for their number, and what it is about."""
    weights = checks[0].weights
    cells = np.array([np.searchsorted(LEVELS, check.values) for check in checks])
    errors = [_error(np.bincount(cell, weights, len(LEVELS) + 1)[None]) for cell in cells]
    worst = int(np.argmax(errors))
    observed = float(errors[worst][0])
    null = _redraws(weights, n_resamples * len(checks), rng)
    details: dict[str, Any] = {
        "smallest_pvalue": len(checks) / (1 + len(null)),
        "expected": float(null.mean()),
        "detectable": float(np.quantile(null, DETECTABLE)),
    }
    if len(checks) > 1:
        details |= {"subject": checks[worst].subject, "tests": len(checks)}
    result = TestResult(
        name=f"redraws of QuantileCalibration(), n_resamples={n_resamples}",
        statistic=observed,
        pvalue=min(1.0, len(checks) * monte_carlo_pvalue(observed, null)),
        estimate=observed,
        null=null,
        details=details,
    )
    return result, checks[worst]


def _redraws(weights: FloatArray, n_resamples: int, rng: np.random.Generator) -> FloatArray:
    """Return the errors of uniform transforms."""
    n_cells = len(LEVELS) + 1
    if np.all(weights == weights[0]):
        return _error(rng.multinomial(len(weights), np.full(n_cells, 1 / n_cells), size=n_resamples))
    redrawn = (rng.integers(0, n_cells, len(weights)) for _ in range(n_resamples))
    return _error(np.array([np.bincount(cell, weights, n_cells) for cell in redrawn]))


def _error(mass: NDArray[Any]) -> FloatArray:
    """Return MACE, given the weight of the transforms between neighbouring levels, (B, 100)."""
    below = np.cumsum(mass, axis=1)
    return np.abs(below[:, :-1] / below[:, -1:] - LEVELS).mean(axis=1)
