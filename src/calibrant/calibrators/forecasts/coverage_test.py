"""A test of the guarantee of conformal intervals, on rows that they were not fitted to."""

from typing import Literal

import numpy as np

from calibrant.exceptions import InputError
from calibrant.results import PredictionIntervals, TestResult


def coverage_test(
    intervals: PredictionIntervals, targets: object, *, alternative: Literal["less", "two-sided"] = "less"
) -> TestResult:
    r"""Test whether intervals cover new targets as often as they should.

    Parameters
    ----------
    intervals : PredictionIntervals
        By `ConformalIntervals`, of rows that are not those of the fit.
    targets : array-like of shape (n,)
    alternative : {"less", "two-sided"}, default="less"
        Whether only too little coverage counts, or also too much. Ties between scores make coverage larger, so that
        "less" stays valid with them.

    Returns
    -------
    TestResult
        Its statistic is the number of targets that are covered, its estimate their share. With groups it is about the
        one with the smallest p-value, which is multiplied by their number.

    Notes
    -----
    Given n rows of the fit and the rank k, the number of hits among m new rows has the beta-binomial law with
    parameters k and n + 1 - k, not the binomial one: all new rows share one threshold. With n = 200 and m = 400, the
    standard deviation of the share at level 0.9 is 0.026, not 0.015.

    Examples
    --------
    >>> from calibrant import Forecasts, Normal
    >>> from calibrant.calibrators.forecasts import ConformalIntervals
    >>> y = np.random.default_rng(0).normal(size=600)
    >>> f = Forecasts(Normal(np.zeros(600), 1.0), y)
    >>> found = ConformalIntervals().fit(f.take(slice(0, 200))).interval(f.distribution.take(slice(200, 600)))
    >>> result = coverage_test(found, y[200:])
    >>> result.estimate, round(result.pvalue, 2)
    (0.895, 0.41)
    """
    y = np.asarray(targets, dtype=np.float64)
    if y.shape != intervals.low.shape:
        raise InputError(f"targets must be {len(intervals.low)} numbers, one per interval, but have shape {y.shape}.")
    if alternative not in ("less", "two-sided"):
        raise InputError(f'alternative must be "less" or "two-sided", but is {alternative!r}.')
    hits = (intervals.low <= y) & (y <= intervals.high)
    rows = [(g, intervals.group == g) for g in range(len(intervals.ranks))]
    testable = [(g, own) for g, own in rows if own.any() and 0 < intervals.ranks[g] <= intervals.n_fitted[g]]
    if not testable:
        raise InputError(
            "the distribution of the coverage must be known, but it is not: intervals are infinite, or made with "
            'weights or by quantiles of each side. Use more rows, or tails="joint" without weights.'
        )
    found = [(_pvalue(intervals, g, int(hits[own].sum()), int(own.sum()), alternative), own, g) for g, own in testable]
    pvalue, own, g = min(found, key=lambda one: one[0])
    k, n = int(intervals.ranks[g]), int(intervals.n_fitted[g])
    return TestResult(
        name=f"beta-binomial test of coverage, alternative={alternative!r}",
        statistic=float(hits[own].sum()),
        pvalue=min(1.0, pvalue * len(found)),
        estimate=float(hits[own].mean()),
        details={"rows": int(own.sum()), "expected": k / (n + 1), "rank": k, "n_fitted": n, "tests": len(found)},
    )


def _pvalue(intervals: PredictionIntervals, group: int, hits: int, rows: int, alternative: str) -> float:
    from scipy.stats import betabinom

    k, n = int(intervals.ranks[group]), int(intervals.n_fitted[group])
    law = betabinom(rows, k, n + 1 - k)
    fewer = float(law.cdf(hits))
    if alternative == "less":
        return min(fewer, 1.0)
    return min(1.0, 2 * min(fewer, float(law.sf(hits - 1))))
