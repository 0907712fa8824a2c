"""The choice between candidates, by paired differences of their scores."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.assessment.model_differences import results_of
from calibrant.intervals.differences import DifferenceLimits, by_law, percentiles
from calibrant.intervals.means import hall_laws
from calibrant.metrics.scores import weighted_means
from calibrant.resampling.bootstrap import Bootstrap
from calibrant.results import Difference

MOST_REDRAWS = 999
"""Largest number of redraws in the test behind the advice; the default of the assessments, so that verdicts agree."""

SMALL_PVALUE = 0.05
"""Up to this p-value of the test, a smaller loss is reason enough for a fix. Of 100 calibrated sets of predictions the
exact test finds 5, and some of these have no smaller loss."""

SURE = 3.0
"""A loss is smaller beyond doubt if the paired difference exceeds this many standard errors."""

SPARE = 2.0
"""Standard errors of a paired difference that count as chance."""

TOLERANCE = 0.001
"""Additional loss that is accepted for a simpler calibrator where the base rate says as little as a fair coin."""

ROWS_OF_DOUBT = 500
"""With fewer rows a few of large loss determine a difference, and its standard error is unreliable. So if there is a
safe candidate, either it or nothing is chosen, and a test decides which."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Choice:
    """The recommended candidate, the best one, and the differences of all from doing nothing and from the best."""

    name: str
    best: str
    alternative: str | None
    over_nothing: Mapping[str, Difference]
    behind_best: Mapping[str, Difference]
    over_alternative: Difference | None


def choose(  # noqa: PLR0913 (each is a part of the rule)
    losses: Mapping[str, FloatArray],
    weights: FloatArray,
    bootstrap: Bootstrap,
    level: float,
    rng: np.random.Generator,
    *,
    safe: str | None = None,
    miscalibrated: bool = False,
    sure: float = SURE,
    tolerance: float = TOLERANCE,
    exceptional: str | None = None,
) -> Choice:
    """Return the simplest candidate that is as good as the best, of those that improve on doing nothing.

    Parameters
    ----------
    losses : mapping of str to arrays of shape (n,)
        The score of every row, which may be infinite, by candidate: doing nothing first, then the simplest.
    weights : array of shape (n,)
    bootstrap : Bootstrap
    level : float
    rng : Generator
    safe : str, optional
        A candidate that is preferred to others even if their loss is smaller.
    miscalibrated : bool, default=False
        Whether a test has found miscalibration: then a smaller loss is enough.
    sure : float, default=3.0
        Standard errors by which a smaller loss is enough without a test; infinite if it never is.
    tolerance : float, default=0.001
        Additional loss that is accepted for a simpler candidate.
    exceptional : str, optional
        The last candidate, which needs more data than the others: it is chosen only if its loss is smaller than that of
        the one chosen without it, with two standard errors to spare.

    Notes
    -----
    The smallest of several losses is often the smallest by luck, especially with few rows. So the others are compared
    with the safe candidate, if there is one. A simpler candidate is chosen instead if its loss is at most `tolerance`
    larger, with two standard errors to spare. With less than 500 rows standard errors decide nothing: the safe
    candidate is chosen if a test has found miscalibration and the loss of any candidate is smaller, even if its own is
    not.
    """
    rows = _Rows(losses, weights, bootstrap, int(rng.integers(2**63)))
    values, names = rows.values, list(losses)
    nothing = names[0]
    usual = [name for name in names[1:] if name != exceptional]
    few = safe is not None and len(weights) < ROWS_OF_DOUBT
    helpful = [
        name
        for name in usual
        if rows.beats(name, nothing, np.inf if few else sure) or (miscalibrated and values[name] < values[nothing])
    ]
    best = min(helpful or [nothing, *usual], key=values.__getitem__)
    reference, eligible = best, helpful
    if safe is not None and (safe in helpful or (few and helpful and np.isfinite(values[safe]))):
        reference, eligible = safe, [safe] if few else helpful
    chosen = next((name for name in eligible if rows.is_close(name, reference, tolerance)), nothing)
    if chosen not in (nothing, reference):  # A simplification: an even simpler candidate of smaller loss comes first.
        even_simpler = helpful[: helpful.index(chosen) + 1]
        chosen = min(even_simpler, key=values.__getitem__)
    if exceptional is not None and all(rows.is_close(exceptional, each, 0.0) for each in (chosen, best)):
        chosen = best = exceptional
    simpler = names[1 : names.index(chosen)]
    alternative = min(simpler, key=values.__getitem__, default=None)
    compared = [(nothing, names), (best, names)] + ([] if alternative is None else [(alternative, [chosen])])
    over_nothing, behind_best, *over_alternative = rows.against(compared, level)
    return Choice(
        name=chosen,
        best=best,
        alternative=alternative,
        over_nothing=over_nothing,
        behind_best=behind_best,
        over_alternative=over_alternative[0].get(chosen) if over_alternative else None,
    )


class _Rows:
    """The losses of all candidates, and their means on bootstrap samples that they share."""

    def __init__(self, losses: Mapping[str, FloatArray], weights: FloatArray, bootstrap: Bootstrap, seed: int) -> None:
        self.losses, self.weights, self.bootstrap, self.seed = losses, weights, bootstrap, seed
        means = {name: weighted_means(rows) for name, rows in losses.items()}
        self.values = {name: float(mean(weights[:, None])[0]) for name, mean in means.items()}
        self.draws = {} if np.isfinite(list(self.values.values())).all() else self._drawn(means)

    def _drawn(self, means: Mapping[str, Callable[[FloatArray], FloatArray]]) -> dict[str, FloatArray]:
        """Return the means on bootstrap samples."""
        blocks: dict[str, list[FloatArray]] = {name: [] for name in means}
        for counts in self.bootstrap.counts(len(self.weights), np.random.default_rng(self.seed)):
            drawn = counts * self.weights[:, None]
            for name, mean in means.items():
                blocks[name].append(mean(drawn))
        return {name: np.concatenate(parts) for name, parts in blocks.items()}

    def beats(self, name: str, base: str, sure: float) -> bool:
        """Return whether the loss is smaller by `sure` standard errors; a finite loss beats an infinite one."""
        if not np.isfinite(self.values[name]) or not np.isfinite(self.values[base]):
            return self.values[name] < self.values[base]
        value, error = self._difference(name, base)
        return value < -sure * error

    def is_close(self, name: str, base: str, tolerance: float) -> bool:
        """Return whether the loss is at most `tolerance` larger, with two standard errors to spare."""
        value, error = self._difference(name, base)
        return name == base or value + SPARE * error <= tolerance

    def _difference(self, name: str, base: str) -> tuple[float, float]:
        """Return the difference of two finite losses and its standard error."""
        if name == base:
            return 0.0, 0.0
        shares = self.weights / self.weights.sum()
        rows = self.losses[name] - self.losses[base]
        value = float(shares @ rows)
        n_effective = 1.0 / float(shares @ shares)
        spread = float(shares @ (rows - value) ** 2) / max(n_effective - 1.0, 1.0)
        return value, float(np.sqrt(spread))

    def against(self, compared: Sequence[tuple[str, Sequence[str]]], level: float) -> list[dict[str, Difference]]:
        """Return the differences of candidates from a base, for each (base, candidates), without inf minus inf.

        The limits are those of `compare`: Student's law, or percentiles over shared bootstrap samples if a loss is
        infinite.
        """
        values, known = self.values, dict[tuple[str, str], DifferenceLimits]()
        pairs = [
            [(name, base) for name in names if name != base and not values[name] == values[base] == np.inf]
            for base, names in compared
        ]
        changes = {(name, base): values[name] - values[base] for part in pairs for name, base in part}
        finite = [pair for pair, change in changes.items() if np.isfinite(change)]
        if finite:
            rows = np.column_stack([self.losses[name] - self.losses[base] for name, base in finite])
            laws = hall_laws(rows, self.weights, self.bootstrap)
            known = {pair: by_law(law, level, "hall") for pair, law in zip(finite, laws, strict=True)}
        for name, base in changes.keys() - known.keys():
            known[name, base] = percentiles(self.draws[name], self.draws[base], level)
        return [
            {name: found for (name, _), found in results_of({pair: changes[pair] for pair in part}, known).items()}
            for part in pairs
        ]
