"""What is known about a change once the alarm has been raised."""

import math
from typing import NamedTuple

import numpy as np

from calibrant._border.types import FloatArray
from calibrant._core.laws import expit
from calibrant.results import Change, Repair
from calibrant.scale.over_time.alternatives import CoxAlternatives, FirstDay, SpreadStart
from calibrant.scale.over_time.cells import Cells, merged
from calibrant.scale.over_time.evidence import accumulate, begun, posterior
from calibrant.scale.over_time.lines import coefficients
from calibrant.scale.over_time.repair import describe, find_repair, repaired
from calibrant.scale.over_time.stream import Stream, collect

SURE = 0.95


Choice = tuple[CoxAlternatives, SpreadStart | FirstDay]


class When(NamedTuple):
    """Indices of days: the alarm, the largest evidence from then on, the most likely first day, and its range."""

    alarm: int
    peak: int
    since: int
    earliest: int
    latest: int


def date_change(stream: Stream, alarm: int, peak: int) -> When:
    """Return when a change began, by the likelihood of every first day up to where the evidence is largest."""
    likelihoods = begun(stream.log_factors(peak))
    since = int(np.argmax(likelihoods))
    shares = posterior(likelihoods)
    order = np.argsort(-shares, kind="stable")
    likely = order[: 1 + int(np.searchsorted(np.cumsum(shares[order]), SURE))]
    return When(alarm, peak, since, int(likely.min()), int(likely.max()))


def describe_change(stream: Stream, when: When, names: list[str], choice: Choice) -> Change:
    """Return direction, size and repair of a change."""
    alternatives, start = choice
    shifts, slopes = alternatives.lines().T
    evidence = accumulate(stream.log_factors(when.peak), start.stakes(when.peak + 1))
    weights = posterior(evidence.log_parts[-1])
    since = merged(stream.expected[when.since : when.peak + 1])
    n_rows = since.count.sum()
    fitted = {name: value for name, value in coefficients(since).items() if value is not None}
    return Change(
        alarm=names[when.alarm],
        since=names[when.since],
        earliest=names[when.earliest],
        latest=names[when.latest],
        directions=_directions(alternatives, weights),
        shift=fitted.get("shift", float(weights @ shifts)),
        slope=fitted.get("slope", float(weights @ slopes)),
        shift_error=fitted.get("shift_error"),
        slope_error=fitted.get("slope_error"),
        n_samples=int(n_rows),
        predicted=float(since.count @ expit(since.log_odds) / n_rows),
        observed=float(since.events.sum() / n_rows),
        repair=_repair(stream, when, names, choice),
    )


def _directions(alternatives: CoxAlternatives, weights: FloatArray) -> dict[str, float]:
    """Return the probability of every direction, those first whose absence is least probable."""
    shifts, slopes = alternatives.lines().T
    members = {"too low": shifts > 0, "too high": shifts < 0, "too extreme": slopes < 1, "too timid": slopes > 1}
    ordered = sorted(members, key=lambda name: float(weights[~members[name]].sum()))
    return {name: float(weights[members[name]].sum()) for name in ordered}


def _repair(stream: Stream, when: When, names: list[str], choice: Choice) -> Repair | None:
    """Fit repairs to the first two thirds of the days since the change, and judge them on the others."""
    end = when.peak + 1
    split = when.since + math.ceil(2 / 3 * (end - when.since))
    fitted, later = stream.expected[when.since : split], stream.expected[split:end]
    if not sum(len(day.count) for day in fitted):
        return None
    found = find_repair(fitted, later)
    log_e = float(collect(repaired(later, found.map), *choice).log_e.max()) if _has_rows(later) else None
    return Repair(
        **describe(found, stream.line),
        fitted=tuple(names[when.since : split]),
        later=tuple(names[split:end]),
        later_log_e=log_e,
    )


def _has_rows(days: list[Cells]) -> bool:
    return any(len(day.count) for day in days)
