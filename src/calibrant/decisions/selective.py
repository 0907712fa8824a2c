"""When to answer: risk at every coverage, and the largest coverage with a guaranteed error rate."""

from dataclasses import replace
from math import ceil, log

import numpy as np

from calibrant._border.numerals import percent
from calibrant._border.settings import check_level
from calibrant._border.types import FloatArray, IntArray
from calibrant.binning.ties import comparable, starts_of_ties
from calibrant.exceptions import InputError
from calibrant.intervals.methods import known_interval
from calibrant.metrics import Metric
from calibrant.metrics.costs import check_threshold
from calibrant.metrics.selective import AUGRC, AURC, ExcessAURC, answers
from calibrant.predictions import Predictions, check_predictions
from calibrant.predictions.two_arrays import as_data
from calibrant.resampling.bootstrap import Bootstrap
from calibrant.results import CoverageAtRisk, Interval, RiskCoverage, RiskStep
from calibrant.results.words.decisions import clopper_pearson

LEAST, STEP = 0.1, 0.05
"""The smallest coverage that is tested, and the step from one to the next."""

AREAS = (AURC(), ExcessAURC(), AUGRC())
"""Areas under the curve."""

MARGIN = 3
"""The first test has this many times the rows that suffice without any error, so that one early error is tolerated."""


def risk_coverage(
    data: object, y_prob: object = None, sample_weight: object = None, *, level: float = 0.95
) -> RiskCoverage:
    """Return the error rate among the most confident rows, for every share of rows that can be answered.

    Parameters
    ----------
    data : Predictions, or array-like of shape (n,)
        With `y_prob`, the labels. The confidence is that in the most probable class; predictions of the classes "wrong"
        and "right", such as language models' confidences in their answers, are confidences already.
    y_prob : array-like of shape (n, K) or (n,), optional
        Probabilities, if labels are given.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows, if labels are given. They are relative.
    level : float, default=0.95
        Level of the limits of areas under the curve.

    Returns
    -------
    RiskCoverage
        One point per distinct confidence: rows that tie are answered together.

    Examples
    --------
    >>> curve = risk_coverage([1, 0, 1, 1], [0.9, 0.8, 0.7, 0.7])
    >>> curve.coverage.tolist(), curve.risk.tolist()
    ([0.25, 0.5, 1.0], [0.0, 0.5, 0.25])
    """
    predictions = check_predictions(as_data(data, y_prob, sample_weight), "data")
    check_level(level)
    view = answers(predictions)
    ranked = _Ranked(view)
    mass = np.cumsum(ranked.sums(ranked.weights))
    wrong = np.cumsum(ranked.sums(ranked.weights * ranked.wrong))
    return RiskCoverage(
        thresholds=ranked.thresholds,
        coverage=mass / mass[-1],
        risk=wrong / mass,
        count=ranked.count,
        errors=ranked.errors,
        aurc=AURC()(predictions),
        excess_aurc=ExcessAURC()(predictions),
        augrc=AUGRC()(predictions),
        n_samples=int(ranked.count[-1]),
        n_distinct=len(ranked.thresholds),
        areas={metric.about().label: _with_limits(metric, predictions, level) for metric in AREAS},
    )


def _with_limits(metric: Metric, predictions: Predictions, level: float) -> Interval:
    value = metric(predictions)
    rng = np.random.default_rng(0)  # Nothing is random.
    found = known_interval(predictions, metric, value, level, Bootstrap(1), rng, null=None)
    return found or Interval(name=repr(metric), value=value, low=None, high=None, level=level, method="none")


def coverage_at_risk(
    data: object,
    y_prob: object = None,
    *,
    max_risk: float,
    confidence: float = 0.95,
    coverages: object = None,
) -> CoverageAtRisk:
    r"""Return the largest share of rows that can be answered with a guaranteed error rate of at most `max_risk`.

    Parameters
    ----------
    data : Predictions, or array-like of shape (n,)
        With `y_prob`, the labels; as for `risk_coverage`. Rows must be independent, of equal weight, and not used to
        tune the confidence. Several answers to one question are not independent.
    y_prob : array-like of shape (n, K) or (n,), optional
    max_risk : float
        The largest error rate among rows that are answered.
    confidence : float, default=0.95
        Probability that the guarantee holds, over the choice of the rows by which the threshold is found.
    coverages : array-like of shape (m,), optional
        Shares of the rows that are tested, chosen before looking at the labels. By default 0.1, 0.15, ..., 1, from the
        first with three times the rows that suffice without any error; if there are fewer distinct confidences, the
        coverages that they allow, from the first with that many rows.

    Returns
    -------
    CoverageAtRisk

    Notes
    -----
    The coverages are tested in ascending order, each at the full level :math:`\delta` = 1 - `confidence`, until one
    fails (a fixed sequence, as in Learn then Test). So the probability that any threshold is accepted whose error rate
    exceeds `max_risk` is at most :math:`\delta`. A coverage passes if the exact upper limit of Clopper and Pearson for
    k errors in m rows,

    .. math:: U = B^{-1}(1 - \delta;\; k + 1,\; m - k),

    is at most `max_risk`. The threshold is a confidence, applied as "at least"; rows that tie with it are answered
    together, so that the coverage may be larger than the tested one. The row that sets the threshold is left out of the
    count, as only the others are independent draws from the rows above it; of several that tie, one that is right is
    left out.

    The largest coverage whose observed error rate is at most `max_risk` would exceed it in about half of all cases.

    References
    ----------
    A. Angelopoulos et al., "Learn then test", arXiv 2110.01052 (2021). Y. Geifman, R. El-Yaniv, "Selective
    classification for deep neural networks", NeurIPS 2017.

    Examples
    --------
    >>> y = [1] * 200 + [0] * 50
    >>> found = coverage_at_risk(y, [0.9] * 200 + [0.6] * 50, max_risk=0.05)
    >>> found.threshold, found.coverage, found.errors
    (0.9, 0.8, 0)
    """
    predictions = check_predictions(as_data(data, y_prob), "data")
    check_threshold(max_risk, "max_risk")
    check_threshold(confidence, "confidence")
    view = answers(predictions)
    check_equal(view)
    ranked, delta = _Ranked(view), 1 - confidence
    n, needed = int(ranked.count[-1]), rows_needed(max_risk, delta)
    shares = _planned(ranked.count, needed) if coverages is None else _checked(coverages)
    steps = _tested(ranked, np.ceil(shares * n - 1e-9).astype(np.int64), max_risk, delta)
    passed = [step for step in steps if step.passed]
    nothing = CoverageAtRisk(
        max_risk=max_risk,
        confidence=confidence,
        n_distinct=len(ranked.thresholds),
        steps=tuple(steps),
        n_samples=n,
        threshold=None,
        coverage=0.0,
        count=0,
        errors=0,
        risk=None,
        high=None,
    )
    if passed:
        last = passed[-1]
        return replace(
            nothing,
            threshold=last.threshold,
            coverage=last.coverage,
            count=last.count,
            errors=last.errors,
            risk=last.errors / last.count,
            high=last.high,
        )
    first = steps[0]
    which = f"all {n} rows" if first.count == n else f"the {first.count} most confident rows"
    reason = (
        f"{needed + 1} rows without any error would be needed at least, but there are {n} in all"
        if n <= needed
        else f"of {which} {first.errors} {'is' if first.errors == 1 else 'are'} wrong, so that the error rate may be "
        f"as high as {percent(first.high)}, not {percent(max_risk)} ({clopper_pearson(first.count)})"
    )
    return replace(nothing, reason=reason)


def binomial_upper(errors: int, rows: int, delta: float) -> float:
    """Return the exact upper limit of an error rate, by Clopper and Pearson.

    Parameters
    ----------
    errors, rows : int
    delta : float
        Largest probability that the error rate exceeds the limit.

    Examples
    --------
    >>> round(binomial_upper(0, 59, 0.05), 4)  # 1 - 0.05^(1/59)
    0.0495
    """
    from scipy.special import betaincinv

    return 1.0 if errors >= rows else float(betaincinv(errors + 1, rows - errors, 1 - delta))


def rows_needed(max_risk: float, delta: float) -> int:
    """Return the number of rows without any error that suffices to show an error rate of at most `max_risk`.

    Examples
    --------
    >>> rows_needed(0.05, 0.05), rows_needed(0.01, 0.05)
    (59, 299)
    """
    return ceil(log(delta) / log(1 - max_risk) - 1e-9)


class _Ranked:
    """Rows in descending order of confidence, in groups of ties."""

    def __init__(self, view: Predictions) -> None:
        present = np.flatnonzero(view.weights > 0)
        confidence = comparable(view.positive[present])
        order = np.argsort(-confidence, kind="stable")
        self.weights = view.weights[present][order] / view.weights.max()
        self.wrong = (view.labels[present][order] == 0).astype(float)
        self.first = starts_of_ties(confidence[order])
        # The smallest of those that count as equal, so that "at least" includes all of them.
        self.thresholds: FloatArray = np.minimum.reduceat(view.positive[present][order], self.first)
        self.count: IntArray = np.append(self.first[1:], len(order)).astype(np.int64)
        self.errors: IntArray = np.cumsum(self.sums(self.wrong)).astype(np.int64)

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the sum over each group."""
        return np.asarray(np.add.reduceat(values, self.first))


def check_equal(view: Predictions) -> None:
    """Refuse rows of unequal weight, for which the number of errors is not binomial."""
    present = view.weights[view.weights > 0]
    if view.copies is not None or float(np.ptp(present)) > 1e-12 * float(present.max()):
        raise InputError(
            "a guaranteed error rate needs rows of equal weight, so that the number of errors is binomial, but the "
            "weights differ. Leave the weights out, or use risk_coverage, which gives no guarantee."
        )


def _planned(counts: IntArray, needed: int) -> FloatArray:
    """Return the coverages to test, which depend only on the number of rows and on ties, never on labels."""
    n = int(counts[-1])
    start = min(MARGIN * needed, max(needed + 1, n // 2))
    grid = np.arange(round(LEAST / STEP), round(1 / STEP) + 1) * STEP
    if len(counts) <= len(grid):
        grid = counts / n
    kept = grid[grid * n >= min(start, n) - 1e-9]
    return np.asarray(kept if len(kept) else [1.0])


def _checked(coverages: object) -> FloatArray:
    shares = np.unique(np.asarray(coverages, dtype=float))
    if not len(shares) or not (shares[0] > 0 and shares[-1] <= 1):
        raise InputError(f"coverages must be shares above 0 and up to 1, but are {coverages!r:.60}.")
    return shares


def _tested(ranked: _Ranked, ranks: IntArray, max_risk: float, delta: float) -> list[RiskStep]:
    """Test the thresholds at these ranks until one fails."""
    steps = []
    for group in np.unique(np.searchsorted(ranked.count, ranks)).tolist():
        count, errors = int(ranked.count[group]), int(ranked.errors[group])
        before = (int(ranked.count[group - 1]), int(ranked.errors[group - 1])) if group else (0, 0)
        all_wrong = errors - before[1] == count - before[0]
        high = max(binomial_upper(errors - all_wrong, count - 1, delta), errors / count)
        passed = high <= max_risk
        steps.append(
            RiskStep(
                threshold=float(ranked.thresholds[group]),
                coverage=count / int(ranked.count[-1]),
                count=count,
                errors=errors,
                high=high,
                passed=passed,
            )
        )
        if not passed:
            break
    return steps
