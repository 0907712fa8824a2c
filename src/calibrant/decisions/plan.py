"""All results about decisions that a command or a page shows."""

from dataclasses import dataclass, replace
from typing import TypedDict

import numpy as np

from calibrant._border.types import FloatArray, Rng
from calibrant.decisions.cost import best_threshold, cost_difference, expected_cost
from calibrant.decisions.curve import decision_curve, decision_difference, even_thresholds, event_share
from calibrant.decisions.selective import coverage_at_risk, risk_coverage
from calibrant.exceptions import InputError
from calibrant.metrics.costs import Costs
from calibrant.predictions import Predictions, check_predictions
from calibrant.results import DecisionChange, Decisions

FEWEST_TO_FIT = 10
"""Least number of rows of the rarer outcome for which a fix is fitted and its cost is shown."""


class _Limits(TypedDict):
    """Settings that all limits of a plan share."""

    prevalence: float | None
    level: float


@dataclass(frozen=True)
class DecisionPlan:
    """The purpose of predictions: cheap decisions, or answers that are rarely wrong.

    Parameters
    ----------
    costs : Costs, optional
        Costs of decisions about two classes; without them, costs are left out.
    threshold : float, optional
        Where acting begins, if not at the threshold of the costs.
    max_risk : float, optional
        The largest error rate of answers; without it, answering is left out.
    confidence : float, default=0.95
        Level of all limits.
    prevalence : float, optional
        As for `decision_curve`.

    Examples
    --------
    >>> p = Predictions([0.9, 0.3, 0.1, 0.4], labels=[1, 0, 0, 1])
    >>> found = DecisionPlan(costs=Costs(1, 4), max_risk=0.1)(p, rng=0)
    >>> found.cost.cost.value, found.guarantee.threshold
    (0.25, None)
    """

    costs: Costs | None = None
    threshold: float | None = None
    max_risk: float | None = None
    confidence: float = 0.95
    prevalence: float | None = None

    def __call__(self, predictions: Predictions, name: str = "predictions", *, rng: Rng = None) -> Decisions:
        """Return the requested results for predictions."""
        check_predictions(predictions)
        if predictions.copies is not None:
            raise InputError("decisions need single rows, which a sketch does not hold. Read the rows.")
        found = Decisions(name=name)
        if self.costs is not None:
            found = replace(
                found,
                cost=expected_cost(predictions, costs=self.costs, threshold=self.threshold, **self._limits),
                best=best_threshold(predictions, threshold=self.costs.threshold, level=self.confidence),
                curve=decision_curve(
                    predictions, thresholds=self._shown(self.costs, predictions), **self._limits, rng=rng
                ),
            )
        if self.max_risk is not None:
            found = replace(
                found,
                selective=risk_coverage(predictions, level=self.confidence),
                guarantee=coverage_at_risk(predictions, max_risk=self.max_risk, confidence=self.confidence),
            )
        return found

    def change(self, before: Predictions, after: Predictions, method: str, *, rng: Rng = None) -> DecisionChange:
        """Return what a fix changes; after it, acting begins at the threshold of the costs.

        Parameters
        ----------
        before, after : Predictions of two classes
            Predictions for the same rows; those after the fix by fits to other rows.
        method : str
            Name of the calibrator.
        rng : Generator, int or None

        Examples
        --------
        >>> before = Predictions([0.9, 0.3, 0.1, 0.4], labels=[1, 0, 0, 1])
        >>> after = Predictions([0.9, 0.1, 0.1, 0.4], labels=[1, 0, 0, 1])
        >>> DecisionPlan(costs=Costs(1, 4)).change(before, after, "platt", rng=0).cost.value
        -0.25
        """
        if self.costs is None:
            raise InputError("the change of a cost needs costs, but none are given. Pass costs=Costs(1, 20).")
        costs, cut = self.costs, self.threshold
        return DecisionChange(
            method=method,
            before=expected_cost(before, costs=costs, threshold=cut, **self._limits).cost,
            after=expected_cost(after, costs=costs, **self._limits).cost,
            cost=cost_difference(before, after, costs=costs, threshold=cut, **self._limits),
            curve=decision_difference(before, after, thresholds=self._shown(costs, before), **self._limits, rng=rng),
        )

    @property
    def _limits(self) -> _Limits:
        return {"prevalence": self.prevalence, "level": self.confidence}

    def _shown(self, costs: Costs, predictions: Predictions) -> FloatArray:
        """Return thresholds for a curve, including those of the decisions."""
        own = [costs.threshold] if self.threshold is None else [costs.threshold, self.threshold]
        share = event_share(predictions) if self.prevalence is None else self.prevalence
        end = min(0.99, max(2 * share, 4 * max(own)))
        return np.union1d(even_thresholds(end), own)


def can_fit(predictions: Predictions) -> bool:
    """Return whether there are enough rows of both outcomes to fit a calibrator by cross-fitting."""
    present = predictions.labels[predictions.weights > 0]
    return bool(min(np.sum(present == 1), np.sum(present == 0)) >= FEWEST_TO_FIT)
