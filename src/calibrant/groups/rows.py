"""What the sums of a group are made of."""

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from calibrant._border.types import BoolArray, FloatArray
from calibrant._core.laws import expit
from calibrant._core.roots import root
from calibrant.groups.tails import CERTAIN

PRECISION = 1e-9
"""By how much a fitted shift of log-odds may be wrong; the loss is then off by about its square."""

ROOM = 1e-3
"""How far beyond the smallest and the largest shift that it can be the fit looks, so that rounding hides neither."""


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
        some = self.take(inside)
        probs[inside] = expit(_log_odds(some) + offset(some))
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
    """Return by how much the log-odds of all rows are to be moved for their outcomes to be most likely.

    Where all outcomes are alike, no finite number is: half a row of mean weight then counts as the other outcome, and
    the log-odds are not moved away from the outcomes.
    """
    if not len(rows.probs):
        return 0.0
    odds, shares = _log_odds(rows), rows.weights / rows.weights.sum()
    happened, other = float(shares @ rows.events), float(shares @ (1 - rows.events))
    alike = min(happened, other) <= 0
    if alike:
        half = 0.5 / len(shares)
        happened, other = abs(happened - half), abs(other - half)

    def excess(shift: float) -> float:
        return float(shares @ expit(odds + shift)) - happened

    # Not by Newton's method: of predictions near 0 and 1 the curvature is lost, and with it the way back from too far.
    # Rows of equal predictions would need what either end is.
    level = math.log(happened / other)
    low, high = level - float(odds.max()) - ROOM, level - float(odds.min()) + ROOM
    shift = root(excess, low, high, xtol=PRECISION)
    if alike:
        return max(shift, 0.0) if rows.events[0] else min(shift, 0.0)
    return shift


def saved(rows: Rows, shift: float) -> float:
    """Return by how much the weighted sum of log losses falls if all log-odds are moved."""
    log_odds = _log_odds(rows)
    growth = np.logaddexp(0.0, log_odds + shift) - np.logaddexp(0.0, log_odds)
    return float(rows.weights @ (rows.events * shift - growth))


def _log_odds(rows: Rows) -> FloatArray:
    probs = np.clip(rows.probs, CERTAIN, 1 - CERTAIN)
    return np.asarray(np.log(probs) - np.log1p(-probs))


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
