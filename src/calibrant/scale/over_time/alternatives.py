"""The alternatives that the evidence bets on: lines of log-odds, and the days on which a change may begin."""

from dataclasses import dataclass

import numpy as np

from calibrant._border.types import FloatArray
from calibrant._core.laws import logistic_variance
from calibrant.scale.over_time.cells import Cells
from calibrant.scale.over_time.lines import log_likelihood


@dataclass(frozen=True)
class CoxAlternatives:
    r"""Shifts and slopes that a change of calibration may have, all combinations but the unchanged one.

    Notes
    -----
    An alternative gives log-odds :math:`m + a + b (z - m)` where the forecast says :math:`z`. The centre :math:`m` is
    the mean of :math:`z`, weighted by :math:`p (1 - p)`, over all rows up to and including the day, so that shift and
    slope do not interact. It depends on predictions only, never on outcomes.

    Examples
    --------
    >>> CoxAlternatives().lines().shape
    (62, 2)
    """

    shifts: tuple[float, ...] = (-1.0, -0.5, -0.25, -0.1, 0.0, 0.1, 0.25, 0.5, 1.0)
    slopes: tuple[float, ...] = (0.5, 0.7, 0.85, 1.0, 1.15, 1.4, 1.8)

    def lines(self) -> FloatArray:
        """Return shift and slope of every alternative."""
        pairs = [(a, b) for a in self.shifts for b in self.slopes if (a, b) != (0.0, 1.0)]
        return np.array(pairs)

    def log_likelihoods(self, days: list[Cells]) -> FloatArray:
        """Return the log-likelihood of every day under every alternative, (n_days, n_alternatives)."""
        shifts, slopes = self.lines().T[:, :, None]
        found = np.empty((len(days), len(shifts)))
        for i, (day, centre) in enumerate(zip(days, _centres(days), strict=True)):
            found[i] = log_likelihood(centre + shifts + slopes * (day.log_odds - centre), day)
        return found


def _centres(days: list[Cells]) -> FloatArray:
    """Return the weighted mean log-odds of all rows up to and including each day."""
    spreads = [day.count * logistic_variance(day.log_odds) for day in days]
    mass = np.cumsum([spread.sum() for spread in spreads])
    total = np.cumsum([spread @ day.log_odds for spread, day in zip(spreads, days, strict=True)])
    return np.divide(total, mass, out=np.zeros(len(days)), where=mass > 0)


@dataclass(frozen=True)
class SpreadStart:
    r"""Spread the stake over all days on which a change may begin.

    Notes
    -----
    Day :math:`t = 1, 2, \dots` gets :math:`g_t = c / ((t + 1) \log^2(t + 1))`, with :math:`c` such that all of them,
    without end, sum to at most 1. Late days get nearly as much as they would if their number were known.

    Examples
    --------
    >>> SpreadStart().stakes(2).round(4).tolist()  # c = 1 / 2.10974
    [0.4933, 0.1309]
    """

    def stakes(self, n_days: int) -> FloatArray:
        """Return the shares of the first days."""
        return _slow(np.arange(float(n_days))) / _TOTAL


def _slow(days: FloatArray) -> FloatArray:
    return 1 / ((days + 2.0) * np.log(days + 2.0) ** 2)


_SUMMED = 1000
# The function is convex, so what is left is at most its integral from half a day earlier on.
_TOTAL = float(_slow(np.arange(float(_SUMMED))).sum() + 1 / np.log(_SUMMED + 1.5))


@dataclass(frozen=True)
class FirstDay:
    """Put the whole stake on a forecast that was wrong from the first day on.

    Examples
    --------
    >>> FirstDay().stakes(3).tolist()
    [1.0, 0.0, 0.0]
    """

    def stakes(self, n_days: int) -> FloatArray:
        """Return the shares of the first days."""
        return (np.arange(n_days) == 0).astype(np.float64)
