"""What decisions cost per row, with limits, and what a fix saves."""

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.decisions.cells import Cells, Means
from calibrant.decisions.curve import check_same_rows, check_settings
from calibrant.metrics.costs import Costs, ExpectedCost
from calibrant.predictions import Predictions, check_predictions
from calibrant.predictions.two_arrays import as_data
from calibrant.results import DecisionCost, Interval

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
    A threshold that is chosen because it costs least on these rows costs more on others than here. With calibrated
    probabilities that of the costs is best, and needs no choosing.

    Examples
    --------
    >>> found = expected_cost([1, 0, 0, 1], [0.9, 0.3, 0.1, 0.4], costs=Costs(1, 4))
    >>> found.threshold, found.cost.value, found.treat_all, found.treat_none
    (0.2, 0.25, 0.5, 2.0)
    """
    predictions = as_data(data, y_prob, sample_weight)
    check_predictions(predictions, "data")
    check_settings(prevalence, level)
    metric = ExpectedCost(costs, threshold)
    cells = Cells.of([predictions], np.array([metric.cut]), prevalence)
    acts, event = cells.acts(1)[:, 0] == 1, cells.event == 1
    own, everyone, nobody = (costs.per_row(who, event) for who in (acts, np.ones_like(acts), np.zeros_like(acts)))
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
