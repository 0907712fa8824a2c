"""Quantiles by inverting a distribution function."""

import numpy as np

from calibrant._border.types import BoolArray, FloatArray
from calibrant.forecasts.base import Distribution

ROUNDS = 500
"""Largest number of steps: each halves the interval or the last step, so this exhausts the digits of any number."""

ROUNDING = 4 * np.finfo(float).eps


@np.errstate(all="ignore")  # A density of 0 makes no step, and then the interval is halved.
def invert(law: Distribution, levels: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the least y with P(Z <= y) >= level, (n, q), which must lie between `low` and `high`.

    Newton's method, kept inside an interval that shrinks. Rows leave as soon as all of their quantiles are found.
    """
    found = np.array(high)
    levels = np.broadcast_to(levels, found.shape)
    rows = np.arange(law.n)
    slack, last = ROUNDING * (high - low), high - low
    x = low + last / 2
    for _ in range(ROUNDS):
        value = law.cdf(x)
        reached = value >= levels
        low, high = np.where(reached, low, x), np.where(reached, x, high)
        tolerance = slack + ROUNDING * np.abs(x)
        move, settled = _newton(law, levels, x, value, tolerance)
        found[rows] = np.where(settled, x, high)
        left = ~(settled | (high - low <= tolerance)).all(axis=1)
        if not left.any():
            break
        trusted = (x + move > low) & (x + move < high) & (np.abs(move) <= last / 2)
        step = np.where(settled, 0.0, np.where(trusted, move, low + (high - low) / 2 - x))
        x, last = (x + step)[left], np.abs(step)[left]
        rows, low, high, slack, law = rows[left], low[left], high[left], slack[left], law.take(left)
        levels = levels[left]
    return found


def _newton(
    law: Distribution, levels: FloatArray, x: FloatArray, value: FloatArray, tolerance: FloatArray
) -> tuple[FloatArray, BoolArray]:
    """Return Newton's steps, and where they are at the end: what is left of them is rounding."""
    if not law.has_density:
        return np.full(x.shape, np.nan), np.zeros(x.shape, dtype=bool)
    move = (levels - value) / np.exp(law.log_density(x))
    return move, (np.abs(move) <= tolerance) | (np.abs(levels - value) <= ROUNDING * levels)
