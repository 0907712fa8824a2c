"""The findings of a search: which groups stand alone, their error, the worth of a fix, and all of it in words."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import pi

import numpy as np

from calibrant._border.numerals import count, counted, decimals, percent
from calibrant._border.types import BoolArray, FloatArray
from calibrant._core.laws import normal_quantile
from calibrant._core.progress import told
from calibrant.groups.rows import Rows
from calibrant.groups.subjects import Subject
from calibrant.groups.tested import Part, Tested
from calibrant.results import Detectable, FoundGroup, GroupFindings

SHARES = (0.5, 0.25, 0.1, 0.05)
"""Sizes of groups, as shares of the rows, for which the detectable error is given."""

POWER = 0.8
"""Probability with which a detectable error is found."""

MOST = 100
"""Largest number of groups that are kept: of thousands, nearly all overlap."""

EXPLAINED = 3.0
"""A group whose z is below this once others are fixed does not stand alone."""

STEPS = 20
"""Largest number of groups that stand alone."""


@dataclass(frozen=True, eq=False)
class Searched:
    """Everything that was tested, and the groups that are shown."""

    subject: Subject
    half: BoolArray
    cells: Part
    leaves: Part
    alpha: float
    share: float

    def found(self) -> tuple[tuple[FoundGroup, ...], int]:
        """Return the groups that were found, arranged, and their number before the weakest are left out."""
        chosen = []
        for part in (self.cells, self.leaves):
            hits = part.hits(self.alpha * self.share)
            chosen += [(one, len(hits) * self.alpha * self.share / part.n_tested) for one in hits]
        shown = _arranged(chosen, self.subject.rows)
        found = tuple(self._as_found(one, level, alone) for one, level, alone in told(shown, len(shown)))
        return found, len(chosen)

    def overall(self) -> FoundGroup:
        """Return all rows together, for the first event."""
        return self._as_found(self.cells.groups[0], None, True)

    def _as_found(self, one: Tested, level: float | None, alone: bool) -> FoundGroup:
        """Return a group with its numbers; without limits if there is no level."""
        evidence = self.subject.evidence[one.event]
        judged = evidence if one.tested is None else evidence.take(one.tested)
        inside = one.inside if one.tested is None else one.inside[one.tested]
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
            adjusted=min(1.0, one.adjusted / self.share),
            worth=self.subject.worth(one, self.half),
            stands_alone=alone,
            **self.subject.named(one),
        )

    def detectable(self, least_rows: int) -> tuple[Detectable, ...]:
        """Return the errors that would have been found, for groups of several sizes."""
        rows = self.subject.evidence[0].rows
        spread = float(np.sqrt(rows.variances.sum() / len(rows.probs)))
        far = normal_quantile(1 - self.alpha * self.share / self.cells.n_tested / 2) + normal_quantile(POWER)
        sizes = [(share, round(share * len(rows.probs))) for share in SHARES]
        return tuple(
            Detectable(share=share, n_rows=n, size=min(1.0, far * spread / float(np.sqrt(n))))
            for share, n in sizes
            if n >= least_rows
        )


def _arranged(
    chosen: Sequence[tuple[Tested, float]], rows_of: Callable[[int, Sequence[BoolArray]], Rows]
) -> list[tuple[Tested, float, bool]]:
    """Return the strongest groups, those that stand alone first, each with its level and whether it stands alone.

    The group with the largest z is taken, the log-odds of its rows are moved, and the z of all others are computed
    again, until none is off any more. This only sorts what was found; it tests nothing. `rows_of` returns the rows of
    an event, and may take into account which groups stand alone for earlier events.
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
    """Return the groups that explain the others, in order; the first group of the first event always does."""
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


MOST_NAMED = 2
"""Largest number of groups that the headline names."""

PER_SD = 2 * pi**0.5
"""Shift of normal forecasts, in standard deviations, per change of the mean transform: a small shift b changes that
mean by b times the integral of the squared normal density, 1 / (2 sqrt(pi))."""


def headline(found: GroupFindings) -> str:
    """Return the findings in one sentence."""
    looked = found.n_cells + found.n_leaves
    what = "forecasts" if found.of_forecasts else "predictions"
    if not found.found:
        return f"No group was found in which {what} are off, among {count(looked)} tested."
    main = [group for group in found.found if group.stands_alone]
    if whole := [group for group in main if not group.columns]:
        named = " and ".join(f"{group.direction} on all rows ({_means(group)})" for group in whole)
        return f"{what.capitalize()} are {named}. Fix this first, then search again."
    named = " and ".join(f"{group.direction} where {_of(group)} ({_means(group)})" for group in main[:MOST_NAMED])
    more = len(main) - MOST_NAMED
    rest = f"; {more} more group{'s' if more > 1 else ''}" if more > 0 else ""
    return f"{what.capitalize()} are {named}{rest}."


def explain(found: GroupFindings) -> str:
    """Explain the outcome: how many groups were tested, with which error rate, and what could have been found."""
    sentences = [_all_rows(found)]
    if found.found:
        overlap = found.n_found - sum(group.stands_alone for group in found.found)
        were = "was" if found.n_found == 1 else "were"
        sentences.append(f"Of {_looked(found)}, {count(found.n_found)} {were} found{_overlapping(overlap)}.")
        if any(group.is_on_half for group in found.found):
            sentences.append(
                "Rows and means of a leaf are those of the half of the rows that the tree was not grown on."
            )
        one = "forecast" if found.of_forecasts else "prediction"
        sentences.append(
            f"If no {one} were off, the probability of finding any group would be at most {percent(found.alpha)}."
        )
    else:
        looked = _looked(found)
        were = "was" if found.n_cells + found.n_leaves == 1 else "were"
        sentences.append(f"{looked[0].upper()}{looked[1:]} {were} tested.")
        sentences += _could(found)
    return " ".join(sentences)


def _looked(found: GroupFindings) -> str:
    twice = ", each counted once for location and once for spread" if found.of_forecasts else ""
    cells = f"{counted(found.n_cells, 'group')} of up to {counted(found.depth, 'column')}"
    return cells + (f" and {counted(found.n_leaves, 'leaf', 'leaves')} of a tree" if found.n_leaves else "") + twice


def _overlapping(n_groups: int) -> str:
    if not n_groups:
        return ""
    is_one = n_groups == 1
    return (
        f"; {count(n_groups)} overlap{'s' * is_one} with the others and {'is' if is_one else 'are'} explained by them"
    )


def _all_rows(found: GroupFindings) -> str:
    whole = found.overall
    if whole.coverage is not None:
        return (
            f"All {counted(found.n_samples)} together: targets lie at {percent(whole.observed, 1)} of their forecasts "
            f"on average (50% if right), and 90% intervals hold {percent(whole.coverage, 1)} of them."
        )
    clear = " (beyond chance)" if whole.adjusted <= found.alpha else ""
    return f"All {counted(found.n_samples)} together: {_means(whole)}{clear}."


def _could(found: GroupFindings) -> list[str]:
    """Say which errors would have been found, for the largest and the smallest size of groups."""
    if not found.detectable:
        return []
    sizes = {each.n_rows: each for each in (found.detectable[0], found.detectable[-1])}
    if found.of_forecasts:
        parts = [
            f"by {decimals(each.size * PER_SD, 2)} standard deviations in a group of {counted(each.n_rows)} "
            f"({percent(each.share, 0)})"
            for each in sizes.values()
        ]
        errors = f"Normal forecasts that are shifted {' or '.join(parts)}"
    else:
        parts = [
            f"by {decimals(each.size)} in a group of {counted(each.n_rows)} ({percent(each.share, 0)})"
            for each in sizes.values()
        ]
        errors = f"Predictions that are off {' or '.join(parts)}"
    return [f"{errors} would have been found with a probability of about 80%; smaller errors may exist."]


def _of(group: FoundGroup) -> str:
    return f"{group.label}, of {group.event}" if group.event else group.label


def _means(group: FoundGroup) -> str:
    if group.what == "spread" and group.coverage is not None:
        return f"90% intervals hold {percent(group.coverage, 1)}"
    if group.what == "bias":
        return f"targets lie at {percent(group.observed, 1)} of their forecasts on average, not 50%"
    return f"{percent(group.predicted, 1)} predicted, {percent(group.observed, 1)} observed"
