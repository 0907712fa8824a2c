"""The days of a watch: what they must have in common, and which binary events are watched."""

import hashlib
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from calibrant.exceptions import InputError
from calibrant.predictions import Predictions
from calibrant.scale.grouped import GroupedSketch
from calibrant.scale.over_time.cells import Cells, cells_of_rows, gather
from calibrant.scale.sketch import Sketch

Day = Sketch | Predictions
GivenDay = Day | GroupedSketch
Days = Mapping[str, GivenDay] | Iterable[tuple[str, GivenDay]]

RECOGNISED = 20
"""Two days with at least this many cells are never equal by chance."""


class Streams(NamedTuple):
    """What is watched."""

    names: list[str]  # Of the days.
    days: dict[str, list[Cells]]  # Of each event that is watched.
    reference: dict[str, Cells]  # Of each event; empty without a reference.
    top_label: bool  # Whether the event is that the predicted class is right.


def as_day(given: GivenDay, name: str) -> Day:
    """Return what is watched: the rows of all groups together if there are groups; refuse anything else."""
    if isinstance(given, GroupedSketch):
        return given.total()
    if not isinstance(given, Sketch | Predictions):
        raise TypeError(f"days must be Sketch or Predictions, but {name} is {type(given).__name__}.")
    return given


def streams(days: Days, reference: GivenDay | None = None, *, classwise: bool) -> Streams:
    """Gather all days in cells, one after another, so that no day is kept.

    Two classes are watched by the probability of class 1, more by their top label or each against the rest.
    """
    names: list[str] = []
    found: dict[str, list[Cells]] = {}
    first: Day | None = None
    for name, given in days.items() if isinstance(days, Mapping) else days:
        day = as_day(given, name)
        first = day if first is None else first
        check_alike(day, name, first, names[0] if names else name)
        names.append(name)
        for event, c in events(first, classwise=classwise).items():
            found.setdefault(event, []).append(cells_of(day, c))
    if first is None:
        raise InputError("at least one day is needed, but there is none.")
    watched, before = events(first, classwise=classwise), dict[str, Cells]()
    if reference is not None:
        period = as_day(reference, "the reference")
        check_alike(period, "the reference", first, names[0])
        before = {event: cells_of(period, c) for event, c in watched.items()}
    for cells in found.values():
        _refuse_repeats(names, cells)
    return Streams(names, found, before, top_label=None in watched.values())


def events(day: Day, *, classwise: bool) -> dict[str, int | None]:
    """Return the events that are watched: their names, and their classes, None for the top label."""
    if day.n_classes == 2:
        return {"": 1}
    if not classwise:
        return {"": None}
    names = [str(name) for name in day.classes or range(day.n_classes)]
    return {name if names.count(name) == 1 else f"{name} ({c})": c for c, name in enumerate(names)}


def cells_of(day: Day, c: int | None) -> Cells:
    """Return the cells of a class of one day, or those of its top label."""
    if isinstance(day, Predictions):
        return cells_of_rows(day.top_label() if c is None else day.one_vs_rest(c))
    if day.is_weighted:
        raise InputError(
            "days must have rows of weight 1, but a sketch has weights: evidence would count rows twice. Make it "
            "without weights."
        )
    found = day.cells(c)
    probs = np.column_stack([1.0 - found.means, found.means])
    return gather(probs, found.counts.astype(np.float64), found.events.astype(np.float64))


def check_alike(day: Day, name: str, first: Day, first_name: str) -> None:
    """Refuse a day whose classes are not those of the first one."""
    named = day.classes is not None and first.classes is not None
    if day.n_classes != first.n_classes or (named and day.classes != first.classes):
        raise InputError(
            f"all days must have the same classes, but {first_name} has {_classes(first)} and {name} has "
            f"{_classes(day)}. Take days with the same classes."
        )


def _classes(day: Day) -> str:
    names = "" if day.classes is None else f" ({', '.join(map(str, day.classes[:3]))}{', …' * (day.n_classes > 3)})"
    return f"{day.n_classes}{names}"


def _refuse_repeats(names: list[str], days: list[Cells]) -> None:
    """Refuse a day that occurs twice: its outcomes would count as new evidence."""
    seen: dict[bytes, str] = {}
    for name, day in zip(names, days, strict=True):
        if len(day.count) < RECOGNISED:
            continue
        arrays = (day.log_odds, day.count, day.events)
        key = hashlib.sha256(b"".join(array.tobytes() for array in arrays)).digest()
        if key in seen:
            raise InputError(
                f"each row must be in one day, but {seen[key]} and {name} hold the same rows. Remove one of them."
            )
        seen[key] = name


def missing_dates(names: Iterable[str]) -> list[str]:
    """Return the dates between the first and the last that no name has; none if names do not begin with dates.

    Examples
    --------
    >>> missing_dates(["2026-02-27", "2026-03-02"])
    ['2026-02-28', '2026-03-01']
    """
    try:
        found = [date.fromisoformat(name[:10]) for name in names]
    except ValueError:
        return []
    gaps = []
    for a, b in pairwise(found):
        gaps += [(a + timedelta(days=i)).isoformat() for i in range(1, (b - a).days)]
    return gaps
