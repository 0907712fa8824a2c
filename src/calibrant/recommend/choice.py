"""The choice between candidates, by paired differences of their scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from calibrant._typing import FloatArray
from calibrant.bootstrap import Bootstrap
from calibrant.hypotest import holm
from calibrant.intervals import percentiles
from calibrant.intervals.scores import studentised_means
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
    rows = _Rows(losses, weights, bootstrap, int(rng.integers(2**63)))
    values, names = rows.values, list(losses)
    nothing = names[0]
    over_nothing = rows.against(nothing, names, level)
    helpful = [name for name in names[1:] if _beats(values[name], values[nothing], over_nothing.get(name))]
    best = min(helpful or names, key=values.__getitem__)
    behind = rows.against(best, helpful, ONE_STANDARD_ERROR)
    chosen = next((name for name in helpful if name not in behind or not _is_worse(behind[name])), nothing)
    simpler = names[1 : names.index(chosen)]
    alternative = min(simpler, key=values.__getitem__, default=None)
    return Choice(
        name=chosen,
        best=best,
        alternative=alternative,
        over_nothing=over_nothing,
        behind_best=rows.against(best, names, level),
        over_alternative=None if alternative is None else rows.against(alternative, [chosen], level).get(chosen),
    )


class _Rows:
    """The losses of all candidates, and their means on bootstrap samples that they share."""

    def __init__(self, losses: Mapping[str, FloatArray], weights: FloatArray, bootstrap: Bootstrap, seed: int) -> None:
        self.losses, self.weights, self.bootstrap, self.seed = losses, weights, bootstrap, seed
        means = {name: weighted_means(rows) for name, rows in losses.items()}
        self.values = {name: float(mean(weights[:, None])[0]) for name, mean in means.items()}
        blocks: dict[str, list[FloatArray]] = {name: [] for name in losses}
        for counts in bootstrap.counts(len(weights), np.random.default_rng(seed)):
            drawn = counts * weights[:, None]
            for name, mean in means.items():
                blocks[name].append(mean(drawn))
        self.draws = {name: np.concatenate(parts) for name, parts in blocks.items()}

    def against(self, base: str, names: Sequence[str], level: float) -> dict[str, Difference]:
        """Return the differences to one candidate, where they are numbers: studentised, or percentiles if infinite."""
        found = {
            name: self._resampled(name, base, level)
            for name in names
            if name != base and not self.values[name] == self.values[base] == np.inf
        }
        found |= self._studentised(base, found, level)
        adjusted = holm({name: d.pvalue for name, d in found.items()}) if found else {}
        return {name: replace(d, adjusted=adjusted[name]) for name, d in found.items()}

    def _resampled(self, name: str, base: str, level: float) -> Difference:
        known = percentiles(self.draws[name], self.draws[base], level)
        value = self.values[name] - self.values[base]
        return Difference(value=value, **known._asdict(), adjusted=known.pvalue, is_significant=known.exclude_zero)

    def _studentised(self, base: str, found: Mapping[str, Difference], level: float) -> dict[str, Difference]:
        finite = [name for name in found if np.isfinite(self.values[name] - self.values[base])]
        if not finite:
            return {}
        rows = np.column_stack([self.losses[name] - self.losses[base] for name in finite])
        means = studentised_means(rows, self.weights, level, self.bootstrap, np.random.default_rng(self.seed))
        return {
            name: replace(
                found[name],
                low=mean.low,
                high=mean.high,
                pvalue=mean.pvalue,
                method="bootstrap-t",
                is_significant=mean.low > 0 or mean.high < 0,
            )
            for name, mean in zip(finite, means, strict=True)
        }


def _beats(value: float, base: float, over: Difference | None) -> bool:
    """Tell whether a candidate is significantly better than doing nothing; what is finite is better than infinity."""
    if not np.isfinite(value):
        return False
    return not np.isfinite(base) or (over is not None and over.high is not None and over.high < 0)


def _is_worse(difference: Difference) -> bool:
    return difference.low is not None and difference.low > 0
