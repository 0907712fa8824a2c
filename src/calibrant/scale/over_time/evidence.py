"""The e-process, evidence against the forecast that may be looked at after every day, and what it bets on.

It bets on alternatives, which are lines of log-odds, and on the days on which a change may begin.
"""

from dataclasses import dataclass
from typing import NamedTuple

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
        for i, (day, centre) in enumerate(zip(days, centres(days), strict=True)):
            found[i] = log_likelihood(centre + shifts + slopes * (day.log_odds - centre), day)
        return found


def centres(days: list[Cells]) -> FloatArray:
    """Return the mean log-odds of all rows up to and including each day, weighted by the variances of outcomes."""
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


Start = SpreadStart | FirstDay


class Evidence(NamedTuple):
    """Logarithms of the e-process after every day, and of what each alternative contributes to it."""

    log_e: FloatArray  # (n_days, ...)
    log_parts: FloatArray  # (n_days, ..., n_alternatives)


def accumulate(log_factors: FloatArray, stakes: FloatArray) -> Evidence:
    r"""Return the e-process of likelihood ratios that come day by day.

    Parameters
    ----------
    log_factors : ndarray of shape (n_days, ..., n_alternatives)
        Logarithm of the likelihood ratio of each day's outcomes, alternative against forecast.
    stakes : ndarray of shape (n_days,)
        What is staked on a change that begins with each day; they sum to at most 1.

    Notes
    -----
    With factors :math:`F_{kt}`, stakes :math:`g_t` and :math:`K` alternatives, :math:`S_{kt} = (S_{k,t-1} + g_t)
    F_{kt}` and :math:`E_t = \frac1K \sum_k S_{kt} + 1 - \sum_{s \le t} g_s`. Under the forecast it is a
    supermartingale that begins at 1, so :math:`P(\max_t E_t \ge 1 / \alpha) \le \alpha`.

    Examples
    --------
    >>> found = accumulate(np.log([[2.0], [3.0]]), np.array([0.5, 0.25]))
    >>> np.exp(found.log_e).round(6).tolist()  # 0.5 * 2 + 0.5, (1 + 0.25) * 3 + 0.25
    [1.5, 4.0]
    """
    log_parts = np.empty_like(log_factors)
    state = np.full(log_factors.shape[1:], -np.inf)
    with np.errstate(divide="ignore"):
        log_stakes = np.log(stakes) - np.log(log_factors.shape[-1])
        left = np.log(np.maximum(1 - np.cumsum(stakes), 0.0))
    for day, factors in enumerate(log_factors):
        state = np.logaddexp(state, log_stakes[day]) + factors
        log_parts[day] = state
    idle = left.reshape(-1, *[1] * (log_factors.ndim - 2))
    return Evidence(np.logaddexp(log_sum(log_parts), idle), log_parts)


def log_sum(logs: FloatArray) -> FloatArray:
    """Return the logarithm of the sum over the last axis."""
    top = logs.max(axis=-1)
    shift = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        found: FloatArray = np.log(np.exp(logs - shift[..., None]).sum(axis=-1)) + shift
    return found


def posterior(logs: FloatArray) -> FloatArray:
    """Return shares proportional to exp(logs), over the last axis."""
    found: FloatArray = np.exp(logs - log_sum(logs)[..., None])
    return found


def begun(log_factors: FloatArray) -> FloatArray:
    """Return for every day the log-likelihood ratio of a change that began with it, averaged over alternatives.

    Examples
    --------
    >>> np.exp(begun(np.log([[0.5], [2.0], [3.0]]))).round(6).tolist()  # suffix products
    [3.0, 6.0, 3.0]
    """
    suffix = np.cumsum(log_factors[::-1], axis=0)[::-1]
    return log_sum(suffix) - np.log(log_factors.shape[-1])
