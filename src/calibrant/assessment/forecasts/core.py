"""Everything a report needs to know about one set of predictive distributions."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant import __version__
from calibrant._border.checks import check_count
from calibrant._typing import FloatArray, Progress, Rng
from calibrant.assessment.forecasts.transforms import Transforms, all_transforms
from calibrant.assessment.forecasts.words import judge
from calibrant.assessment.verdict import TOLERANCE, check_tolerance
from calibrant.curves import pit_histogram, quantile_curve, spread_curve
from calibrant.forecasts import Forecasts, Normal
from calibrant.hypotest.base import monte_carlo_pvalue
from calibrant.metrics import FORECAST_METRICS, Metric
from calibrant.metrics.forecast_base import level_array
from calibrant.results import Estimate, ForecastAssessment, TestResult

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


PAIRED_ROWS, PAIRED_ROWS_OF_OTHERS = 2000, 300
"""Rows that kernel errors compare in pairs, at most: of normals, and of laws that take far longer."""


def assess_forecasts(
    forecasts: Forecasts,
    *,
    name: str = "forecasts",
    n_resamples: int = 999,
    tolerance: float = TOLERANCE,
    rng: Rng = None,
    progress: Progress | None = None,
) -> ForecastAssessment:
    r"""Measure, test and judge one set of predictive distributions.

    Parameters
    ----------
    forecasts : Forecasts
    name : str, default="forecasts"
        What to call them in tables.
    n_resamples : int, default=999
        Redraws in the test behind the verdict.
    tolerance : float, default=0.02
        The largest error that does not matter, in units of a probability: the verdict says whether the error is shown
        to be within it, or beyond.
    rng : Generator, int or None
    progress : callable, optional
        Called with (steps done, steps in all); a step is a metric, or the test.

    Returns
    -------
    ForecastAssessment

    Notes
    -----
    The test compares the mean absolute calibration error of quantiles (MACE) with its values for targets that are drawn
    from the forecasts. Their transforms :math:`F_i(y_i)` are independent and uniform for any laws, so that
    uniform numbers are drawn in place of targets, and the test stays exact. Where a law has atoms the transform of
    each row is randomised once, and an ensemble counts as calibrated if the target is exchangeable with its members.

    Of vectors every coordinate is tested alone, of normal ones also the distance from the mean in units of the
    covariance; the largest error is shown, and its p-value is multiplied by the number of tests (Bonferroni).

    What no transform shows, the test cannot see: forecasts of the overall law of the targets pass. Kernel errors and
    scores among the metrics tell. Kernel errors are computed on at most 2000 rows, evenly spread, or 300 of laws other
    than `Normal`; the details say so.

    Examples
    --------
    >>> from calibrant.forecasts import Normal
    >>> means = np.linspace(0.0, 5.0, 500)
    >>> targets = means + np.random.default_rng(0).normal(size=500)
    >>> assess_forecasts(Forecasts(Normal(means, 0.5), targets), rng=0).verdict.code
    'over-confident'
    """
    if not isinstance(forecasts, Forecasts):
        raise TypeError(f"assess_forecasts takes Forecasts, but got {type(forecasts).__name__}.")
    check_count(n_resamples, "n_resamples")
    check_tolerance(tolerance)
    law = forecasts.distribution
    suited = _suited(forecasts)
    tell = progress or (lambda _done, _total: None)
    metrics: dict[str, Estimate] = {}
    for key, metric in suited.items():
        metrics[key] = _estimate(metric, forecasts)
        tell(len(metrics), len(suited) + 1)
    present = forecasts.take(np.flatnonzero(forecasts.weights > 0))
    generator = np.random.default_rng(rng)
    test, worst = redraw_test(all_transforms(present, generator), n_resamples, generator)
    tell(len(suited) + 1, len(suited) + 1)
    return ForecastAssessment(
        name=name,
        n_samples=forecasts.n_samples,
        law=type(law).__name__,
        n_dimensions=law.dim,
        verdict=judge(worst, test, tolerance),
        metrics=metrics,
        test=test,
        pit=pit_histogram(forecasts) if law.has_cdf else None,
        quantiles=quantile_curve(forecasts) if law.has_cdf else None,
        intervals=quantile_curve(forecasts, form="interval") if law.has_cdf else None,
        spread=spread_curve(forecasts) if not law.event_shape and np.isfinite(law.sd()).all() else None,
        settings={
            "version": __version__,
            "resamples": n_resamples,
            "seed": rng if isinstance(rng, int) else None,
            "weighted": forecasts.is_weighted,
            "tolerance": tolerance,
        },
    )


def _suited(forecasts: Forecasts) -> dict[str, Metric]:
    n_weighted = int((forecasts.weights > 0).sum())
    return {
        key: metric
        for key, metric in FORECAST_METRICS.items()
        if metric.suits(forecasts) and metric.least_rows <= n_weighted
    }


def _estimate(metric: Metric, forecasts: Forecasts) -> Estimate:
    most = PAIRED_ROWS if isinstance(forecasts.distribution, Normal) else PAIRED_ROWS_OF_OTHERS
    present = np.flatnonzero(forecasts.weights > 0)
    if metric.family != "kernel" or len(present) <= most:
        return metric.estimate(forecasts)
    rows = present[np.linspace(0, len(present) - 1, most).astype(np.int64)]
    estimate = metric.estimate(forecasts.take(rows))
    return replace(estimate, details={**estimate.details, "rows": most})
