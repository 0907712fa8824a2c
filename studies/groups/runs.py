"""Runs of the search and of the fix on simulated rows."""

from typing import Any

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant.groups import GroupBoosting, GroupSearch
from studies.groups.worlds import Drawn, World


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
