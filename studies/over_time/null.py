"""Alarms of predictions that are calibrated, looked at after every row."""

import numpy as np

from calibrant._border.types import FloatArray
from calibrant._core.laws import expit, softplus
from calibrant.scale.over_time import CoxAlternatives, FirstDay, SpreadStart
from calibrant.scale.over_time.evidence import accumulate
from studies.over_time.worlds import World

LIMIT = np.log(20)
BLOCK = 20


def log_factors(z: FloatArray, y: FloatArray) -> FloatArray:
    """Return the log-likelihood ratios of rows, (n_looks, n_streams, n_alternatives): each row is a day of its own."""
    spread = expit(z) * expit(-z)
    centre = (np.cumsum(spread * z, axis=0) / np.cumsum(spread, axis=0))[..., None]
    shifts, slopes = CoxAlternatives().lines().T
    other = centre + shifts + slopes * (z[..., None] - centre)
    return (y * z)[..., None] * -1 + y[..., None] * other - softplus(other) + softplus(z)[..., None]


def alarms(world: World, n_streams: int, n_looks: int, rng: np.random.Generator) -> dict[str, int]:
    """Return how many streams raise an alarm at level 5 %, by several rules."""
    found = {"spread start": 0, "first day": 0, "z beyond 1.96": 0}
    for start in range(0, n_streams, BLOCK):
        size = min(BLOCK, n_streams - start)
        z = world.log_odds((n_looks, size), rng)
        y = world.outcomes(z, rng)
        logs = log_factors(z, y)
        for name, rule in (("spread start", SpreadStart()), ("first day", FirstDay())):
            found[name] += int((accumulate(logs, rule.stakes(n_looks)).log_e.max(axis=0) >= LIMIT).sum())
        found["z beyond 1.96"] += int((np.abs(_scores(z, y)[100:]) > 1.96).any(axis=0).sum())
    return found


def _scores(z: FloatArray, y: FloatArray) -> FloatArray:
    """Return the usual statistic of the mean after every row."""
    p = expit(z)
    scores: FloatArray = np.cumsum(y - p, axis=0) / np.sqrt(np.cumsum(p * (1 - p), axis=0))
    return scores
