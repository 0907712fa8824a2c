"""How often a search for groups of forecasts finds what is off, and what is not."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from calibrant._border.types import BoolArray, FloatArray
from calibrant.forecasts import Distribution, Forecasts, Normal, Quantiles, Samples
from calibrant.groups import GroupSearch
from studies.groups import Columns, categories, numbers
from studies.simulations.command_line import Study
from studies.simulations.limits import rate
from studies.simulations.text import as_markdown
from studies.simulations.units import Simulation, simulations

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class ForecastWorld:
    """How forecasts and targets are drawn.

    Parameters
    ----------
    n : int
    columns : callable
        Draws features, and which rows are in the group.
    shift, factor : float
        By how many standard deviations the targets of the group are shifted, and how much farther out they are.
    law : {"normal", "ensemble", "quantiles"}
    weighted : bool
    """

    n: int
    columns: Callable[[int, np.random.Generator], tuple[Columns, BoolArray]]
    shift: float = 0.0
    factor: float = 1.0
    law: str = "normal"
    weighted: bool = False

    def draw(self, rng: np.random.Generator) -> tuple[Forecasts, Columns]:
        """Return one data set."""
        features, bad = self.columns(self.n, rng)
        mean, sd = rng.normal(0, 2, self.n), rng.uniform(1, 3, self.n)
        targets = mean + sd * (self.shift * bad + np.where(bad, self.factor, 1.0) * rng.standard_normal(self.n))
        weights = rng.exponential(size=self.n) if self.weighted else None
        return Forecasts(_law(self.law, mean, sd, rng), targets, weights), features


def searched(world: ForecastWorld, n_runs: int, rng: np.random.Generator) -> dict[str, int]:
    """Count the runs that find anything, by the list and by the tree."""
    found = dict.fromkeys(("any", "cell", "leaf"), 0)
    for _ in range(n_runs):
        forecasts, features = world.draw(rng)
        groups = GroupSearch()(forecasts, features=features, rng=rng).found
        found["any"] += bool(groups)
        for source in {group.source for group in groups}:
            found[source] += 1
    return {"runs": n_runs, **found}


def _law(kind: str, mean: FloatArray, sd: FloatArray, rng: np.random.Generator) -> Distribution:
    if kind == "ensemble":
        return Samples(mean[:, None] + sd[:, None] * rng.standard_normal((len(mean), 10)))
    law = Normal(mean, sd)
    return Quantiles(LEVELS, law.quantile(LEVELS)) if kind == "quantiles" else law


HEAD = """# Groups of forecasts: false findings and true ones

Made by `python -m studies forecast_groups`; what the numbers mean is in [groups.md](../groups.md). Forecasts are
normal, with normal means and standard deviations from 1 to 3; or ensembles of 10 draws of them; or their quantiles at
five levels. Columns are those of [the table for classes](groups.md). The targets of an eighth of the rows (numbers:
a tenth) are shifted by a multiple of the predicted standard deviation, or farther out by a factor. Rates have exact
intervals of 99.9 %.
"""

HEADS = ("forecasts", "runs that find anything", "by the list", "by the tree")

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
    rows = [(name, *_cells(values)) for name, values in found.items()]
    path.write_text("\n".join([HEAD, as_markdown(HEADS, rows)]), encoding="utf-8")


def _cells(found: Mapping[str, Any]) -> list[str]:
    runs = found["runs"]
    return [rate(found["any"], runs), *(f"{found[key] / runs:.3f}" for key in ("cell", "leaf"))]


STUDY = Study(
    "forecast_groups",
    "Simulate what a search for groups of forecasts finds.",
    plan,
    write,
    "validity/groups_of_forecasts.md",
)
