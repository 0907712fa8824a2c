"""Simulate what is not done yet, and write the table: `python -m studies.over_time`."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from studies.over_time import comparing, null, watching
from studies.over_time.tables import write
from studies.over_time.watching import Shift
from studies.over_time.worlds import COMMON, RARE, World

CACHE, TABLE = Path("build/over_time"), Path("docs/validity/over_time.md")

SLOPE = Shift("slope 0.8", 0.0, 0.8, "too extreme")
SHIFT = Shift("shift 0.3", 0.3, 1.0, "too low")

Unit = Callable[[np.random.Generator], Any]


def _null(world: World) -> Unit:
    return lambda rng: null.alarms(world, 2000, 10_000, rng)


def _safe(world: World, n_reference: int) -> Unit:
    return lambda rng: watching.against_reference(world, 500, 100, (n_reference, 1000), rng)._asdict()


def _power(world: World, change: Shift, last: int, n_rows: int = 100, n_reference: int = 0) -> Unit:
    n_runs = 100 if n_reference else 300
    return lambda rng: [watching.one_run(world, change, n_rows, last, rng, n_reference) for _ in range(n_runs)]


def _compare(world: World, n_runs: int, **change: float) -> Unit:
    return lambda rng: comparing.rejections(world, n_runs, 5000, rng, **change)._asdict()


UNITS: dict[str, Unit] = {
    "power 30 % slope 0.8": _power(COMMON, SLOPE, 40_000),
    "power 30 % shift 0.3": _power(COMMON, SHIFT, 40_000),
    "power 1 % shift 0.3": _power(RARE, SHIFT, 100_000),
    "null 30 %": _null(COMMON),
    "null 1 %": _null(RARE),
    "safe 30 % 5000": _safe(COMMON, 5000),
    "safe 1 % 5000": _safe(RARE, 5000),
    "safe 30 % 50000": _safe(COMMON, 50_000),
    "compare 30 % none": _compare(COMMON, 2000),
    "compare 1 % none": _compare(RARE, 2000),
    "compare 30 % shift": _compare(COMMON, 300, shift=0.2),
    "compare 30 % bend": _compare(COMMON, 300, bend=0.3),
    "reference 5000 30 % slope 0.8": _power(COMMON, SLOPE, 60_000, 500, 5000),
    "reference 50000 30 % slope 0.8": _power(COMMON, SLOPE, 60_000, 500, 50_000),
    "reference 5000 30 % shift 0.3": _power(COMMON, SHIFT, 60_000, 500, 5000),
}


def main() -> int:
    """Complete what is missing; each unit has random numbers of its own."""
    CACHE.mkdir(parents=True, exist_ok=True)
    found = {}
    for index, (name, unit) in enumerate(UNITS.items()):
        path = CACHE / f"{name.replace(' ', '_').replace('%', 'percent')}.json"
        if not path.exists():
            began = perf_counter()
            path.write_text(json.dumps(unit(np.random.default_rng([2026, index]))), encoding="utf-8")
            sys.stderr.write(f"{name}: {perf_counter() - began:.0f} s\n")
        found[name] = json.loads(path.read_text(encoding="utf-8"))
        write(TABLE, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
