"""Measure, test and judge one set of predictive distributions."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypedDict

import numpy as np

from calibrant._border.settings import check_count
from calibrant._border.types import IntArray, Progress, Rng
from calibrant.assessment.forecasts.limits import assessed_interval
from calibrant.assessment.forecasts.verdict import judge
from calibrant.assessment.size import CONFIDENCE
from calibrant.assessment.verdict import TOLERANCE, check_tolerance
from calibrant.assessment.work import Steps, rows_by_group, settings_of
from calibrant.curves import pit_histogram, quantile_curve, spread_curve
from calibrant.forecasts import Forecasts, Normal
from calibrant.hypotest import OmnibusTest, holm
from calibrant.hypotest.omnibus.forecasts import run_on_forecasts
from calibrant.hypotest.omnibus.transforms import interval_level
from calibrant.metrics import Metric
from calibrant.metrics.forecasts.table import central_pairs, known_levels, suited_metrics
from calibrant.resampling.seeds import as_seed
from calibrant.results import Estimate, ForecastAssessment, Interval, PITHistogram, QuantileCurve, SpreadCurve
from calibrant.results.words.metrics import AT_LEAST

TESTED = "mace"
"""Name of the metric that measures the error in the verdict."""

OF_GROUPS = ("crps-fair", "crps", "interval-coverage", "mace")
"""Metrics of every group: few, as there may be thousands of groups."""

PAIRED_ROWS, PAIRED_ROWS_OF_OTHERS = 2000, 300
"""Largest number of rows that kernel errors compare in pairs: of normals, and of distributions that take longer."""


def assess_forecasts(
    forecasts: Forecasts,
    *,
    name: str = "forecasts",
    n_resamples: int = 999,
    by: object = None,
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
    by : array-like of shape (n,), optional
        The group of each row; every group gets a verdict as well, and a few metrics.
    tolerance : float, default=0.02
        The largest error that does not matter, in units of a probability: the verdict says whether the error is shown
        to be within or beyond it.
    rng : Generator, int or None
    progress : callable, optional
        Called with (steps done, steps in all); a step is a metric, its limits, the test, or a group.

    Returns
    -------
    ForecastAssessment

    Notes
    -----
    The test is the omnibus test, `calibrant.hypotest.OmnibusTest`: centre, spread, shape and quantiles of the
    transforms :math:`F_i(y_i)`, and trends of centre and spread over the forecasts. If targets are drawn from the
    forecasts, the transforms are independent and uniform for any distribution; so uniform numbers are drawn instead of
    targets, and the test is exact. An ensemble counts as calibrated if the target is exchangeable with its members:
    then all ranks are equally likely. If a target equals a member, or an atom of the distribution, the tie is broken at
    random by numbers derived from the data, so that the seed does not matter.

    For vectors every coordinate is tested by itself, and for normal ones also the distance from the mean in units of
    the covariance; the smallest p-value is shown, multiplied by the number of tests (Bonferroni).

    The size of the error is the mean absolute calibration error of quantiles (MACE), beside its values by chance in
    the same redraws. The test cannot see errors that transforms do not show: if every forecast is the overall
    distribution of the targets, it passes. Kernel errors and scores among the metrics reveal such errors. Kernel errors
    are computed on at most 2000 rows, evenly spread, or 300 for distributions other than `Normal`; the details say so.

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
    groups = {key: forecasts.take(rows) for key, rows in rows_by_group(by, forecasts).items()}
    suited = suited_metrics(forecasts)
    steps = Steps(1 + 2 * len(suited) + len(groups), progress)
    generator = np.random.default_rng(rng)
    found = _judged(forecasts, name, n_resamples, tolerance, generator)
    steps.add(1)
    metrics, limits = _measured(suited, forecasts, found, as_seed(rng), steps)
    parts = {}
    for key, part in groups.items():
        own = {each: suited[each].estimate(part) for each in OF_GROUPS if each in suited}
        parts[key] = replace(_judged(part, key, n_resamples, tolerance, generator), metrics=own)
        steps.add(1)
    return replace(
        found,
        metrics=metrics,
        limits=limits,
        groups=parts,
        adjusted=holm({key: part.test.pvalue for key, part in parts.items()}) if parts else {},
        **_curves(forecasts),
        settings={
            **settings_of(forecasts, n_resamples, tolerance, rng),
            "interval": interval_level(forecasts.distribution),
        },
    )


def _judged(
    forecasts: Forecasts, name: str, n_resamples: int, tolerance: float, rng: np.random.Generator
) -> ForecastAssessment:
    """Return the verdict and the test behind it."""
    present = forecasts.take(np.flatnonzero(forecasts.weights > 0))
    kind = OmnibusTest(n_resamples)
    test, worst = run_on_forecasts(present, repr(kind), n_resamples, rng)
    test = replace(test, about=kind.about_data(forecasts))
    return ForecastAssessment(
        name=name,
        n_samples=forecasts.n_samples,
        law=type(forecasts.distribution).__name__,
        n_dimensions=forecasts.distribution.dim,
        verdict=judge(worst, test, tolerance),
        metrics={},
        test=test,
    )


def _measured(
    suited: Mapping[str, Metric],
    forecasts: Forecasts,
    judged: ForecastAssessment,
    seed: int,
    steps: Steps,
) -> tuple[dict[str, Estimate], dict[str, Interval]]:
    """Return the values of the metrics, with their limits and ranges by chance."""
    metrics, limits = dict[str, Estimate](), dict[str, Interval]()
    known: Interval | None
    for key, metric in suited.items():
        if key == TESTED:
            metrics[key], known = _as_judged(metric, forecasts, judged)
            steps.add(1)
        else:
            rows = _compared_rows(metric, forecasts)
            some = forecasts if rows is None else forecasts.take(rows)
            found = metric.estimate(some)
            metrics[key] = found if rows is None else replace(found, details={**found.details, "rows": len(rows)})
            steps.add(1)
            known = assessed_interval(metric, some, found.value, seed)
        if known is not None:
            limits[key] = known
        steps.add(1)
    return metrics, limits


def _as_judged(metric: Metric, forecasts: Forecasts, judged: ForecastAssessment) -> tuple[Estimate, Interval]:
    """Return the error of the verdict, with its limits and its range by chance, so that all screens show one number."""
    verdict = judged.verdict
    found = metric.estimate(forecasts)
    known = Interval(
        name=found.name,
        value=verdict.error,
        low=verdict.low,
        high=verdict.high,
        level=CONFIDENCE,
        method="none" if verdict.low is None else AT_LEAST,
        expected=verdict.expected,
        null=(0.0, verdict.detectable),
        reason=verdict.reason,
    )
    return replace(found, value=verdict.error), known


def _compared_rows(metric: Metric, forecasts: Forecasts) -> IntArray | None:
    """Return the rows on which a kernel error is computed, or None for all rows and for other metrics."""
    most = PAIRED_ROWS if isinstance(forecasts.distribution, Normal) else PAIRED_ROWS_OF_OTHERS
    present = np.flatnonzero(forecasts.weights > 0)
    if metric.family != "kernel" or len(present) <= most:
        return None
    return present[np.linspace(0, len(present) - 1, most).astype(np.int64)]


class _Curves(TypedDict, total=False):
    """The figures of a `ForecastAssessment`."""

    pit: PITHistogram
    quantiles: QuantileCurve
    intervals: QuantileCurve
    spread: SpreadCurve


def _curves(forecasts: Forecasts) -> _Curves:
    """Return the figures that these distributions allow; for columns of quantiles, at their own levels."""
    law, found = forecasts.distribution, _Curves()
    levels = known_levels(law)
    if levels is not None:
        found["quantiles"] = quantile_curve(forecasts, levels)
        if pairs := central_pairs(levels):
            found["intervals"] = quantile_curve(forecasts, pairs, form="interval")
        return found
    if law.has_cdf:
        found["pit"] = pit_histogram(forecasts)
        found["quantiles"] = quantile_curve(forecasts)
        found["intervals"] = quantile_curve(forecasts, form="interval")
    if not law.event_shape and law.has_sd:
        found["spread"] = spread_curve(forecasts)
    return found
