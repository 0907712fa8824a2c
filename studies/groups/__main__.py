"""Simulate what is not done yet, and write the table: `python -m studies.groups`."""

import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from calibrant.exceptions import DataWarning
from studies.groups.runs import change_of_loss, searched
from studies.groups.tables import write
from studies.groups.worlds import World, categories, numbers

CACHE, TABLE = Path("build/groups"), Path("docs/validity/groups.md")

Unit = Callable[[np.random.Generator], Any]


def _search(n_runs: int, world: World) -> Unit:
    return lambda rng: searched(world, n_runs, rng)


def _fix(n_runs: int, world: World) -> Unit:
    return lambda rng: change_of_loss(world, n_runs, rng)


UNITS: dict[str, Unit] = {
    "null, 4 categories, 2000 rows": _search(400, World(2000, categories)),
    "null, 4 categories, 500 rows": _search(400, World(500, categories)),
    "null, 4 categories, 4000 rows, 2 % events": _search(400, World(4000, categories, mean=-4.5)),
    "null, 4 categories, 2000 rows, exponential weights": _search(400, World(2000, categories, weighted=True)),
    "null, 4 numbers, 2000 rows": _search(400, World(2000, numbers)),
    "off by 0.5, 4 categories, 2000 rows": _search(100, World(2000, categories, 0.5)),
    "off by 0.8, 4 categories, 2000 rows": _search(100, World(2000, categories, 0.8)),
    "off by 0.5, 4 categories, 8000 rows": _search(50, World(8000, categories, 0.5)),
    "off by 0.8, 4 numbers, 2000 rows": _search(100, World(2000, numbers, 0.8)),
    "off by 0.8, 4 numbers, 4000 rows": _search(50, World(4000, numbers, 0.8)),
    "fix, null, 2000 rows": _fix(100, World(2000, categories)),
    "fix, off by 0.5, 2000 rows": _fix(50, World(2000, categories, 0.5)),
    "fix, off by 1.0, 2000 rows": _fix(50, World(2000, categories, 1.0)),
    "fix, null, 500 rows": _fix(100, World(500, categories)),
}


def main() -> int:
    """Complete what is missing; each unit has random numbers of its own."""
    CACHE.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore", DataWarning)
    found = {}
    for index, (name, unit) in enumerate(UNITS.items()):
        path = CACHE / f"{index:02d}.json"
        if not path.exists():
            began = process_time()
            path.write_text(json.dumps(unit(np.random.default_rng([2026, index]))), encoding="utf-8")
            sys.stderr.write(f"{name}: {process_time() - began:.0f} s\n")
        found[name] = json.loads(path.read_text(encoding="utf-8"))
        write(TABLE, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
