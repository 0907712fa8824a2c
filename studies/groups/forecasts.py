"""How often groups of forecasts are found, where they are off and where not: `python -m studies.groups.forecasts`."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from calibrant._typing import BoolArray, FloatArray
from calibrant.forecasts import Distribution, Forecasts, Normal, Quantiles, Samples
from calibrant.groups import GroupSearch
from studies.groups.worlds import Columns, categories, numbers
from studies.over_time.tables import rate

CACHE, TABLE = Path("build/groups_of_forecasts"), Path("docs/validity/groups_of_forecasts.md")

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)

HEAD = """# Groups of forecasts: false findings and true ones

Made by `python -m studies.groups.forecasts`; what the numbers mean is in [groups.md](../groups.md). Forecasts are
normal, with normal means and standard deviations from 1 to 3; or ensembles of 10 draws of them; or their quantiles at
five levels. Columns are those of [the table for classes](groups.md). The targets of an eighth of the rows (numbers:
a tenth) are shifted by a multiple of the predicted standard deviation, or farther out by a factor. Rates have exact
intervals of 99.9 %.

| forecasts | runs that find anything | by the list | by the tree |
|---|---|---|---|"""


@dataclass(frozen=True)
class ForecastWorld:
    """How forecasts and targets are drawn.

    Parameters
    ----------
    n_runs, n : int
    columns : callable
        Draws features, and which rows are in the group.
    shift, factor : float
        By how many standard deviations the targets of the group are shifted, and how much farther out they are.
    law : {"normal", "ensemble", "quantiles"}
    weighted : bool
    """

    n_runs: int
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

    def search(self, rng: np.random.Generator) -> dict[str, int]:
        """Count the runs that find anything, by the list and by the tree."""
        found = dict.fromkeys(("any", "cell", "leaf"), 0)
        for _ in range(self.n_runs):
            forecasts, features = self.draw(rng)
            groups = GroupSearch()(forecasts, features=features, rng=rng).found
            found["any"] += bool(groups)
            for source in {group.source for group in groups}:
                found[source] += 1
        return {"runs": self.n_runs, **found}


def _law(kind: str, mean: FloatArray, sd: FloatArray, rng: np.random.Generator) -> Distribution:
    if kind == "ensemble":
        return Samples(mean[:, None] + sd[:, None] * rng.standard_normal((len(mean), 10)))
    law = Normal(mean, sd)
    return Quantiles(LEVELS, law.quantile(LEVELS)) if kind == "quantiles" else law


UNITS = {
    "null, normal, 4 categories, 2000 rows": ForecastWorld(400, 2000, categories),
    "null, normal, 4 categories, 500 rows": ForecastWorld(400, 500, categories),
    "null, normal, 4 categories, 2000 rows, exponential weights": ForecastWorld(400, 2000, categories, weighted=True),
    "null, normal, 4 numbers, 2000 rows": ForecastWorld(400, 2000, numbers),
    "null, ensembles of 10, 4 categories, 2000 rows": ForecastWorld(400, 2000, categories, law="ensemble"),
    "null, 5 quantiles, 4 categories, 2000 rows": ForecastWorld(400, 2000, categories, law="quantiles"),
    "shifted by 0.3, normal, 4 categories, 2000 rows": ForecastWorld(100, 2000, categories, 0.3),
    "shifted by 0.5, normal, 4 categories, 2000 rows": ForecastWorld(100, 2000, categories, 0.5),
    "shifted by 0.5, ensembles of 10, 4 categories, 2000 rows": ForecastWorld(
        100, 2000, categories, 0.5, law="ensemble"
    ),
    "farther out by 1.3, normal, 4 categories, 2000 rows": ForecastWorld(100, 2000, categories, factor=1.3),
    "farther out by 1.5, normal, 4 categories, 2000 rows": ForecastWorld(100, 2000, categories, factor=1.5),
    "farther in by 0.7, normal, 4 categories, 2000 rows": ForecastWorld(100, 2000, categories, factor=0.7),
    "shifted by 0.5, normal, 4 numbers, 2000 rows": ForecastWorld(100, 2000, numbers, 0.5),
}


def main() -> int:
    """Complete what is missing; each unit has random numbers of its own."""
    CACHE.mkdir(parents=True, exist_ok=True)
    lines = [HEAD]
    for index, (name, world) in enumerate(UNITS.items()):
        path = CACHE / f"{index:02d}.json"
        if not path.exists():
            began = process_time()
            path.write_text(json.dumps(world.search(np.random.default_rng([2027, index]))), encoding="utf-8")
            sys.stderr.write(f"{name}: {process_time() - began:.0f} s\n")
        lines.append(_row(name, json.loads(path.read_text(encoding="utf-8"))))
        TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


def _row(name: str, found: dict[str, Any]) -> str:
    runs = found["runs"]
    shares = " | ".join(f"{found[key] / runs:.3f}" for key in ("cell", "leaf"))
    return f"| {name} | {rate(found['any'], runs)} | {shares} |"


if __name__ == "__main__":
    sys.exit(main())
