"""How often a search for groups finds what is off, and what is not; and what a fix changes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from calibrant._border.types import BoolArray, FloatArray, IntArray
from calibrant._core.laws import expit
from calibrant.groups import GroupBoosting, GroupSearch
from calibrant.predictions import Predictions
from studies.simulations.command_line import Study
from studies.simulations.limits import rate
from studies.simulations.text import section
from studies.simulations.units import Simulation, simulations

Columns = dict[str, "FloatArray | IntArray"]


class Drawn(NamedTuple):
    """One data set.

    Attributes
    ----------
    predictions : Predictions
    features : dict of arrays
    truth : ndarray of shape (n,)
        The true probabilities.
    bad : ndarray of bool
        Rows of the group that is off.
    """

    predictions: Predictions
    features: Columns
    truth: FloatArray
    bad: BoolArray


def categories(n: int, rng: np.random.Generator) -> tuple[Columns, BoolArray]:
    """Return four columns with 4, 3, 2 and 5 levels; the group is a cell with an eighth of the rows."""
    columns: Columns = {f"x{j}": rng.integers(0, k, n) for j, k in enumerate((4, 3, 2, 5))}
    return columns, (columns["x0"] == 1) & (columns["x2"] == 0)


def numbers(n: int, rng: np.random.Generator) -> tuple[Columns, BoolArray]:
    """Return four columns of normal numbers; the group is x0 > 0.8 and x1 > 0, a tenth of the rows."""
    columns: Columns = {f"x{j}": rng.standard_normal(n) for j in range(4)}
    return columns, (columns["x0"] > 0.8) & (columns["x1"] > 0)


@dataclass(frozen=True)
class World:
    """How rows are drawn.

    Parameters
    ----------
    n : int
    columns : callable
        Draws features, and which rows are in the group.
    shift : float
        By how much the true log-odds of the group are larger than the predicted ones.
    mean : float, default=-0.5
        Of the log-odds, whose standard deviation is 1.
    weighted : bool, default=False
        Whether rows have exponential weights.
    """

    n: int
    columns: Callable[[int, np.random.Generator], tuple[Columns, BoolArray]]
    shift: float = 0.0
    mean: float = -0.5
    weighted: bool = False

    def draw(self, rng: np.random.Generator) -> Drawn:
        """Return one data set."""
        features, bad = self.columns(self.n, rng)
        log_odds = rng.normal(self.mean, 1.0, self.n)
        truth = expit(log_odds + self.shift * bad)
        weights = rng.exponential(size=self.n) if self.weighted else None
        return Drawn(Predictions(expit(log_odds), rng.random(self.n) < truth, weights), features, truth, bad)


def searched(world: World, n_runs: int, rng: np.random.Generator) -> dict[str, Any]:
    """Count the runs that find anything, by the list and by the tree, and limits that miss the true size."""
    runs = dict.fromkeys(("any", "cell", "leaf", "naive"), 0)
    limits = {"shown": 0, "missed": 0.0, "with": 0}
    for _ in range(n_runs):
        data = world.draw(rng)
        found = GroupSearch()(data.predictions, features=data.features, rng=rng)
        sources = {group.source for group in found.found}
        runs["any"] += bool(found.found)
        for source in sources:
            runs[source] += 1
        runs["naive"] += _best_without_correction(data)
        cells = [group for group in found.found if group.source == "cell"]
        misses = [not _covers(group, data) for group in cells]
        limits["shown"] += len(misses)
        limits["with"] += bool(misses)
        limits["missed"] += float(np.mean(misses)) if misses else 0.0
    return {"runs": n_runs, **runs, "limits": limits}


def _covers(group: Any, data: Drawn) -> bool:
    """Whether the limits of a group of the list hold the mean of truth minus prediction."""
    inside = np.ones(len(data.truth), dtype=bool)
    for condition in filter(None, group.label.split(" and ")):
        if condition != "all rows":
            inside &= _meets(condition, data.features)
    p = data.predictions
    true = float(np.average((data.truth - p.positive)[inside], weights=p.weights[inside]))
    return bool(group.low <= true <= group.high)


def _meets(condition: str, features: "dict[str, FloatArray | IntArray]") -> Any:
    """Read a condition such as x0 = 1 or -0.43 < x1 <= 0.44 as it is written."""
    if " = " in condition:
        name, value = condition.split(" = ")
        return features[name] == int(value)
    words = condition.split()
    name = next(word for word in words if word in features)
    place, values = words.index(name), features[name]
    above = values > float(words[0]) if place else np.ones(len(values), dtype=bool)
    if len(words) == place + 1:
        return above
    limit = float(words[-1])
    return above & (values > limit if words[place + 1] == ">" else values <= limit)


def _best_without_correction(data: Drawn) -> bool:
    """Whether any single level of a column has |z| above 1.96: what one would find by looking at each."""
    p = data.predictions
    residuals = p.weights * (p.labels - p.positive)
    variances = p.weights**2 * p.positive * (1 - p.positive)
    for values in data.features.values():
        levels = values if values.dtype.kind == "i" else np.digitize(values, np.quantile(values, [1 / 3, 2 / 3]))
        z = np.bincount(levels, residuals) / np.sqrt(np.bincount(levels, variances))
        if np.abs(z).max() > 1.96:
            return True
    return False


def change_of_loss(world: World, n_runs: int, rng: np.random.Generator) -> list[list[float]]:
    """Return the expected change of the log loss by the fix, and by the truth, and the steps of each run."""
    found = []
    for _ in range(n_runs):
        data, new = world.draw(rng), World(20_000, world.columns, world.shift).draw(rng)
        fixed = GroupBoosting().fit(data.predictions, features=data.features)
        after = fixed.predict_proba(new.predictions.positive, features=new.features)[:, 1]
        before, best = (_loss(probs, new.truth) for probs in (new.predictions.positive, new.truth))
        found.append([_loss(after, new.truth) - before, best - before, float(len(fixed.report_.steps))])
    return found


def _loss(probs: FloatArray, truth: FloatArray) -> float:
    return float(-np.mean(truth * np.log(probs) + (1 - truth) * np.log1p(-probs)))


HEAD = """# Groups: false findings, true ones, and what a fix costs

Made by `python -m studies groups`; what the numbers mean is in [groups.md](../groups.md). Log-odds of predictions are
normal with mean -0.5 and standard deviation 1. Categories: columns of 4, 3, 2 and 5 levels, of which one cell with an
eighth of the rows is off. Numbers: four normal columns, of which x0 > 0.8 and x1 > 0, a tenth of the rows, is off.
Rates have exact intervals of 99.9 %.
"""


def write(path: Path, found: Mapping[str, Any]) -> None:
    """Write what is complete."""
    path.write_text("\n".join(part for part in (HEAD, _searches(found), _fixes(found)) if part), encoding="utf-8")


ABOUT_SEARCHES = """\
Without correction: runs in which any level of a single column has |z| above 1.96. Limits that miss: the mean share
among the limits of groups of the list, which is to be at most 0.05, with the number of limits shown."""
ABOUT_FIXES = "Expected change of the log loss on new rows, with its standard error over runs; negative is better."


def _searches(found: Mapping[str, Any]) -> str:
    heads = ("predictions", "runs that find anything", "by the list", "by the tree", "without correction")
    rows = [(name, *_cells(values)) for name, values in found.items() if not name.startswith("fix")]
    return section("`GroupSearch(alpha=0.05)`", (*heads, "limits that miss"), rows, ABOUT_SEARCHES)


def _cells(values: Mapping[str, Any]) -> list[str]:
    runs, limits = values["runs"], values["limits"]
    shares = [f"{values[key] / runs:.3f}" for key in ("cell", "leaf", "naive")]
    missed = f"{limits['missed'] / runs:.3f} ({limits['shown']:,})"
    return [rate(values["any"], runs), *shares, missed]


def _fixes(found: Mapping[str, Any]) -> str:
    rows = [(name.removeprefix("fix, "), *_changes(values)) for name, values in found.items() if name[:3] == "fix"]
    heads = ("predictions, rows it is fitted to", "by the fix", "by the truth", "runs with a step")
    return section("`GroupBoosting()`", heads, rows, ABOUT_FIXES) if rows else ""


def _changes(values: list[list[float]]) -> list[str]:
    changes = np.array(values)
    means, errors = changes.mean(axis=0), changes.std(axis=0, ddof=1) / np.sqrt(len(changes))
    by = [f"{mean:+.5f} ({error:.5f})" for mean, error in zip(means[:2], errors[:2], strict=True)]
    return [*by, f"{np.mean(changes[:, 2] > 0):.3f} of {len(changes)}"]


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
