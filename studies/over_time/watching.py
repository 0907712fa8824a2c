"""Days that are watched: false alarms against a reference that is estimated, and how soon changes are found."""

from typing import NamedTuple

import numpy as np

from calibrant.scale.over_time import CoxAlternatives, SpreadStart
from calibrant.scale.over_time.change import date_change, describe_change
from calibrant.scale.over_time.lines import fit_line
from calibrant.scale.over_time.reference import Ellipse
from calibrant.scale.over_time.stream import collect
from studies.over_time.worlds import World

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
