"""Simulated forecasts that are right but for one group, which is known."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibrant._border.types import BoolArray, FloatArray
from calibrant.forecasts import Distribution, Forecasts, Normal, Quantiles, Samples
from calibrant.groups import GroupSearch
from studies.groups.worlds import Columns

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
