"""Groups as they are shown: which of them stand alone, how large their error is, and what fixing it is worth."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calibrant._border.types import BoolArray, FloatArray
from calibrant.groups.evidence import Evidence
from calibrant.groups.rows import Rows
from calibrant.groups.tested import Tested
from calibrant.results import FoundGroup

MOST = 100
"""Groups that are kept: of thousands, nearly all overlap."""

EXPLAINED = 3.0
"""A group whose z is below this after others are fixed does not stand alone."""

STEPS = 20
"""Groups that can stand alone, at most."""

Chosen = tuple[Tested, float]


def arranged(
    chosen: Sequence[Chosen], rows_of: Callable[[int, Sequence[BoolArray]], Rows]
) -> list[tuple[Tested, float, bool]]:
    """Return the strongest groups, those that stand alone first, each with its level.

    The group with the largest z is taken, the log-odds of its rows are moved, and the z of all others are computed
    again; and so on, until none is left that is off. This only sorts what was found: it tests nothing. `rows_of` gives
    the rows of an event, and may take into account which groups stand alone for earlier events.
    """
    strongest = sorted(chosen, key=lambda one: -abs(one[0].z))[:MOST]
    alone, before = list[int](), list[BoolArray]()
    for event in sorted({one.event for one, _ in strongest}):
        places = [j for j, (one, _) in enumerate(strongest) if one.event == event]
        masks = np.array([strongest[j][0].inside for j in places])
        found = _explaining(rows_of(event, before), masks, is_first=not before)
        alone += [places[j] for j in found]
        before += [masks[j] for j in found]
    others = [j for j in range(len(strongest)) if j not in set(alone)]
    return [(*strongest[j], j not in set(others)) for j in [*alone, *others]]


def _explaining(rows: Rows, masks: BoolArray, *, is_first: bool) -> list[int]:
    """Return the groups that explain the others, in the order in which they do; the first of all always does."""
    found = list[int]()
    while len(found) < min(STEPS, len(masks)):
        z = _scores(rows, masks)
        z[found] = 0.0
        best = int(np.abs(z).argmax())
        if (found or not is_first) and abs(z[best]) < EXPLAINED:
            break
        found.append(best)
        rows = rows.explained(masks[best])
    return found


def _scores(rows: Rows, masks: BoolArray) -> FloatArray:
    residuals, variances = rows.residuals, rows.variances
    sums = np.array([[residuals[mask].sum(), variances[mask].sum()] for mask in masks])
    return np.asarray(sums[:, 0] / np.sqrt(np.maximum(sums[:, 1], np.finfo(float).tiny)))


def as_found(one: Tested, evidence: Evidence, share: float, level: float | None, **named: Any) -> FoundGroup:
    """Return a group with its numbers; without a level it has no limits."""
    inside = one.inside
    judged = evidence if one.tested is None else evidence.take(one.tested)
    inside = inside if one.tested is None else inside[one.tested]
    rows, mass = judged.rows.take(inside), judged.rows.weights.sum()
    observed, predicted = (float(np.average(each, weights=rows.weights)) for each in (rows.events, rows.probs))
    low, high = (None, None) if level is None else judged.limits(inside, level)
    return FoundGroup(
        label=one.label,
        columns=one.columns,
        source=one.source,
        n_rows=int(inside.sum()),
        share=float(rows.weights.sum() / mass),
        observed=observed,
        predicted=predicted,
        size=observed - predicted,
        low=low,
        high=high,
        z=one.z,
        pvalue=one.pvalue,
        adjusted=min(1.0, one.adjusted / share),
        **named,
    )
