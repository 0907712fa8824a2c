"""Limits of paired differences of metrics: percentiles of resamples, and better methods where they are known."""

from collections.abc import Hashable, Mapping
from typing import NamedTuple, TypeVar

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.intervals.by_chance import is_positive_by_chance
from calibrant.intervals.debiased import debiased_difference
from calibrant.intervals.limits import NO_WIDTH, Limits
from calibrant.intervals.means import hall_laws, tails
from calibrant.intervals.paired_shares import PairedShares
from calibrant.intervals.requirements import (
    CLUSTERS,
    DIFFERENT,
    FEWEST_DIFFERENT,
    FEWEST_OF_EITHER,
    INDEPENDENT,
    MANY,
    UNEQUAL,
    has_clusters,
    has_unequal_weights,
    rows_of_outcomes,
    too_few_wrong,
    too_thin,
    undetermined,
)
from calibrant.intervals.sandwich import influence_difference
from calibrant.intervals.squared_gaps import squared_gap
from calibrant.intervals.student import StudentLaw
from calibrant.metrics import Metric, Score
from calibrant.metrics.selective import SelectiveMetric
from calibrant.predictions import Predictions
from calibrant.resampling.bootstrap import Bootstrap

Key = TypeVar("Key", bound=Hashable)

NOT_CANCELLED = "chance adds more to the error of the better calibrated model; rms-debiased can have limits"
FEW_ANSWERS = f"at least {MANY} wrong answers are needed, but there are fewer"
NO_VALUE = (
    "one of the two has no value, as its outcomes are all alike, or a threshold on its predictions separates them"
)
BESIDE = "the percentiles lie on one side of it"


class Pair(NamedTuple):
    """A metric and two models that predict the same rows, for the difference of the second minus the first."""

    metric: Metric
    first: Predictions
    second: Predictions


class DifferenceLimits(NamedTuple):
    """Limits and two-sided p-value of a difference, with their method, or the reason why there are none."""

    low: float | None
    high: float | None
    pvalue: float
    method: str
    reason: str = ""

    @property
    def exclude_zero(self) -> bool:
        """Whether there are limits and they exclude 0."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


def unknown_difference(reason: str) -> DifferenceLimits:
    """Return the result for a difference without limits of known coverage: p-value 1, and the reason."""
    return DifferenceLimits(None, None, 1.0, "none", reason)


def percentiles(replicates: FloatArray, base: FloatArray, level: float) -> DifferenceLimits:
    """Return percentile limits of a difference, from the values of both models on shared bootstrap samples."""
    both = np.isinf(replicates) & np.isinf(base)  # Two infinite log losses do not differ.
    draws = np.subtract(replicates, base, out=np.zeros_like(base), where=~both)
    # An order statistic, not a mean of two, since values may be infinite.
    low, high = np.quantile(draws, tails(level), method="inverted_cdf").tolist()
    return DifferenceLimits(low, high, _tail_pvalue(draws), "percentile")


def _tail_pvalue(draws: FloatArray) -> float:
    """Return the two-sided p-value of 0 among draws, never 0."""
    beyond = min(int((draws >= 0).sum()), int((draws <= 0).sum()))
    return min(1.0, 2 * (1 + beyond) / (1 + len(draws)))


def around(limits: DifferenceLimits, value: float) -> DifferenceLimits:
    """Return the limits if they contain the value and have a width; otherwise none, with the reason."""
    if limits.low is None or limits.high is None or limits.low <= value <= limits.high:
        return of_some_width(limits)
    return unknown_difference(BESIDE)


def of_some_width(limits: DifferenceLimits) -> DifferenceLimits:
    """Return the limits, or none with the reason if they have no width."""
    if limits.low is None or limits.high is None or Limits(limits.low, limits.high).has_width:
        return limits
    return unknown_difference(NO_WIDTH)


def difference_limits(pairs: Mapping[Key, Pair], level: float, bootstrap: Bootstrap) -> dict[Key, DifferenceLimits]:
    """Return the limits of all differences that have a better method than percentiles, or none that is valid.

    `calibrant.compare` says which method is used for which metric, and what it needs.
    """
    found = {}
    for key, pair in pairs.items():
        missing = _what_is_missing(pair, bootstrap)
        known = unknown_difference(missing) if missing else _known(pair, level, bootstrap)
        if known is not None:
            found[key] = of_some_width(known)
    return found


def _known(pair: Pair, level: float, bootstrap: Bootstrap) -> DifferenceLimits | None:
    """Return limits by the method for the metric, or None if it has none but percentiles."""
    if squared_gap(pair.metric) is not None:
        gap = debiased_difference(pair.first, pair.second, pair.metric, level)
        return DifferenceLimits(gap.limits.low, gap.limits.high, gap.pvalue, "debiased")
    if "sandwich" in pair.metric.methods:
        law = influence_difference(pair.first, pair.second, pair.metric, bootstrap)
        return by_law(law, level, "sandwich")
    rows = _of_rows(pair)
    if rows is None:
        return None
    return mean_difference(rows, pair.first.weights, pair.metric, level, bootstrap)


def mean_difference(
    rows: FloatArray, weights: FloatArray, metric: Metric, level: float, bootstrap: Bootstrap
) -> DifferenceLimits:
    """Return the limits of the mean of finite differences of rows.

    A few rows that differ, or none, say little about how much other rows differ. Only shares have limits then, since no
    row of these can differ by more than 1 (`PairedShares`).
    """
    present = weights > 0
    if int(np.count_nonzero(rows[present])) < FEWEST_DIFFERENT:
        if metric.limits != "wilson" or bootstrap.clusters is not None:
            return unknown_difference(DIFFERENT)
        shares = PairedShares.of(rows[present], weights[present])
        return DifferenceLimits(*shares.limits(level), shares.pvalue(), "tango")
    (law,) = hall_laws(rows[:, None], weights, bootstrap)
    return of_some_width(by_law(law, level, "hall"))


def by_law(law: StudentLaw, level: float, method: str) -> DifferenceLimits:
    """Return the limits and the p-value of a difference, given its law."""
    low, high = law.limits(level)
    return DifferenceLimits(low, high, law.pvalue(), method)


def _what_is_missing(pair: Pair, bootstrap: Bootstrap) -> str:
    """Say what limits of a difference need and the data or the metric lack; empty if they lack nothing."""
    if is_positive_by_chance(pair.metric):
        return NOT_CANCELLED
    has_gaps = squared_gap(pair.metric) is not None
    if has_gaps and bootstrap.clusters is not None:
        return INDEPENDENT
    if not has_clusters(bootstrap):
        return CLUSTERS
    if has_unequal_weights(pair.first):
        return UNEQUAL
    both = (pair.first, pair.second)
    if "sandwich" in pair.metric.methods and (reasons := [r for p in both if (r := undetermined(p, pair.metric))]):
        return reasons[0]
    if isinstance(pair.metric, SelectiveMetric) and any(
        rows_of_outcomes(pair.metric.view(p))[0].observed < MANY for p in both
    ):
        return FEW_ANSWERS
    missing = [too_few_wrong(p, FEWEST_OF_EITHER) for p in both]
    if not all(missing) and has_gaps:
        missing = [too_thin(pair.metric, p) for p in both]
    return missing[0] if all(missing) else ""


def _of_rows(pair: Pair) -> FloatArray | None:
    """Return the differences of the scores of the rows; None if the metric is not a mean of finite scores."""
    if not isinstance(pair.metric, Score):
        return None
    # The score of a row of weight 0 may be infinite.
    first, second = (np.where(p.weights > 0, pair.metric.per_row(p), 0.0) for p in (pair.first, pair.second))
    return second - first if np.isfinite(first).all() and np.isfinite(second).all() else None
