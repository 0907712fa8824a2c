"""What the sums of a group are made of."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from calibrant._border.types import BoolArray, FloatArray
from calibrant._core.laws import expit
from calibrant.groups.tails import CERTAIN

STEEPEST = 4.0
"""Log-odds are moved by at most this much in one step."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Outcomes beside what is expected of them, for one event.

    Attributes
    ----------
    probs : ndarray of shape (n,)
    events : ndarray of shape (n,)
        1 where the event was observed, else 0.
    weights : ndarray of shape (n,)
        Positive, with mean 1.
    """

    probs: FloatArray
    events: FloatArray
    weights: FloatArray

    @property
    def residuals(self) -> FloatArray:
        """Weighted differences of outcome and prediction."""
        return self.weights * (self.events - self.probs)

    @property
    def variances(self) -> FloatArray:
        """Variances of the residuals, if the predictions are right."""
        return np.asarray(self.weights**2 * self.probs * (1 - self.probs))

    def take(self, some: BoolArray) -> Self:
        """Return some of the rows."""
        rows = np.flatnonzero(some)  # Once, not for every array.
        return replace(self, probs=self.probs[rows], events=self.events[rows], weights=self.weights[rows])

    def explained(self, inside: BoolArray) -> Self:
        """Return the rows after the log-odds of a group are moved to where its outcomes are met."""
        probs = self.probs.copy()
        for _ in range(3):
            some = Rows(probs[inside], self.events[inside], self.weights[inside])
            clipped = np.clip(some.probs, CERTAIN, 1 - CERTAIN)
            probs[inside] = expit(np.log(clipped) - np.log1p(-clipped) + offset(some))
        return replace(self, probs=probs)


@dataclass(frozen=True, eq=False)
class ScoreRows(Rows):
    """Scores of which mean and variance are known if the forecasts are right, in the place of events.

    Attributes
    ----------
    variance : float
        Of every score.
    """

    variance: float

    @property
    def variances(self) -> FloatArray:
        """Variances of the weighted residuals, if the forecasts are right."""
        return np.asarray(self.weights**2 * self.variance)

    def explained(self, inside: BoolArray) -> Self:
        """Return the rows after the mean of the scores of a group is moved to where it is expected."""
        events = self.events.copy()
        events[inside] -= np.average(events[inside] - self.probs[inside], weights=self.weights[inside])
        return replace(self, events=events)


def offset(rows: Rows) -> float:
    """Return the step of Newton's method by which the log-odds of all rows are to be moved."""
    information = float(np.sum(rows.weights * rows.probs * (1 - rows.probs)))
    if information <= 0:
        return 0.0
    return float(np.clip(rows.residuals.sum() / information, -STEEPEST, STEEPEST))


def saved(rows: Rows, shift: float) -> float:
    """Return by how much the weighted sum of log losses falls if all log-odds are moved."""
    probs = np.clip(rows.probs, CERTAIN, 1 - CERTAIN)
    log_odds = np.log(probs) - np.log1p(-probs)
    growth = np.logaddexp(0.0, log_odds + shift) - np.logaddexp(0.0, log_odds)
    return float(rows.weights @ (rows.events * shift - growth))


def worth_of(rows: Rows, inside: BoolArray, half: BoolArray, *, both: bool) -> float:
    """Return by how much the mean log loss of all rows falls, measured on rows that the offset was not learnt from.

    For a leaf the first half learns and the second measures, as it did for the tree; for a cell also the other way
    round.
    """
    total, mass = 0.0, 0.0
    for learnt in (half, ~half) if both else (half,):
        total += saved(rows.take(inside & ~learnt), offset(rows.take(inside & learnt)))
        mass += float(rows.weights[~learnt].sum())
    return total / mass
