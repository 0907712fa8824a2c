"""The choice between candidates, by paired differences of their scores."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from calibrant._typing import FloatArray
from calibrant.bootstrap import Bootstrap
from calibrant.hypotest import holm
from calibrant.intervals import paired_difference
from calibrant.metrics.scores import weighted_means
from calibrant.results import Difference

ONE_STANDARD_ERROR = 0.6827
"""Level of the interval that reaches one standard error to both sides."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Choice:
    """The recommended candidate, the best one, and what the differences say."""

    name: str
    best: str
    alternative: str | None
    over_nothing: Mapping[str, Difference]
    behind_best: Mapping[str, Difference]
    over_alternative: Difference | None


def choose(
    losses: Mapping[str, FloatArray], weights: FloatArray, bootstrap: Bootstrap, level: float, rng: np.random.Generator
) -> Choice:
    """Return the simplest candidate that is about as good as the best of those that beat doing nothing.

    Parameters
    ----------
    losses : mapping of str to arrays of shape (n,)
        The score of every row, which may be infinite, by candidate: doing nothing first, then the simplest.
    weights : array of shape (n,)
    bootstrap : Bootstrap
    level : float
    rng : Generator
    """
    values, draws = _replicates(losses, weights, bootstrap, rng)

    def difference(name: str, base: str, level: float = level) -> Difference | None:
        if name == base or values[name] == values[base] == np.inf:
            return None
        return paired_difference(values[name] - values[base], draws[name], draws[base], level)

    def against(base: str) -> dict[str, Difference]:
        found = {name: d for name in names if (d := difference(name, base)) is not None}
        adjusted = holm({name: d.pvalue for name, d in found.items()}) if found else {}
        return {name: replace(d, adjusted=adjusted[name]) for name, d in found.items()}

    names = list(losses)
    nothing = names[0]
    over_nothing = against(nothing)
    helpful = [name for name in names[1:] if _beats(values[name], values[nothing], over_nothing.get(name))]
    best = min(helpful or names, key=values.__getitem__)
    near = (name for name in helpful if _is_near(difference(name, best, ONE_STANDARD_ERROR)))
    chosen = next(near, nothing)
    simpler = names[1 : names.index(chosen)]
    alternative = min(simpler, key=values.__getitem__, default=None)
    return Choice(
        name=chosen,
        best=best,
        alternative=alternative,
        over_nothing=over_nothing,
        behind_best=against(best),
        over_alternative=None if alternative is None else difference(chosen, alternative),
    )


def _replicates(
    losses: Mapping[str, FloatArray], weights: FloatArray, bootstrap: Bootstrap, rng: np.random.Generator
) -> tuple[dict[str, float], dict[str, FloatArray]]:
    """Return the mean score of every candidate on the rows and on bootstrap samples that all of them share."""
    means: dict[str, Callable[[FloatArray], FloatArray]] = {name: weighted_means(rows) for name, rows in losses.items()}
    values = {name: float(mean(weights[:, None])[0]) for name, mean in means.items()}
    blocks: dict[str, list[FloatArray]] = {name: [] for name in losses}
    for counts in bootstrap.counts(len(weights), rng):
        drawn = counts * weights[:, None]
        for name, mean in means.items():
            blocks[name].append(mean(drawn))
    return values, {name: np.concatenate(parts) for name, parts in blocks.items()}


def _beats(value: float, base: float, over: Difference | None) -> bool:
    """Tell whether a candidate is significantly better than doing nothing; what is finite is better than infinity."""
    if not np.isfinite(value):
        return False
    return not np.isfinite(base) or (over is not None and over.high < 0)


def _is_near(behind: Difference | None) -> bool:
    """Tell whether the difference to the best could be none."""
    return behind is None or behind.low <= 0
