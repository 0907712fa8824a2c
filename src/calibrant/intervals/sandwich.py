"""Limits of fitted coefficients, ratios and areas from the influence of each row (the sandwich)."""

import math
from collections.abc import Callable

import numpy as np

from calibrant._border.types import FloatArray
from calibrant._core.laws import normal_quantile
from calibrant._core.roots import root
from calibrant.exceptions import InputError
from calibrant.intervals.limits import Limits
from calibrant.intervals.requirements import FEWEST, MANY, rows_of_outcomes, undetermined
from calibrant.intervals.student import StudentLaw, law_of_sum
from calibrant.metrics import Metric
from calibrant.metrics.logistic import LogisticMetric
from calibrant.metrics.selective import SelectiveMetric
from calibrant.predictions import Predictions
from calibrant.resampling.bootstrap import Bootstrap

RAREST = 1e-200
"""Probability of a condition below which nothing is multiplied by more than 0."""


def sandwich(
    data: Predictions,
    metric: Metric,
    level: float,
    bootstrap: Bootstrap,
    rng: np.random.Generator,  # noqa: ARG001 (nothing is random)
) -> Limits:
    r"""Return the limits of a coefficient of recalibrated log-odds, of O/E, or of an area, from one pass over the rows.

    The value solves :math:`\sum_i w_i \psi_i(\theta) = 0`. To first order its error is :math:`\sum_i u_i` with the
    influences :math:`u_i = A^{-1} w_i \psi_i(\hat\theta)` and :math:`A = -\sum_i w_i \psi_i'(\hat\theta)`, so that
    :math:`\sum_i u_i^2` is its variance, whether the line is the true law of the outcomes or only the best
    approximation: the sandwich of Huber and White. If rows come in clusters, the influences are summed by cluster
    first. The quantiles are Student's; for O/E, a ratio of sums, corrected for skewness (`StudentLaw`).

    Areas under risk-coverage curves are functions of the weights of the rows, and the influences are their derivatives.
    Their limits are corrected for skewness too, since errors of a few confident rows weigh most. Such an area grows
    with the number N of wrong answers, and has limits only if N is at least m. If fewer are wrong on average, limits
    are given only in samples with unusually many, and would be too high. So the lower limit is multiplied by the ratio
    of two lower limits of a Poisson mean: the one that solves
    :math:`P(N \ge N_{observed} \mid N \ge m) = (1 - level) / 2`, and the one without the condition. The ratio is 0 for
    m wrong answers, and 1 for many.

    References
    ----------
    P. J. Huber, "The behavior of maximum likelihood estimates under nonstandard conditions", Berkeley Symposium 1967.
    H. White, "Maximum likelihood estimation of misspecified models", Econometrica 50 (1982).
    """
    limits = influence_law(data, metric, bootstrap).limits(level)
    if not isinstance(metric, SelectiveMetric):
        return limits
    wrong = rows_of_outcomes(metric.view(data))[0]
    fewest = FEWEST["sandwich"]
    least = fewest.observed if wrong.expected >= fewest.expected else MANY
    return Limits(limits.low * conditional_ratio(wrong.observed, least, (1 - level) / 2), limits.high)


def influence_law(data: Predictions, metric: Metric, bootstrap: Bootstrap) -> StudentLaw:
    """Return the law of the value of a metric."""
    _check_determined(data, metric)
    return _law(metric(data), metric.influence(data), data, metric, bootstrap)


def influence_difference(first: Predictions, second: Predictions, metric: Metric, bootstrap: Bootstrap) -> StudentLaw:
    """Return the law of the difference of the values, second minus first, of models that predict the same rows.

    The influences are subtracted row by row, so that errors common to both models cancel.
    """
    _check_determined(first, metric)
    _check_determined(second, metric)
    return _law(
        metric(second) - metric(first), metric.influence(second) - metric.influence(first), first, metric, bootstrap
    )


def _law(value: float, rows: FloatArray, data: Predictions, metric: Metric, bootstrap: Bootstrap) -> StudentLaw:
    sums = bootstrap.cluster_sums(np.column_stack([rows, data.weights / data.weights.max()]))
    copies = 1.0 if data.copies is None else data.copies
    return law_of_sum(value, sums[:, 0], sums[:, 1], skewed=not isinstance(metric, LogisticMetric), copies=copies)


def _check_determined(data: Predictions, metric: Metric) -> None:
    if reason := undetermined(data, metric):
        raise InputError(f"{metric!r} has no limits: {reason}.")


def conditional_ratio(count: float, least: float, tail: float, rows: float = math.inf) -> float:
    """Return the ratio of the lower limit of a mean count given that the count is at least `least` to the usual one.

    Counts are binomial, of this number of rows, or Poisson if there is no end of rows.

    Examples
    --------
    >>> round(conditional_ratio(12, 10, 0.025), 3), round(conditional_ratio(30, 10, 0.025), 3)
    (0.297, 1.0)
    >>> round(conditional_ratio(12, 10, 0.025, rows=20), 3), round(conditional_ratio(20, 10, 0.025, rows=20), 3)
    (0.458, 1.0)
    """
    if _condition_is_certain(count, least, tail):
        return 1.0
    probability, usual = _law_of_counts(count, tail, rows)

    def above(mean: float) -> float:
        return probability(count, mean) / probability(least, mean) - tail

    # Too few, if the method was requested by name; or so many that the condition makes no difference up to rounding.
    if count < least or above(usual) <= 0:
        return 1.0
    smallest = usual / 2
    while above(smallest) >= 0:
        smallest /= 2
        if probability(least, smallest) < RAREST:  # Below it, both probabilities may be 0.
            return 0.0
    return root(above, smallest, usual) / usual


def _law_of_counts(count: float, tail: float, rows: float) -> tuple[Callable[[float, float], float], float]:
    """Return the probability of at least k rows, given their mean number, and the usual lower limit of that mean."""
    from scipy.special import betainc, betaincinv, gammainc, gammaincinv

    if math.isinf(rows):
        return lambda k, mean: float(gammainc(k, mean)), float(gammaincinv(count, tail))
    return (
        lambda k, mean: float(betainc(k, rows - k + 1, mean / rows)),
        rows * float(betaincinv(count, rows - count + 1, tail)),
    )


def _condition_is_certain(count: float, least: float, tail: float) -> bool:
    r"""Return whether a count below `least` has a probability under 1e-9 for every mean down to the usual limit.

    By Chernoff's bound, :math:`P(N < m) \le \exp(m - \mu - m \ln(m / \mu))` for a mean :math:`\mu > m`, and the usual
    limit is at least :math:`N - (z + 1) \sqrt N`. So most limits need no `scipy.special`, which takes long to import.
    """
    mean = count - (normal_quantile(1 - tail) + 1) * math.sqrt(count)
    return mean > least and least - mean - least * math.log(least / mean) < math.log(1e-9)
