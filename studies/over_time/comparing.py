"""Two periods that are compared: how often a change is found where there is none, and where there is one."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from calibrant._core.laws import expit
from calibrant.predictions import Predictions
from calibrant.scale.over_time import compare_periods
from studies.over_time.worlds import World


class Rates(NamedTuple):
    """Rejections at level 5 % by level and slope, by the omnibus test, and by the headline."""

    lines: int
    omnibus: int
    either: int


def rejections(
    world: World, n_runs: int, n_rows: int, rng: np.random.Generator, *, shift: float = 0.0, bend: float = 0.0
) -> Rates:
    """Compare periods whose predictions differ by half a unit of log-odds and whose outcomes have slope 0.8.

    In the second period log-odds of outcomes are shifted, or bent upwards on both sides of the mean.
    """
    other = replace(world, mean=world.mean + 0.5)
    found = np.zeros(3, dtype=np.int64)
    for _ in range(n_runs):
        days = []
        for own, change, curved in ((world, 0.0, 0.0), (other, shift, bend)):
            z = own.log_odds(n_rows, rng)
            odds = world.mean + 0.8 * (z - world.mean) + change + curved * (np.abs(z - own.mean) - 0.8 * own.sd)
            days.append(Predictions(expit(z), rng.random(n_rows) < expit(odds)))
        result = compare_periods(*days, n_resamples=199, rng=rng)
        lines, omnibus = result.pvalue, result.omnibus_pvalue
        found += [lines <= 0.05, omnibus <= 0.05, min(lines, omnibus) <= 0.025]
    return Rates(*found.tolist())
