"""Evaluate prediction intervals on rows that they were not fitted to."""

from typing import Literal, NamedTuple

import numpy as np

from calibrant._border.numerals import count, counted, percent, pvalue
from calibrant._border.settings import check_option
from calibrant._border.types import BoolArray, FloatArray, Rng
from calibrant.calibrators.estimator import clone
from calibrant.calibrators.forecasts.conformal import Conformal
from calibrant.calibrators.forecasts.conformal_scores import SLACK
from calibrant.exceptions import InputError
from calibrant.forecasts import Forecasts
from calibrant.results import CoveredPart, DrawnIntervals, IntervalCheck, PredictionIntervals, TestResult

DRAWN = 60
"""Largest number of rows in a figure."""

BY_CHANCE = 0.95
LEAST_PVALUE = 0.05


def check_intervals(
    calibrator: Conformal, forecasts: Forecasts, column: object = None, *, rng: Rng = None
) -> IntervalCheck:
    """Fit intervals to one half of the rows, and evaluate them on the other.

    Parameters
    ----------
    calibrator : ConformalIntervals or WeightedConformalIntervals
        It is cloned, not changed.
    forecasts : Forecasts
        For rows that the model was not trained on.
    column : array-like of shape (n,), optional
        The groups of the rows or, for weighted intervals, their density ratios.
    rng : Generator, int or None
        Decides how the rows are halved.

    Returns
    -------
    IntervalCheck

    Examples
    --------
    >>> from calibrant.calibrators.forecasts import ConformalIntervals
    >>> from calibrant.forecasts import Normal
    >>> y = np.random.default_rng(0).normal(size=800)
    >>> found = check_intervals(ConformalIntervals(), Forecasts(Normal(np.zeros(800), 0.5), y), rng=0)
    >>> isinstance(found, IntervalCheck)
    True
    >>> round(found.total.before, 2), round(found.total.covered, 2), found.pvalue > 0.05
    (0.57, 0.88, True)
    """
    if not isinstance(calibrator, Conformal):
        raise TypeError(f"calibrator must give intervals, as ConformalIntervals() does, but is {calibrator!r:.60}.")
    if forecasts.n_samples < 2:
        raise InputError(
            f"forecasts must have at least two rows, one to fit and one to evaluate, but have {forecasts.n_samples}."
        )
    shuffled = np.random.default_rng(rng).permutation(forecasts.n_samples)
    middle = forecasts.n_samples // 2
    first, second = np.sort(shuffled[:middle]), np.sort(shuffled[middle:])
    values = None if column is None else np.asarray(column)
    if values is not None and len(values) != forecasts.n_samples:
        raise InputError(f"column must have {forecasts.n_samples} entries, one per row, but has {len(values)}.")
    more = [None if values is None else values[rows] for rows in (first, second)]
    fitted = clone(calibrator).fit(forecasts.take(first), more[0])
    return judge_intervals(fitted, forecasts.take(second), more[1])


def judge_intervals(fitted: Conformal, forecasts: Forecasts, column: object = None) -> IntervalCheck:
    """Evaluate fitted intervals on new rows.

    Parameters
    ----------
    fitted : ConformalIntervals or WeightedConformalIntervals
    forecasts : Forecasts
        For rows other than those of the fit.
    column : array-like of shape (n,), optional
        The groups of these rows or, for weighted intervals, their density ratios.

    Returns
    -------
    IntervalCheck
    """
    law, tail = forecasts.distribution, (1 - fitted.level) / 2
    found = fitted.interval(law, column)
    own = law.quantile([tail, 1 - tail])
    ends = _Ends(found, own[:, 0], own[:, 1], forecasts.targets, forecasts.weights)
    everything = np.ones(law.n, dtype=bool)
    names = [str(name) for name in getattr(fitted, "groups_", [""])]
    parts = [_part(ends, name, found.group == g, g) for g, name in enumerate(names) if (found.group == g).any()]
    grouped = names != [""]
    try:
        pvalue, reason = coverage_test(found, forecasts.targets).pvalue, ""
    except InputError as error:
        pvalue, reason = None, str(error)
    total = _part(ends, "", everything, None if grouped else 0)
    return IntervalCheck(
        headline=_headline(fitted, total, parts if grouped else [], pvalue, found.confidence),
        method=repr(fitted),
        level=fitted.level,
        confidence=found.confidence,
        guarantee=found.guarantee,
        total=total,
        parts=tuple(parts) if grouped else (),
        pvalue=pvalue,
        reason=reason,
        rows=_drawn(ends),
    )


class _Ends(NamedTuple):
    """The intervals before and after, with the targets and weights of their rows."""

    found: PredictionIntervals
    low_before: FloatArray
    high_before: FloatArray
    targets: FloatArray
    weights: FloatArray


def _part(ends: _Ends, name: str, rows: BoolArray, group: int | None) -> CoveredPart:
    """Return the coverage of some rows, all in one group of the fit unless `group` is None."""
    found, y, weights = ends.found, ends.targets[rows], ends.weights[rows]
    low, high = found.low[rows], found.high[rows]
    low_before, high_before = ends.low_before[rows], ends.high_before[rows]
    hits = (low <= y) & (y <= high)
    limits = _by_chance(found, int(rows.sum()), int(hits.sum()), group)
    return CoveredPart(
        name=name,
        n_fitted=int(found.n_fitted.sum() if group is None else found.n_fitted[group]),
        n_samples=int(rows.sum()),
        before=float(np.average((low_before <= y) & (y <= high_before), weights=weights)),
        covered=float(np.average(hits, weights=weights)),
        low=limits[0],
        high=limits[1],
        width_before=float(np.median(high_before - low_before)),
        width=float(np.median(high - low)),
        pvalue=limits[2],
    )


def _by_chance(
    found: PredictionIntervals, n_rows: int, n_hits: int, group: int | None
) -> tuple[float | None, float | None, float | None]:
    """Return the range by chance of the covered share, if the guarantee holds, and the p-value of the observed one."""
    rank = 0 if group is None else int(found.ranks[group])
    n = 0 if group is None else int(found.n_fitted[group])
    if not 0 < rank <= n:
        return None, None, None
    law, tail = coverage_law(n_rows, rank, n), (1 - BY_CHANCE) / 2
    # Quantiles of the number of covered rows, up to rounding of its distribution.
    low, high = (int(np.searchsorted(law, q * (1 - SLACK))) / n_rows for q in (tail, 1 - tail))
    return low, high, float(law[n_hits])


def _drawn(ends: _Ends) -> DrawnIntervals:
    """Return rows that are evenly spaced from the lowest to the highest forecast."""
    order = np.argsort(ends.low_before + ends.high_before, kind="stable")
    chosen = order[np.linspace(0, len(order) - 1, min(DRAWN, len(order))).round().astype(int)]
    return DrawnIntervals(
        target=ends.targets[chosen],
        low_before=ends.low_before[chosen],
        high_before=ends.high_before[chosen],
        low=ends.found.low[chosen],
        high=ends.found.high[chosen],
    )


def _headline(
    fitted: Conformal, total: CoveredPart, parts: list[CoveredPart], tested: float | None, confidence: float | None
) -> str:
    level = percent(fitted.level)
    rows = f"{count(total.n_samples)} targets that they were not fitted to"
    sure = "" if confidence is None else f" with a confidence of {percent(confidence)}"
    if not np.isfinite(total.width):
        few = (
            f"Intervals of {level}{sure} are infinite for most rows: {counted(total.n_fitted)} of the fit are too few."
        )
        return few + (" A group needs more of its own." if parts else "")
    held = (
        f"Intervals of {level}{sure} hold {percent(total.covered, 1)} of {rows}; the forecasts' own hold "
        f"{percent(total.before, 1)}."
    )
    if tested is None:
        return f"{held} Whether that is chance is not tested."
    if tested < LEAST_PVALUE:
        where = f" in {min(parts, key=_doubt).name}" if parts else ""
        doubt = "these rows may not be exchangeable with those of the fit"
        return f"{held} Fewer than promised{where}, beyond chance ({pvalue(tested)}): {doubt}."
    return f"{held} The promise is kept{' in every group' if parts else ''}, up to chance ({pvalue(tested)})."


def _doubt(part: CoveredPart) -> float:
    return 2.0 if part.pvalue is None else part.pvalue


def coverage_test(
    intervals: PredictionIntervals, targets: object, *, alternative: Literal["less", "two-sided"] = "less"
) -> TestResult:
    r"""Test whether intervals cover new targets as often as they should.

    Parameters
    ----------
    intervals : PredictionIntervals
        From `ConformalIntervals`, for rows other than those of the fit.
    targets : array-like of shape (n,)
    alternative : {"less", "two-sided"}, default="less"
        Whether only too little coverage counts, or also too much. Ties between scores increase coverage, so "less"
        stays valid with ties.

    Returns
    -------
    TestResult
        The statistic is the number of covered targets, the estimate their share. With groups, these belong to the group
        with the smallest p-value, which is multiplied by the number of groups.

    Notes
    -----
    With n rows in the fit and the rank k, the number of covered rows among m new ones has the beta-binomial
    distribution with parameters k and n + 1 - k, not the binomial one, because all new rows share one threshold. With
    n = 200 and m = 400, the standard deviation of the share at level 0.9 is 0.026, not 0.015.

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
    if np.isnan(y).any():
        raise InputError(f"targets must not be NaN, but row {int(np.isnan(y).argmax())} is. Drop such rows.")
    check_option(alternative, "alternative", "less", "two-sided")
    hits = (intervals.low <= y) & (y <= intervals.high)
    rows = [(g, intervals.group == g) for g in range(len(intervals.ranks))]
    testable = [(g, own) for g, own in rows if own.any() and 0 < intervals.ranks[g] <= intervals.n_fitted[g]]
    if not testable:
        raise InputError(
            "the distribution of the coverage must be known, but it is not: the intervals are infinite, or were fitted "
            'with weights, or with tails="each" and score="quantiles". Use more rows, or tails="joint" without weights.'
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
    rank, n_fitted = int(intervals.ranks[group]), int(intervals.n_fitted[group])
    fewer = float(coverage_law(rows, rank, n_fitted)[hits])
    if alternative == "less":
        return fewer
    # The probability of at most as many rows outside; 1 minus that of fewer inside would round to 0.
    more = float(coverage_law(rows, n_fitted + 1 - rank, n_fitted)[rows - hits])
    return min(1.0, 2 * min(fewer, more))


def coverage_law(rows: int, rank: int, n_fitted: int) -> FloatArray:
    """Return the probabilities that at most 0, 1, ..., all of some rows are covered by the threshold of a rank.

    The coverage is distributed as Beta(rank, n + 1 - rank), so the number of covered rows is beta-binomial.

    Examples
    --------
    >>> coverage_law(rows=2, rank=1, n_fitted=1).round(9).tolist()  # The share is uniform, and so is the number.
    [0.333333333, 0.666666667, 1.0]
    """
    from scipy.special import betaln  # Not `scipy.stats`, whose import takes most of a second.

    k, against = np.arange(rows + 1), n_fitted + 1 - rank
    logs = betaln(k + rank, rows - k + against) - betaln(rank, against) - betaln(rows - k + 1, k + 1)
    found = np.minimum(np.cumsum(np.exp(logs) / (rows + 1)), 1.0)
    found[-1] = 1.0
    return found
