"""Limits of fitted coefficients, ratios and areas from the influence of each row (the sandwich)."""

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
"""Metrics that give the influence of every row."""

Influential: TypeAlias = CoxSlope | CoxIntercept | InTheLarge | ObservedExpectedRatio | SelectiveMetric

SEPARATED = (
    "a threshold on the predictions separates the outcomes, or almost does, or all predictions are equal: no one line "
    "is best"
)
"""Why slope and intercept are undetermined."""

ONE_OUTCOME = "only one of the two outcomes occurs"
"""Why the other metrics are undetermined; the outcomes of areas are right and wrong answers."""


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
    approximation: the sandwich of Huber and White. If rows come in clusters, the influences are summed by cluster
    first. The quantiles are Student's; for O/E, a ratio of sums, corrected for skewness (`StudentLaw`).

    Areas under risk-coverage curves are functions of the weights of the rows, and the influences are their derivatives.
    Their limits are corrected for skewness too, since errors of a few confident rows weigh most.

    References
    ----------
    P. J. Huber, "The behavior of maximum likelihood estimates under nonstandard conditions", Berkeley Symposium 1967.
    H. White, "Maximum likelihood estimation of misspecified models", Econometrica 50 (1982).
    """
    return influence_law(data, metric, bootstrap).limits(level)


def influence_law(data: Predictions, metric: Influential, bootstrap: Bootstrap) -> StudentLaw:
    """Return the law of the value of a metric."""
    _check_determined(data, metric)
    return _law(metric(data), metric.influence(data), data, metric, bootstrap)


def influence_difference(
    first: Predictions, second: Predictions, metric: Influential, bootstrap: Bootstrap
) -> StudentLaw:
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
    skewed = isinstance(metric, (ObservedExpectedRatio, SelectiveMetric))
    return law_of_sum(value, sums[:, 0], sums[:, 1], skewed=skewed, copies=copies)


def undetermined(data: Predictions, metric: Metric) -> str:
    """Say why the data do not determine a finite value of the metric; empty if they do."""
    view = metric.view(data)
    if isinstance(metric, (CoxSlope, CoxIntercept)):
        return SEPARATED if has_no_best_line(view) else ""
    hits = view.labels[view.weights > 0] == 1
    return ONE_OUTCOME if hits.all() or not hits.any() else ""


def _check_determined(data: Predictions, metric: Influential) -> None:
    if reason := undetermined(data, metric):
        raise InputError(f"{metric!r} has no limits: {reason}.")
