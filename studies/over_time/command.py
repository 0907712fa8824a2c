"""The command line of the simulations."""

from typing import Any

import numpy as np

from studies.over_time import comparing, null, watching
from studies.over_time.tables import write
from studies.over_time.watching import Found, Shift
from studies.over_time.worlds import COMMON, RARE, World
from studies.simulations.command_line import Study
from studies.simulations.units import Simulation, simulations

SLOPE = Shift("slope 0.8", 0.0, 0.8, "too extreme")
SHIFT = Shift("shift 0.3", 0.3, 1.0, "too low")


def safe(world: World, n_reference: int, rng: np.random.Generator) -> dict[str, int]:
    """Count alarms without a change in 500 runs of 100 days of 1000 rows."""
    return watching.against_reference(world, 500, 100, (n_reference, 1000), rng)._asdict()


def power(
    world: World, change: Shift, last: int, n_rows: int, n_reference: int, rng: np.random.Generator
) -> list[Found | None]:
    """Return what 300 runs find, or 100 with a reference."""
    n_runs = 100 if n_reference else 300
    return [watching.one_run(world, change, n_rows, last, rng, n_reference) for _ in range(n_runs)]


def compare(world: World, n_runs: int, shift: float, bend: float, rng: np.random.Generator) -> dict[str, int]:
    """Count the rejections of comparisons of two periods of 5000 rows."""
    return comparing.rejections(world, n_runs, 5000, rng, shift=shift, bend=bend)._asdict()


CELLS: dict[str, tuple[Any, ...]] = {
    "power 30 % slope 0.8": (power, COMMON, SLOPE, 40_000, 100, 0),
    "power 30 % shift 0.3": (power, COMMON, SHIFT, 40_000, 100, 0),
    "power 1 % shift 0.3": (power, RARE, SHIFT, 100_000, 100, 0),
    "null 30 %": (null.alarms, COMMON, 2000, 10_000),
    "null 1 %": (null.alarms, RARE, 2000, 10_000),
    "safe 30 % 5000": (safe, COMMON, 5000),
    "safe 1 % 5000": (safe, RARE, 5000),
    "safe 30 % 50000": (safe, COMMON, 50_000),
    "compare 30 % none": (compare, COMMON, 2000, 0.0, 0.0),
    "compare 1 % none": (compare, RARE, 2000, 0.0, 0.0),
    "compare 30 % shift": (compare, COMMON, 300, 0.2, 0.0),
    "compare 30 % bend": (compare, COMMON, 300, 0.0, 0.3),
    "reference 5000 30 % slope 0.8": (power, COMMON, SLOPE, 60_000, 500, 5000),
    "reference 50000 30 % slope 0.8": (power, COMMON, SLOPE, 60_000, 500, 50_000),
    "reference 5000 30 % shift 0.3": (power, COMMON, SHIFT, 60_000, 500, 5000),
}


def plan() -> list[Simulation]:
    """Return all units."""
    return simulations(((name, function, tuple(rest)) for name, (function, *rest) in CELLS.items()), 2026)


STUDY = Study("over_time", "Simulate false alarms and delays of watched days.", plan, write, "validity/over_time.md")
