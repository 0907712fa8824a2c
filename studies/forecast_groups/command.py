"""The command line of the simulations."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from studies.forecast_groups.worlds import ForecastWorld, searched
from studies.groups.worlds import categories, numbers
from studies.simulations.command_line import Study
from studies.simulations.limits import rate
from studies.simulations.units import Simulation, simulations

HEAD = """# Groups of forecasts: false findings and true ones

Made by `python -m studies forecast_groups`; what the numbers mean is in [groups.md](../groups.md). Forecasts are
normal, with normal means and standard deviations from 1 to 3; or ensembles of 10 draws of them; or their quantiles at
five levels. Columns are those of [the table for classes](groups.md). The targets of an eighth of the rows (numbers:
a tenth) are shifted by a multiple of the predicted standard deviation, or farther out by a factor. Rates have exact
intervals of 99.9 %.

| forecasts | runs that find anything | by the list | by the tree |
|---|---|---|---|"""

WORLDS = {
    "null, normal, 4 categories, 2000 rows": (ForecastWorld(2000, categories), 400),
    "null, normal, 4 categories, 500 rows": (ForecastWorld(500, categories), 400),
    "null, normal, 4 categories, 2000 rows, exponential weights": (ForecastWorld(2000, categories, weighted=True), 400),
    "null, normal, 4 numbers, 2000 rows": (ForecastWorld(2000, numbers), 400),
    "null, ensembles of 10, 4 categories, 2000 rows": (ForecastWorld(2000, categories, law="ensemble"), 400),
    "null, 5 quantiles, 4 categories, 2000 rows": (ForecastWorld(2000, categories, law="quantiles"), 400),
    "shifted by 0.3, normal, 4 categories, 2000 rows": (ForecastWorld(2000, categories, 0.3), 100),
    "shifted by 0.5, normal, 4 categories, 2000 rows": (ForecastWorld(2000, categories, 0.5), 100),
    "shifted by 0.5, ensembles of 10, 4 categories, 2000 rows": (
        ForecastWorld(2000, categories, 0.5, law="ensemble"),
        100,
    ),
    "farther out by 1.3, normal, 4 categories, 2000 rows": (ForecastWorld(2000, categories, factor=1.3), 100),
    "farther out by 1.5, normal, 4 categories, 2000 rows": (ForecastWorld(2000, categories, factor=1.5), 100),
    "farther in by 0.7, normal, 4 categories, 2000 rows": (ForecastWorld(2000, categories, factor=0.7), 100),
    "shifted by 0.5, normal, 4 numbers, 2000 rows": (ForecastWorld(2000, numbers, 0.5), 100),
}
"""Worlds, and how often they are drawn."""


def plan() -> list[Simulation]:
    """Return all units."""
    return simulations(((name, searched, cell) for name, cell in WORLDS.items()), 2027)


def write(path: Path, found: Mapping[str, Any]) -> None:
    """Write what is complete."""
    path.write_text("\n".join([HEAD, *(_row(*item) for item in found.items()), ""]), encoding="utf-8")


def _row(name: str, found: Mapping[str, Any]) -> str:
    runs = found["runs"]
    shares = " | ".join(f"{found[key] / runs:.3f}" for key in ("cell", "leaf"))
    return f"| {name} | {rate(found['any'], runs)} | {shares} |"


STUDY = Study(
    "forecast_groups",
    "Simulate what a search for groups of forecasts finds.",
    plan,
    write,
    "validity/groups_of_forecasts.md",
)
