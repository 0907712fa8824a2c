"""Everything a report needs to know about one set of predictive distributions."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypedDict

import numpy as np

from calibrant import __version__
from calibrant._border.checks import check_count
from calibrant._border.types import IntArray, Progress, Rng
from calibrant.assessment.forecasts.limits import LEVEL, limits_of, range_seed
from calibrant.assessment.forecasts.verdict import judge
from calibrant.assessment.verdict import TOLERANCE, check_tolerance
from calibrant.assessment.work import Steps, rows_by_group
from calibrant.curves import pit_histogram, quantile_curve, spread_curve
from calibrant.forecasts import Forecasts, Normal
from calibrant.hypotest import OmnibusTest, holm
from calibrant.hypotest.forecasts.omnibus import run_on_forecasts
from calibrant.hypotest.forecasts.transforms import interval_level
from calibrant.metrics import Metric
from calibrant.metrics.forecast_table import central_pairs, known_levels, suited_metrics
from calibrant.results import Estimate, ForecastAssessment, Interval, PITHistogram, QuantileCurve, SpreadCurve
from calibrant.results.forecasts import AT_LEAST

TESTED = "mace"
"""The error that the test behind the verdict is about, in the table of metrics."""

OF_GROUPS = ("crps-fair", "crps", "interval-coverage", "mace")
"""What is measured of every group: there may be thousands of groups."""

PAIRED_ROWS, PAIRED_ROWS_OF_OTHERS = 2000, 300
"""Rows that kernel errors compare in pairs, at most: of normals, and of laws that take far longer."""


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
        A group for each row; every group has a verdict as well, and a few metrics.
    tolerance : float, default=0.02
        The largest error that does not matter, in units of a probability: the verdict says whether the error is shown
        to be within it, or beyond.
    rng : Generator, int or None
    progress : callable, optional
        Called with (steps done, steps in all); a step is a metric, its limits, the test, or a group.

    Returns
    -------
    ForecastAssessment

    Notes
    -----
    The test is the omnibus test, `calibrant.hypotest.OmnibusTest`: centre, spread, shape and quantiles of the
    transforms :math:`F_i(y_i)`, and trends of centre and spread over the forecasts. For targets that are drawn from
    the forecasts the transforms are independent and uniform for any laws, so that uniform numbers are drawn in place of
    targets, and the test stays exact. An ensemble counts as calibrated if the target is exchangeable with its members:
    then all ranks are equally likely. Where a target equals a member, or a law has an atom there, the tie is broken at
    random by numbers made of the data, so that a seed does not matter.

    Of vectors every coordinate is tested alone, of normal ones also the distance from the mean in units of the
    covariance; the one with the smallest p-value is shown, multiplied by the number of tests (Bonferroni).

    The size of the error is the mean absolute calibration error of quantiles (MACE), beside its values by chance in
    the same redraws. What no transform shows, the test cannot see: forecasts of the overall law of the targets pass.
    Kernel errors and scores among the metrics tell. Kernel errors are computed on at most 2000 rows, evenly spread, or
    300 of laws other than `Normal`; the details say so.

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
    groups = {} if by is None else _split(forecasts, by)
    suited = suited_metrics(forecasts)
    steps = Steps(1 + 2 * len(suited) + len(groups), progress)
    generator = np.random.default_rng(rng)
    found = _judged(forecasts, name, n_resamples, tolerance, generator)
    steps.add(1)
    metrics, limits = _measured(suited, forecasts, found, range_seed(rng), steps)
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
            "version": __version__,
            "resamples": n_resamples,
            "seed": rng if isinstance(rng, int) else None,
            "weighted": forecasts.is_weighted,
            "tolerance": tolerance,
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
    """Return the values of the metrics, and what is known about their limits and about chance."""
    metrics, limits = dict[str, Estimate](), dict[str, Interval]()
    for key, metric in suited.items():
        if key == TESTED:
            metrics[key], limits[key] = _as_judged(metric, forecasts, judged)
            steps.add(1)
            steps.add(1)  # Its limits.
            continue
        rows = _compared_rows(metric, forecasts)
        some = forecasts if rows is None else forecasts.take(rows)
        found = metric.estimate(some)
        metrics[key] = found if rows is None else replace(found, details={**found.details, "rows": len(rows)})
        steps.add(1)
        known = limits_of(metric, some, found.value, seed)
        if known is not None:
            limits[key] = known
        steps.add(1)
    return metrics, limits


def _as_judged(metric: Metric, forecasts: Forecasts, judged: ForecastAssessment) -> tuple[Estimate, Interval]:
    """Return the error that the verdict is about, with its limits and its range by chance: one number everywhere."""
    verdict = judged.verdict
    found = metric.estimate(forecasts)
    known = Interval(
        name=found.name,
        value=verdict.error,
        low=verdict.low,
        high=verdict.high,
        level=LEVEL,
        method="none" if verdict.low is None else AT_LEAST,
        expected=verdict.expected,
        null=(0.0, verdict.detectable),
        reason=verdict.reason,
    )
    return replace(found, value=verdict.error), known


def _compared_rows(metric: Metric, forecasts: Forecasts) -> IntArray | None:
    """Return the rows that a kernel error is computed on if not on all."""
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
    """Return the figures that the laws have what is needed for; of columns of quantiles, at their own levels."""
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


def _split(forecasts: Forecasts, by: object) -> dict[str, Forecasts]:
    parts = {name: forecasts.take(rows) for name, rows in rows_by_group(by, forecasts.n_samples).items()}
    return {name: part for name, part in parts.items() if part.weights.any()}
