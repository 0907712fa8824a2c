"""What decisions cost per row, with limits, what a fix saves, and where to act if predictions are not calibrated."""

from dataclasses import replace

import numpy as np

from calibrant._border.checks import check_level
from calibrant._border.types import FloatArray
from calibrant._core.laws import expit, normal_quantile
from calibrant.decisions.cells import Cells, Means
from calibrant.decisions.curve import check_same_rows, check_settings
from calibrant.intervals import why_not
from calibrant.metrics import CoxIntercept, CoxSlope
from calibrant.metrics.costs import Costs, ExpectedCost, check_threshold
from calibrant.predictions import Predictions, check_predictions
from calibrant.predictions.two_arrays import as_data
from calibrant.resampling.bootstrap import Bootstrap
from calibrant.results import BestThreshold, DecisionCost, Interval

OUTCOMES = ("true_positive", "false_positive", "false_negative", "true_negative")

TOO_FEW = "too few rows decide about it"


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
    """Return what it costs per row to act where the probability of class 1 is at least a threshold.

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
        Where acting begins; by default where it is best by the costs if the probabilities are calibrated.
    prevalence : float, optional
        As for `decision_curve`.
    level : float, default=0.95

    Returns
    -------
    DecisionCost

    Notes
    -----
    The net benefit counts a false positive as the costs do, not by the odds of a threshold that differs from theirs.

    A threshold that is chosen because it costs least on these rows costs more on others than here. With calibrated
    probabilities that of the costs is best, and needs no choosing.

    Examples
    --------
    >>> found = expected_cost([1, 0, 0, 1], [0.9, 0.3, 0.1, 0.4], costs=Costs(1, 4))
    >>> found.threshold, found.cost.value, found.treat_all, found.treat_none
    (0.2, 0.25, 0.5, 2.0)
    >>> found.net_benefit.value, found.net_benefit_of_all  # (2.0 - 0.25) / 4 and (2.0 - 0.5) / 4
    (0.4375, 0.375)
    """
    predictions = check_predictions(as_data(data, y_prob, sample_weight), "data")
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
        cost=_interval("cost per row", _mean(cells, own), level),
        treat_all=float(cells.moments[0] @ everyone),
        treat_none=float(cells.moments[0] @ nobody),
        over_all=_interval("cost less that of acting on all", _mean(cells, own - everyone), level),
        over_none=_interval("cost less that of acting on none", _mean(cells, own - nobody), level),
        exchange_rate=costs.exchange_rate,
        net_benefit=_interval("net benefit", _mean(cells, worth), level),
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
    """Return the cost per row after a fix less that before, paired on the rows.

    Parameters
    ----------
    before, after : Predictions of two classes
        Of the same rows in the same order; after a fix, by fits to other rows.
    costs : Costs
    threshold : float, optional
        Where acting began before; after the fix it begins at the threshold of the costs. By default at that, too.
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
    # Two thresholds may differ: the place of each model is looked up at its own.
    cuts = np.unique([first.cut, costs.threshold])
    cells = Cells.of([before, after], cuts, prevalence)
    acts = [cells.place[i] > np.searchsorted(cuts, cut) for i, cut in enumerate((first.cut, costs.threshold))]
    one, two = (costs.per_row(who, cells.event == 1) for who in acts)
    return _interval("change of the cost per row", _mean(cells, two - one), level)


def _mean(cells: Cells, values: FloatArray) -> Means:
    return cells.means(values[:, None])


def _interval(name: str, mean: Means, level: float) -> Interval:
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
"""Standard errors by which the slope must exceed 0: else the inverse of the line may be anywhere."""


def best_threshold(
    data: object,
    y_prob: object = None,
    sample_weight: object = None,
    *,
    threshold: float,
    level: float = 0.95,
) -> BestThreshold:
    r"""Return the prediction from which on acting is best, with its interval.

    Calibrated probabilities are acted on from the threshold of the costs on. Others are best calibrated first; this
    says where the same decisions begin on their own scale.

    Parameters
    ----------
    data : Predictions of two classes, or array-like of shape (n,)
        With `y_prob`, the labels.
    y_prob : array-like of shape (n,) or (n, 2), optional
        Probabilities, if labels are given.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows, if labels are given. They are relative.
    threshold : float
        That of the costs, `Costs.threshold`.
    level : float, default=0.95

    Returns
    -------
    BestThreshold

    Notes
    -----
    Logistic recalibration gives the prediction with log-odds z the log-odds a + b z, so that action begins at
    :math:`z^* = (\operatorname{logit} t - a) / b`. To first order, the error of :math:`z^*` is
    :math:`-(u_a + z^* u_b) / b` with the influences of each row on a and b, whose sum of squares is its variance,
    whether or not a line is the true law (the delta method, with the sandwich). The limits are those of z, turned into
    probabilities. Where a line is not the true law, they are limits of the best line's threshold.

    The threshold that costs least on the rows at hand is not used: it converges with the cube root of the number of
    rows, and its bootstrap interval does not cover.

    Examples
    --------
    >>> y = [1] * 30 + [0] * 70 + [1] * 70 + [0] * 30
    >>> found = best_threshold(y, [0.1] * 100 + [0.9] * 100, threshold=0.3)  # 0.1 means 0.3 here.
    >>> round(found.value, 6), found.low < 0.1 < found.high
    (0.1, True)
    """
    predictions = check_predictions(as_data(data, y_prob, sample_weight), "data")
    check_threshold(threshold)
    check_level(level)
    predictions.positive  # noqa: B018 (refuses more than two classes)
    unknown = BestThreshold(target=threshold, level=level, value=None, low=None, high=None)
    missing = why_not(CoxSlope(), predictions, Bootstrap(999))
    if missing:
        return replace(unknown, reason=missing)
    intercept, slope = CoxIntercept()(predictions), CoxSlope()(predictions)
    u_slope = CoxSlope().influence(predictions)
    if slope < LEAST_SLOPES * float(np.sqrt(np.sum(u_slope**2))):
        reason = "the outcomes do not clearly depend on the predictions, so no threshold of them can be told"
        return replace(unknown, intercept=intercept, slope=slope, reason=reason)
    place = float((np.log(threshold) - np.log1p(-threshold) - intercept) / slope)
    influence = (CoxIntercept().influence(predictions) + place * u_slope) / slope
    reach = normal_quantile((1 + level) / 2) * float(np.sqrt(np.sum(influence**2)))
    low, value, high = expit(np.array([place - reach, place, place + reach])).tolist()
    return replace(unknown, value=value, low=low, high=high, intercept=intercept, slope=slope)
