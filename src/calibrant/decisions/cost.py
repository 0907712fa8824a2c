"""The cost of decisions per row, what a fix saves, and the best threshold on uncalibrated predictions."""

from dataclasses import replace

import numpy as np

from calibrant._border.settings import check_level
from calibrant._border.types import FloatArray
from calibrant._core.laws import expit, normal_quantile
from calibrant.decisions.cells import Cells
from calibrant.decisions.curve import binary_predictions, check_same_rows, check_settings
from calibrant.intervals.methods import why_not
from calibrant.metrics import CoxIntercept, CoxSlope
from calibrant.metrics.costs import Costs, ExpectedCost, check_threshold
from calibrant.predictions import Predictions
from calibrant.resampling.bootstrap import Bootstrap
from calibrant.results import BestThreshold, DecisionCost, Interval

OUTCOMES = ("true_positive", "false_positive", "false_negative", "true_negative")

TOO_FEW = "too few rows contribute to it"


def expected_cost(
    data: object,
    y_prob: object = None,
    sample_weight: object = None,
    *,
    costs: Costs,
    threshold: float | None = None,
    prevalence: float | None = None,
    level: float = 0.95,
) -> DecisionCost:
    """Return the cost per row of acting where the probability of class 1 is at least a threshold.

    Parameters
    ----------
    data : Predictions of two classes, or array-like of shape (n,)
        With `y_prob`, the labels.
    y_prob : array-like of shape (n,) or (n, 2), optional
        Probabilities, if labels are given.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows, if labels are given. They are relative.
    costs : Costs
    threshold : float, optional
        Where acting begins; by default the one that is best for these costs if the probabilities are calibrated.
    prevalence : float, optional
        As for `decision_curve`.
    level : float, default=0.95

    Returns
    -------
    DecisionCost

    Notes
    -----
    The net benefit weighs a false positive by the costs, not by the odds of `threshold`, if that differs from the one
    that the costs imply.

    A threshold chosen because it costs least on these rows costs more on other rows than here. With calibrated
    probabilities the threshold of the costs is best, and nothing needs to be chosen.

    Examples
    --------
    >>> found = expected_cost([1, 0, 0, 1], [0.9, 0.3, 0.1, 0.4], costs=Costs(1, 4))
    >>> found.threshold, found.cost.value, found.treat_all, found.treat_none
    (0.2, 0.25, 0.5, 2.0)
    >>> found.net_benefit.value, found.net_benefit_of_all  # (2.0 - 0.25) / 4 and (2.0 - 0.5) / 4
    (0.4375, 0.375)
    """
    predictions = binary_predictions(data, y_prob, sample_weight)
    check_settings(prevalence, level)
    metric = ExpectedCost(costs, threshold)
    cells = Cells.of([predictions], np.array([metric.cut]), prevalence)
    acts, event = cells.acts(1)[:, 0] == 1, cells.event == 1
    own, everyone, nobody = (costs.per_row(who, event) for who in (acts, np.ones_like(acts), np.zeros_like(acts)))
    worth = acts * np.where(event, 1.0, -costs.exchange_rate)
    pi = cells.prevalence
    shares = [float(cells.moments[0] @ group) for group in (acts & event, acts & ~event, ~acts & event, ~acts & ~event)]
    return DecisionCost(
        threshold=metric.cut,
        best_if_calibrated=costs.threshold,
        costs={name: float(getattr(costs, name)) for name in OUTCOMES},
        cost=_interval("cost per row", cells, own, level),
        treat_all=float(cells.moments[0] @ everyone),
        treat_none=float(cells.moments[0] @ nobody),
        over_all=_interval("cost less that of acting on all", cells, own - everyone, level),
        over_none=_interval("cost less that of acting on none", cells, own - nobody, level),
        exchange_rate=costs.exchange_rate,
        net_benefit=_interval("net benefit", cells, worth, level),
        net_benefit_of_all=float(pi - costs.exchange_rate * (1 - pi)),
        shares=dict(zip(OUTCOMES, shares, strict=True)),
    )


def cost_difference(
    before: Predictions,
    after: Predictions,
    costs: Costs,
    *,
    threshold: float | None = None,
    prevalence: float | None = None,
    level: float = 0.95,
) -> Interval:
    """Return the cost per row after a fix minus the cost before, paired by rows.

    Parameters
    ----------
    before, after : Predictions of two classes
        Predictions for the same rows in the same order; those after the fix by fits to other rows.
    costs : Costs
    threshold : float, optional
        Where acting begins before the fix; by default at the threshold of the costs, as it does after the fix.
    prevalence, level
        As for `expected_cost`.

    Returns
    -------
    Interval

    Examples
    --------
    >>> before = Predictions([0.9, 0.3, 0.1, 0.4], labels=[1, 0, 0, 1])
    >>> after = Predictions([0.9, 0.1, 0.1, 0.4], labels=[1, 0, 0, 1])
    >>> cost_difference(before, after, Costs(1, 4)).value  # One false positive less.
    -0.25
    """
    check_settings(prevalence, level)
    check_same_rows(before, after)
    first = ExpectedCost(costs, threshold)
    # The thresholds before and after may differ.
    cuts = np.unique([first.cut, costs.threshold])
    cells = Cells.of([before, after], cuts, prevalence)
    acts = [cells.place[i] > np.searchsorted(cuts, cut) for i, cut in enumerate((first.cut, costs.threshold))]
    one, two = (costs.per_row(who, cells.event == 1) for who in acts)
    return _interval("change of the cost per row", cells, two - one, level)


def _interval(name: str, cells: Cells, values: FloatArray, level: float) -> Interval:
    """Return the mean of the values of cells, (C,), with limits."""
    mean = cells.means(values[:, None])
    low, high = (float(limit[0]) for limit in mean.limits(level))
    known = bool(mean.known[0])
    return Interval(
        name=name,
        value=float(mean.value[0]),
        low=low if known else None,
        high=high if known else None,
        level=level,
        method="hall" if known else "none",
        reason="" if known else TOO_FEW,
    )


LEAST_SLOPES = 3.0
"""Standard errors by which the slope must exceed 0: otherwise the inverse of the line is undetermined."""


def best_threshold(
    data: object,
    y_prob: object = None,
    sample_weight: object = None,
    *,
    threshold: float,
    level: float = 0.95,
) -> BestThreshold:
    r"""Return the prediction above which acting is best, with its interval.

    For calibrated probabilities this is the threshold of the costs. Other probabilities are best calibrated first; this
    threshold gives the same decisions on their own scale.

    Parameters
    ----------
    data : Predictions of two classes, or array-like of shape (n,)
        With `y_prob`, the labels.
    y_prob : array-like of shape (n,) or (n, 2), optional
        Probabilities, if labels are given.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows, if labels are given. They are relative.
    threshold : float
        The threshold of the costs, `Costs.threshold`.
    level : float, default=0.95

    Returns
    -------
    BestThreshold

    Notes
    -----
    Logistic recalibration gives the prediction with log-odds z the log-odds a + b z, so that action begins at
    :math:`z^* = (\operatorname{logit} t - a) / b`. To first order, the error of :math:`z^*` is
    :math:`-\sum_i (u_{ai} + z^* u_{bi}) / b` with the influences of row i on a and b, and the sum of the squares of
    these terms is its variance, whether or not the line is the true model (the delta method, with the sandwich). The
    limits of z are turned into probabilities. If the line is not the true model, they are limits of the threshold of
    the best line.

    The threshold that costs least on the given rows is not used: it converges only with the cube root of the number of
    rows, and its bootstrap interval does not cover.

    Examples
    --------
    >>> y = [1] * 30 + [0] * 70 + [1] * 70 + [0] * 30
    >>> found = best_threshold(y, [0.1] * 100 + [0.9] * 100, threshold=0.3)  # 0.1 means 0.3 here.
    >>> round(found.value, 6), found.low < 0.1 < found.high
    (0.1, True)
    """
    predictions = binary_predictions(data, y_prob, sample_weight)
    check_threshold(threshold)
    check_level(level)
    unknown = BestThreshold(target=threshold, level=level, value=None, low=None, high=None)
    missing = why_not(CoxSlope(), predictions, Bootstrap(999))
    if missing:
        return replace(unknown, reason=missing)
    intercept, slope = CoxIntercept()(predictions), CoxSlope()(predictions)
    u_slope = CoxSlope().influence(predictions)
    if slope < LEAST_SLOPES * float(np.sqrt(np.sum(u_slope**2))):
        reason = "the outcomes do not clearly depend on the predictions, so the best threshold is undetermined"
        return replace(unknown, intercept=intercept, slope=slope, reason=reason)
    place = float((np.log(threshold) - np.log1p(-threshold) - intercept) / slope)
    influence = (CoxIntercept().influence(predictions) + place * u_slope) / slope
    reach = normal_quantile((1 + level) / 2) * float(np.sqrt(np.sum(influence**2)))
    low, value, high = expit(np.array([place - reach, place, place + reach])).tolist()
    return replace(unknown, value=value, low=low, high=high, intercept=intercept, slope=slope)
