"""Outcomes and predictions of the rows, from which the sums of groups are computed."""

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from calibrant._border.types import BoolArray, FloatArray
from calibrant._core.laws import expit
from calibrant._core.roots import root
from calibrant.groups.event_sums import clipped_log_odds

PRECISION = 1e-9
"""Largest error of a fitted shift of log-odds; the error of the loss is about its square."""

ROOM = 1e-3
"""Margin around the bounds of the fitted shift, so that rounding does not exclude it."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Outcomes and predictions of one event.

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
        """Variances of the residuals under calibration."""
        return np.asarray(self.weights**2 * self.probs * (1 - self.probs))

    def take(self, some: BoolArray) -> Self:
        """Return some of the rows."""
        rows = np.flatnonzero(some)  # Once, not for every array.
        return replace(self, probs=self.probs[rows], events=self.events[rows], weights=self.weights[rows])

    def explained(self, inside: BoolArray) -> Self:
        """Return the rows after the log-odds of a group are moved to fit its outcomes."""
        probs = self.probs.copy()
        some = self.take(inside)
        probs[inside] = expit(clipped_log_odds(some.probs) + offset(some))
        return replace(self, probs=probs)


@dataclass(frozen=True, eq=False)
class ScoreRows(Rows):
    """Scores instead of events, whose mean (`probs`) and variance are known under calibration.

    Attributes
    ----------
    variance : float
        Variance of every score.
    """

    variance: float

    @property
    def variances(self) -> FloatArray:
        """Variances of the weighted residuals under calibration."""
        return np.asarray(self.weights**2 * self.variance)

    def explained(self, inside: BoolArray) -> Self:
        """Return the rows after the mean score of a group is moved to its expected value."""
        events = self.events.copy()
        events[inside] -= np.average(events[inside] - self.probs[inside], weights=self.weights[inside])
        return replace(self, events=events)


def offset(rows: Rows) -> float:
    """Return the shift of the log-odds of all rows that maximises the likelihood of their outcomes.

    If all outcomes are the same, the maximum is infinite: half a row of mean weight then counts as the other outcome,
    and the log-odds are never moved away from the outcomes.
    """
    if not len(rows.probs):
        return 0.0
    odds, shares = clipped_log_odds(rows.probs), rows.weights / rows.weights.sum()
    happened, other = float(shares @ rows.events), float(shares @ (1 - rows.events))
    alike = min(happened, other) <= 0
    if alike:
        half = 0.5 / len(shares)
        happened, other = abs(happened - half), abs(other - half)

    def excess(shift: float) -> float:
        return float(shares @ expit(odds + shift)) - happened

    # Not by Newton's method, which may go too far where predictions near 0 and 1 have no curvature. The shift lies
    # between the shifts that rows all equal to the largest, or to the smallest, prediction would need.
    level = math.log(happened / other)
    low, high = level - float(odds.max()) - ROOM, level - float(odds.min()) + ROOM
    shift = root(excess, low, high, xtol=PRECISION)
    if alike:
        return max(shift, 0.0) if rows.events[0] else min(shift, 0.0)
    return shift


def saved(rows: Rows, shift: float) -> float:
    """Return the decrease of the weighted sum of log losses if all log-odds are shifted."""
    log_odds = clipped_log_odds(rows.probs)
    growth = np.logaddexp(0.0, log_odds + shift) - np.logaddexp(0.0, log_odds)
    return float(rows.weights @ (rows.events * shift - growth))
