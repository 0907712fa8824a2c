"""Groups as they are shown: which of them stand alone, how large their error is, and what fixing it is worth."""

from collections.abc import Sequence

import numpy as np

from calibrant._core.laws import expit
from calibrant._typing import BoolArray, FloatArray
from calibrant.groups.cells import Rows
from calibrant.groups.evidence import Evidence, offset, saved
from calibrant.groups.parts import Tested
from calibrant.groups.tails import CERTAIN
from calibrant.results import FoundGroup

MOST = 100
"""Groups that are kept: of thousands, nearly all overlap."""

EXPLAINED = 3.0
"""A group whose z is below this after others are fixed does not stand alone."""

STEPS = 20
"""Groups that can stand alone, at most."""

Chosen = tuple[Tested, float]


def arranged(chosen: Sequence[Chosen], evidence: Sequence[Evidence]) -> list[tuple[Tested, float, bool]]:
    """Return the strongest groups, those that stand alone first, each with its level.

    The group with the largest z is taken, the log-odds of its rows are moved, and the z of all others are computed
    again; and so on, until none is left that is off. This only sorts what was found: it tests nothing.
    """
    strongest = sorted(chosen, key=lambda one: -abs(one[0].z))[:MOST]
    alone: list[int] = []
    for event in sorted({one.event for one, _ in strongest}):
        places = [j for j, (one, _) in enumerate(strongest) if one.event == event]
        masks = np.array([strongest[j][0].inside for j in places])
        alone += [places[j] for j in _explaining(evidence[event].rows, masks)]
    others = [j for j in range(len(strongest)) if j not in set(alone)]
    return [(*strongest[j], j not in set(others)) for j in [*alone, *others]]


def _explaining(rows: Rows, masks: BoolArray) -> list[int]:
    """Return the groups that explain the others, in the order in which they do; the first always does."""
    probs, found = rows.probs, list[int]()
    while len(found) < min(STEPS, len(masks)):
        z = _scores(Rows(probs, rows.events, rows.weights), masks)
        z[found] = 0.0
        best = int(np.abs(z).argmax())
        if found and abs(z[best]) < EXPLAINED:
            break
        found.append(best)
        probs = _moved(Rows(probs, rows.events, rows.weights), masks[best])
    return found


def _scores(rows: Rows, masks: BoolArray) -> FloatArray:
    residuals, variances = rows.residuals, rows.variances
    sums = np.array([[residuals[mask].sum(), variances[mask].sum()] for mask in masks])
    return np.asarray(sums[:, 0] / np.sqrt(np.maximum(sums[:, 1], np.finfo(float).tiny)))


def _moved(rows: Rows, inside: BoolArray) -> FloatArray:
    """Return the probabilities after the log-odds of a group are moved to where its outcomes are met."""
    probs = rows.probs.copy()
    for _ in range(3):
        some = Rows(probs[inside], rows.events[inside], rows.weights[inside])
        clipped = np.clip(some.probs, CERTAIN, 1 - CERTAIN)
        probs[inside] = expit(np.log(clipped) - np.log1p(-clipped) + offset(some))
    return probs


def as_found(
    one: Tested, evidence: Evidence, half: BoolArray, event: str, share: float, level: float | None, alone: bool
) -> FoundGroup:
    """Return a group with its numbers; without a level it has no limits."""
    inside = one.inside
    worth = worth_of(evidence.rows, inside, half, both=one.tested is None)
    judged = evidence if one.tested is None else evidence.take(one.tested)
    inside = inside if one.tested is None else inside[one.tested]
    rows, mass = judged.rows.take(inside), judged.rows.weights.sum()
    observed, predicted = (float(np.average(each, weights=rows.weights)) for each in (rows.events, rows.probs))
    low, high = (None, None) if level is None else judged.limits(inside, level)
    return FoundGroup(
        label=one.label,
        columns=one.columns,
        source=one.source,
        event=event,
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
        worth=worth,
        stands_alone=alone,
    )


def worth_of(rows: Rows, inside: BoolArray, half: BoolArray, *, both: bool) -> float:
    """Return by how much the mean log loss of all rows falls, measured on rows that the offset was not learnt from.

    For a leaf the first half learns and the second measures, as it did for the tree; for a cell also the other way
    round.
    """
    total, mass = 0.0, 0.0
    for learnt in (half, ~half) if both else (half,):
        total += saved(rows.take(inside & ~learnt), offset(rows.take(inside & learnt)))
        mass += float(rows.weights[~learnt].sum())
    return total / mass
