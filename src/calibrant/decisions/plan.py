"""All that is asked about decisions, for a command or a page."""

from dataclasses import dataclass, replace
from typing import TypedDict

import numpy as np

from calibrant._border.types import FloatArray, Rng
from calibrant.decisions.cost import best_threshold, cost_difference, expected_cost
from calibrant.decisions.curve import decision_curve, decision_difference, even_thresholds
from calibrant.decisions.selective import coverage_at_risk, risk_coverage
from calibrant.exceptions import InputError
from calibrant.metrics.costs import Costs
from calibrant.predictions import Predictions, check_predictions
from calibrant.results import DecisionChange, Decisions

FEWEST_TO_FIT = 10
"""Rows of the rarer outcome that a fix needs at least, before its cost is worth mentioning."""


class _Limits(TypedDict):
    """What all limits of a plan have in common."""

    prevalence: float | None
    level: float


@dataclass(frozen=True)
class DecisionPlan:
    """What predictions are to be good for: cheap decisions, or answers that are rarely wrong.

    Parameters
    ----------
    costs : Costs, optional
        Of decisions about two classes; without, nothing is said about costs.
    threshold : float, optional
        Where acting begins, if not at the threshold of the costs.
    max_risk : float, optional
        The largest error rate of answers; without, nothing is said about answering.
    confidence : float, default=0.95
        Of all limits.
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
        """Return what is asked about predictions."""
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
        """Return what a fix changes, after which acting begins at the threshold of the costs.

        Parameters
        ----------
        before, after : Predictions of two classes
            Of the same rows; each row after the fix by a fit to other rows.
        method : str
            The calibrator.
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
        """Return thresholds for a curve, with those that are decided at among them."""
        own = [costs.threshold] if self.threshold is None else [costs.threshold, self.threshold]
        share = float(np.average(predictions.labels == 1, weights=predictions.weights))
        end = min(0.99, max(2 * (share if self.prevalence is None else self.prevalence), 4 * max(own)))
        return np.union1d(even_thresholds(end), own)


def can_fit(predictions: Predictions) -> bool:
    """Return whether there are rows enough of both outcomes to fit a calibrator to parts of them."""
    present = predictions.labels[predictions.weights > 0]
    return bool(min(np.sum(present == 1), np.sum(present == 0)) >= FEWEST_TO_FIT)
