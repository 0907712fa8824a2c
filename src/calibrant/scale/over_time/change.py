"""What is known about a change once the alarm has been raised: since when, in which direction, what repairs it."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from calibrant._border.types import FloatArray
from calibrant._core.isotonic import isotonic_regression
from calibrant._core.laws import expit, logit
from calibrant.results import Change, Repair, RepairCandidate, WatchedDay
from calibrant.scale.over_time.cells import Cells, Map, mapped, merged
from calibrant.scale.over_time.evidence import FirstDay, accumulate, begun, log_sum, posterior
from calibrant.scale.over_time.lines import Line, coefficients, fit_line, log_likelihood
from calibrant.scale.over_time.stream import Stream, collect

SURE = 0.95
"""Probability that the first day lies in its range, and probability from which a change counts as passed."""


class When(NamedTuple):
    """Indices of days, and the probability that the change lasts."""

    alarm: int
    peak: int  # The largest evidence from the alarm on.
    since: int  # The most likely first day of the change; its range follows.
    earliest: int
    latest: int
    until: int  # The most likely last day of a change that has passed; otherwise the last day of all.
    lasts: float  # Probability that the change, or another that followed it, lasts up to the last day of all.


def date_change(stream: Stream, alarm: int, peak: int) -> When:
    r"""Return when a change began and whether it has passed, by the likelihood of every first and last day.

    Notes
    -----
    With the factors :math:`F_{kt}` of `accumulate`, against the line that the evidence opposes at its peak, the days up
    to e have the likelihood ratio :math:`L(s, e) = \frac1K \sum_k \prod_{t=s}^e F_{kt}` if a change began with day s.
    All first days have the same prior probability, so :math:`A(e) = \sum_{s \le e} L(s, e)` says how likely a change up
    to day e is. Let a be the day of the alarm, T the last day, and :math:`\hat e` the day from a to T - 1 with the
    largest A. Three cases have the same prior probability. Their likelihoods are

    - :math:`A(T)` if the change lasts as it is,
    - :math:`\bar A = \frac{1}{T - a} \sum_{e=a}^{T-1} A(e)` if it ended with one of these days,
    - :math:`\bar A \cdot B` if another change followed. B is the likelihood ratio of the days after :math:`\hat e`
      alone, averaged over alternatives; with a reference, it is the least against any line of the ellipse.

    The change has passed if the posterior probability of the second case is at least 95%. Days without rows have B = 1
    and do not raise it. The last day of the change is then :math:`\hat e`, and otherwise T. The first day is the s with
    the largest :math:`L(s, e)` for this last day e, and the range has 95% of the posterior distribution of s, given e.
    Days after which there are no rows are left out of both.
    """
    factors = stream.log_factors(peak)
    last = len(factors) - 1
    ends = log_sum(accumulate(factors, np.full(last + 1, 1 / (last + 1))).log_parts)
    until, lasts = last, 1.0
    if alarm < last:
        likeliest = alarm + int(np.argmax(ends[alarm:last]))
        ended = float(log_sum(ends[alarm:last])) - np.log(last - alarm)
        other = float(stream.anew(likeliest + 1, FirstDay()).log_e[-1])
        lasts = float(posterior(np.array([ends[last], ended + other, ended]))[:2].sum())
        until = likeliest if lasts <= 1 - SURE else last
    seen = 1 + max(day for day in range(until + 1) if len(stream.days[day].count))
    likelihoods = begun(factors[: until + 1])[:seen]
    shares = posterior(likelihoods)
    order = np.argsort(-shares, kind="stable")
    likely = order[: 1 + int(np.searchsorted(np.cumsum(shares[order]), SURE))]
    return When(alarm, peak, int(np.argmax(likelihoods)), int(likely.min()), int(likely.max()), until, lasts)


CLOSE_ENOUGH = 2.0
"""How far the score of a simpler repair may be below the best, in nats."""

LINES = {"intercept": (True, False), "slope": (False, True), "line": (True, True)}
"""Which coefficients each line may change."""


@dataclass(frozen=True, eq=False)
class Steps:
    """An increasing step function of log-odds, whose values are log-odds as well."""

    log_odds: FloatArray
    values: FloatArray

    def __call__(self, log_odds: FloatArray) -> FloatArray:
        """Return the step at or below each of the log-odds; below all, the first."""
        place = np.searchsorted(self.log_odds, log_odds, side="right") - 1
        return self.values[np.maximum(place, 0)]


LABELS = {
    "none": "no repair",
    "intercept": "a new base rate (prior shift)",
    "slope": "a temperature",
    "line": "a line of log-odds (Platt scaling)",
    "isotonic": "a refit by isotonic regression",
}


class FoundRepair(NamedTuple):
    """The name of the simplest repair, its map of log-odds, and all that were tried."""

    name: str
    map: Map
    candidates: tuple[RepairCandidate, ...]


def find_repair(fitted: list[Cells], later: list[Cells]) -> FoundRepair:
    """Return the simplest repair whose score is near the best, fitted to some days and judged on others."""
    on, after = merged(fitted), merged(later)
    found: dict[str, tuple[Map, RepairCandidate]] = {}
    for name, (repair, n_parameters) in _repairs(on).items():
        gain = _gain(repair, on)
        score = gain - n_parameters / 2 * np.log(on.count.sum())
        candidate = RepairCandidate(
            name=name,
            label=LABELS[name],
            n_parameters=n_parameters,
            gain=gain,
            score=score,
            fitted_gain=float(1000 * gain / on.count.sum()),
            later_gain=float(1000 * _gain(repair, after) / after.count.sum()) if len(after.count) else None,
        )
        found[name] = repair, candidate
    best = max(candidate.score for _, candidate in found.values())
    chosen = next(name for name, (_, candidate) in found.items() if candidate.score >= best - CLOSE_ENOUGH)
    return FoundRepair(chosen, found[chosen][0], tuple(candidate for _, candidate in found.values()))


def _gain(repair: Map, cells: Cells) -> float:
    """Return how much likelier the outcomes are after a repair, in nats."""
    return float(log_likelihood(repair(cells.log_odds), cells) - log_likelihood(cells.log_odds, cells))


def _repairs(cells: Cells) -> dict[str, tuple[Map, int]]:
    """Return every repair that can be fitted, with its number of parameters, from the simplest on."""
    lines = {name: fit_line(cells, free=free) for name, free in LINES.items()}
    found: dict[str, tuple[Map, int]] = {"none": (_unchanged, 0)}
    for name, line in lines.items():
        if line is not None:
            found[name] = line, sum(LINES[name])
    steps = fit_steps(cells)
    return found | {"isotonic": (steps, len(steps.values))}


def _unchanged(log_odds: FloatArray) -> FloatArray:
    return log_odds


def fit_steps(cells: Cells) -> Steps:
    """Return the most likely increasing map, with half an event at least in its lowest step, and at most all but half.

    So nothing is certain, and no later outcome is impossible.
    """
    order = np.argsort(cells.log_odds, kind="stable")
    x, at = np.unique(cells.log_odds[order], return_index=True)
    count, events = (np.add.reduceat(values[order], at) for values in (cells.count, cells.events))
    first = isotonic_regression(events / count, weights=count).blocks[:-1]
    total, hits = np.add.reduceat(count, first), np.add.reduceat(events, first)
    chance = np.clip(hits / total, 0.5 / (total[0] + 1), 1 - 0.5 / (total[-1] + 1))
    return Steps(x[first], logit(chance))


def describe(found: FoundRepair, before: Line | None) -> dict[str, Any]:
    """Return the repair as fields of `Repair`, as a map of the predictions themselves if they were recalibrated."""
    fields: dict[str, object] = {"name": found.name, "candidates": found.candidates}
    if isinstance(found.map, Steps):
        x = found.map.log_odds if before is None else (found.map.log_odds - before.intercept) / before.slope
        return fields | {"intercept": None, "slope": None, "log_odds": x, "repaired": expit(found.map.values)}
    ends = np.array([0.0, 1.0])
    at_0, at_1 = found.map(ends if before is None else before(ends))
    return fields | {"intercept": float(at_0), "slope": float(at_1 - at_0)}


def describe_change(stream: Stream, when: When, names: list[str], later_log_e: float | None = None) -> Change:
    """Return direction, size and repair of a change.

    If it has passed, `later_log_e` is the largest evidence of a watch that begins after its end.
    """
    shifts, slopes = stream.alternatives.lines().T
    end = when.until + 1
    evidence = accumulate(stream.log_factors(when.peak)[:end], stream.start.stakes(end))
    weights = posterior(evidence.log_parts[-1])
    during = measured(merged(stream.expected[when.since : end]))
    fitted = {name: value for name, value in during.items() if value is not None}
    after = None
    if later_log_e is not None:
        after = WatchedDay(name=names[end], log_e=later_log_e, **measured(merged(stream.expected[end:])))
    return Change(
        alarm=names[when.alarm],
        since=names[when.since],
        earliest=names[when.earliest],
        latest=names[when.latest],
        directions=_directions(shifts, slopes, weights),
        shift=fitted.get("shift", float(weights @ shifts)),
        slope=fitted.get("slope", float(weights @ slopes)),
        shift_error=fitted.get("shift_error"),
        slope_error=fitted.get("slope_error"),
        n_samples=fitted["n_samples"],
        predicted=fitted["predicted"],
        observed=fitted["observed"],
        until=None if after is None else names[when.until],
        lasts=when.lasts,
        after=after,
        repair=_repair(stream, when, names) if after is None else _unneeded(stream, when, names, later_log_e),
    )


def measured(cells: Cells) -> dict[str, Any]:
    """Return means, shift and slope of some rows with standard errors; certain predictions are left out."""
    n_rows = float(cells.count.sum())
    return {
        "n_samples": int(n_rows),
        "predicted": float(cells.count @ expit(cells.log_odds)) / n_rows if n_rows else None,
        "observed": float(cells.events.sum()) / n_rows if n_rows else None,
        **coefficients(cells),
    }


def _directions(shifts: FloatArray, slopes: FloatArray, weights: FloatArray) -> dict[str, float]:
    """Return the probability of every direction, those first whose absence is least probable."""
    members = {"too low": shifts > 0, "too high": shifts < 0, "too extreme": slopes < 1, "too timid": slopes > 1}
    ordered = sorted(members, key=lambda name: float(weights[~members[name]].sum()))
    return {name: float(weights[members[name]].sum()) for name in ordered}


def _repair(stream: Stream, when: When, names: list[str]) -> Repair | None:
    """Fit repairs to the first two thirds of the days since the change, and judge them on all others."""
    split = when.since + math.ceil(2 / 3 * (len(names) - when.since))
    fitted, later = stream.expected[when.since : split], stream.expected[split:]
    if not _has_rows(fitted):
        return None
    found = find_repair(fitted, later)
    log_e = None
    if _has_rows(later):
        log_e = float(collect(mapped(later, found.map), stream.alternatives, stream.start).log_e.max())
    return Repair(
        **describe(found, stream.line),
        fitted=tuple(names[when.since : split]),
        later=tuple(names[split:]),
        later_log_e=log_e,
    )


def _unneeded(stream: Stream, when: When, names: list[str], later_log_e: float | None) -> Repair:
    """Fit repairs to all days of a change that has passed, judge them on all days after it, and choose none."""
    end = when.until + 1
    tried = find_repair(stream.expected[when.since : end], stream.expected[end:]).candidates
    return Repair(
        **describe(FoundRepair("none", _unchanged, tried), None),
        fitted=tuple(names[when.since : end]),
        later=tuple(names[end:]),
        later_log_e=later_log_e,
    )


def _has_rows(days: list[Cells]) -> bool:
    return any(len(day.count) for day in days)
