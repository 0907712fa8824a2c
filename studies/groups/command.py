"""The command line of the simulations."""

from typing import Any

from studies.groups.runs import change_of_loss, searched
from studies.groups.tables import write
from studies.groups.worlds import World, categories, numbers
from studies.simulations.command_line import Study
from studies.simulations.units import Simulation, simulations

SEARCHES = {
    "null, 4 categories, 2000 rows": (World(2000, categories), 400),
    "null, 4 categories, 500 rows": (World(500, categories), 400),
    "null, 4 categories, 4000 rows, 2 % events": (World(4000, categories, mean=-4.5), 400),
    "null, 4 categories, 2000 rows, exponential weights": (World(2000, categories, weighted=True), 400),
    "null, 4 numbers, 2000 rows": (World(2000, numbers), 400),
    "off by 0.5, 4 categories, 2000 rows": (World(2000, categories, 0.5), 100),
    "off by 0.8, 4 categories, 2000 rows": (World(2000, categories, 0.8), 100),
    "off by 0.5, 4 categories, 8000 rows": (World(8000, categories, 0.5), 50),
    "off by 0.8, 4 numbers, 2000 rows": (World(2000, numbers, 0.8), 100),
    "off by 0.8, 4 numbers, 4000 rows": (World(4000, numbers, 0.8), 50),
}
FIXES = {
    "fix, null, 2000 rows": (World(2000, categories), 100),
    "fix, off by 0.5, 2000 rows": (World(2000, categories, 0.5), 50),
    "fix, off by 1.0, 2000 rows": (World(2000, categories, 1.0), 50),
    "fix, null, 500 rows": (World(500, categories), 100),
}
"""Worlds, and how often they are drawn."""


def plan() -> list[Simulation]:
    """Return all units."""
    cells: list[Any] = [(name, searched, cell) for name, cell in SEARCHES.items()]
    cells += [(name, change_of_loss, cell) for name, cell in FIXES.items()]
    return simulations(cells, 2026)


STUDY = Study(
    "groups", "Simulate what a search for groups finds, and what a fix changes.", plan, write, "validity/groups.md"
)
