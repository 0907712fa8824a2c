"""What `Watch` and `compare_periods` find in simulated days: alarms without a change, delays, directions, changes."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from calibrant._border.types import FloatArray
from calibrant._core.laws import expit, softplus
from calibrant.predictions import Predictions
from calibrant.scale.over_time import CoxAlternatives, FirstDay, SpreadStart, compare_periods
from calibrant.scale.over_time.change import date_change, describe_change
from calibrant.scale.over_time.evidence import accumulate
from calibrant.scale.over_time.lines import fit_line
from calibrant.scale.over_time.reference import Ellipse
from calibrant.scale.over_time.stream import collect
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


CHOICE = (CoxAlternatives(), SpreadStart())
ALPHA = 0.05


def ellipse(world: World, n_rows: int, rng: np.random.Generator) -> Ellipse:
    """Draw a reference period; one without a finite line is drawn again."""
    while True:
        line = fit_line(world.day(n_rows, rng))
        if line is not None:
            return Ellipse(line, 1 - ALPHA / 2)


class Alarms(NamedTuple):
    """Runs with an alarm: by the safe rule, and as if the line of the reference were known."""

    safe: int
    plugin: int


def against_reference(
    world: World, n_runs: int, n_days: int, rows: tuple[int, int], rng: np.random.Generator
) -> Alarms:
    """Return alarms without a change; `rows` are those of the reference and of each day."""
    safe = plugin = 0
    for _ in range(n_runs):
        reference = ellipse(world, rows[0], rng)
        stream = collect([world.day(rows[1], rng) for _ in range(n_days)], *CHOICE, reference)
        safe += bool((stream.log_e >= np.log(2 / ALPHA)).any())
        plugin += bool((stream.log_plugin >= np.log(1 / ALPHA)).any())
    return Alarms(safe, plugin)


class Found(NamedTuple):
    """What a run found: rows until the alarm, whether the direction is right, and days between change and estimate."""

    delay: float
    right: bool
    off: float


class Shift(NamedTuple):
    """A change of level and slope, and what it must be called."""

    name: str
    shift: float
    slope: float
    direction: str


def one_run(
    world: World, change: Shift, n_rows: int, last: int, rng: np.random.Generator, n_reference: int = 0
) -> Found | None:
    """Change at row 10 000 and watch days of `n_rows` up to row `last`; None if an alarm comes before the change."""
    first = 10_000 // n_rows
    days = [world.day(n_rows, rng) for _ in range(first)]
    days += [world.day(n_rows, rng, change.shift, change.slope) for _ in range(last // n_rows - first)]
    reference = ellipse(world, n_reference, rng) if n_reference else None
    stream = collect(days, *CHOICE, reference)
    over = np.flatnonzero(stream.log_e >= np.log((2 if n_reference else 1) / ALPHA))
    if not len(over):
        return Found(np.inf, right=False, off=np.inf)
    alarm = int(over[0])
    if alarm < first:
        return None
    seen = collect(days[: alarm + 1], *CHOICE, reference)
    when = date_change(seen, alarm, alarm)
    named = describe_change(seen, when, [str(i) for i in range(alarm + 1)]).named
    return Found(float((alarm + 1 - first) * n_rows), named[0] == change.direction, float(abs(when.since - first)))


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
