"""Limits of fitted coefficients, ratios and areas from the influence of each row: the sandwich."""

from typing import TypeAlias

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.exceptions import InputError
from calibrant.intervals.limits import Limits
from calibrant.intervals.student import StudentLaw, law_of_sum
from calibrant.metrics import CoxIntercept, CoxSlope, InTheLarge, Metric, ObservedExpectedRatio
from calibrant.metrics.logistic_lines import has_no_best_line
from calibrant.metrics.selective import SelectiveMetric
from calibrant.predictions import Predictions
from calibrant.resampling.bootstrap import Bootstrap

INFLUENTIAL = (CoxSlope, CoxIntercept, InTheLarge, ObservedExpectedRatio, SelectiveMetric)
"""Metrics that say what every row contributes to their error."""

Influential: TypeAlias = CoxSlope | CoxIntercept | InTheLarge | ObservedExpectedRatio | SelectiveMetric

SEPARATED = (
    "a threshold on the predictions separates the outcomes, or almost does, or all predictions are equal: no one line "
    "is best"
)


def sandwich(
    data: Predictions,
    metric: Influential,
    level: float,
    bootstrap: Bootstrap,
    rng: np.random.Generator,  # noqa: ARG001 (nothing is random)
) -> Limits:
    r"""Return the limits of a coefficient of recalibrated log-odds, of O/E, or of an area, from one pass over the rows.

    The value solves :math:`\sum_i w_i \psi_i(\theta) = 0`. To first order its error is :math:`\sum_i u_i` with the
    influences :math:`u_i = A^{-1} w_i \psi_i(\hat\theta)` and :math:`A = -\sum_i w_i \psi_i'(\hat\theta)`, so that
    :math:`\sum_i u_i^2` is its variance, whether the line is the true law of the outcomes or only the best
    approximation: the sandwich of Huber and White. Of rows in clusters, the influences are summed by cluster first.
    The quantiles are Student's; for O/E, a ratio of sums, corrected for skewness (`StudentLaw`).

    Areas under risk-coverage curves are functions of the weights of the rows, whose derivatives are the influences.
    They are corrected for skewness too: the errors of few confident rows weigh most.

    References
    ----------
    P. J. Huber, "The behavior of maximum likelihood estimates under nonstandard conditions", Berkeley Symposium 1967.
    H. White, "Maximum likelihood estimation of misspecified models", Econometrica 50 (1982).
    """
    return influence_law(data, metric, bootstrap).limits(level)


def influence_law(data: Predictions, metric: Influential, bootstrap: Bootstrap) -> StudentLaw:
    """Return the law of the value."""
    _check_overlap(data, metric)
    return _law(metric(data), metric.influence(data), data, metric, bootstrap)


def influence_difference(
    first: Predictions, second: Predictions, metric: Influential, bootstrap: Bootstrap
) -> StudentLaw:
    """Return the law of the difference of the values, second minus first, of models that predict the same rows.

    The influences are subtracted row by row, so that what both models have in common cancels.
    """
    _check_overlap(first, metric)
    _check_overlap(second, metric)
    return _law(
        metric(second) - metric(first), metric.influence(second) - metric.influence(first), first, metric, bootstrap
    )


def _law(value: float, rows: FloatArray, data: Predictions, metric: Metric, bootstrap: Bootstrap) -> StudentLaw:
    sums = bootstrap.cluster_sums(np.column_stack([rows, data.weights / data.weights.max()]))
    copies = 1.0 if data.copies is None else data.copies
    skewed = isinstance(metric, (ObservedExpectedRatio, SelectiveMetric))
    return law_of_sum(value, sums[:, 0], sums[:, 1], skewed=skewed, copies=copies)


def is_separated(data: Predictions, metric: Metric) -> bool:
    """Whether the metric has no finite value, or none that the data determine."""
    view = metric.view(data)
    if not isinstance(metric, (CoxSlope, CoxIntercept)):
        hits = view.labels[view.weights > 0] == 1
        return bool(hits.all() or not hits.any())
    return has_no_best_line(view)


def _check_overlap(data: Predictions, metric: Influential) -> None:
    if is_separated(data, metric):
        raise InputError(f"{metric!r} has no limits: {SEPARATED}.")
