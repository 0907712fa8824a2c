"""The cells of one day of binary predictions, from which everything about time is computed."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant.exceptions import InputError
from calibrant.predictions import Predictions

CELLS_PER_UNIT = 32
"""Number of cells per unit of log-odds; evidence from them grows slower than that of rows by less than 0.1 %."""


Map = Callable[[FloatArray], FloatArray]
"""From log-odds to log-odds."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Rows of a period, gathered in cells of nearly equal predictions."""

    log_odds: FloatArray  # Of the mean prediction of a cell's own rows: not of its middle, or the mean of another day.
    count: FloatArray  # Rows of each cell.
    events: FloatArray  # Those in which the event happened.
    n_certain: int = 0  # Rows predicted as exactly 0 or 1, which are in no cell.
    n_refuted: int = 0  # Those of them that were wrong.

    @cached_property
    def n_rows(self) -> int:
        """Number of all rows, including those with certain predictions."""
        return int(self.count.sum()) + self.n_certain


def cells_of_rows(view: Predictions) -> Cells:
    """Gather the rows of binary predictions, each of which counts once.

    Examples
    --------
    >>> cells = cells_of_rows(Predictions([0.5, 0.5, 0.9, 1.0], labels=[1, 0, 1, 0]))
    >>> cells.count.tolist(), cells.events.tolist(), cells.n_certain, cells.n_refuted
    ([2.0, 1.0], [1.0, 1.0], 1, 1)
    """
    if not np.all(view.weights == 1):
        raise InputError(
            "rows must count once each, but some have other weights: evidence that grows with weights is not valid. "
            "Leave the weights out."
        )
    return gather(view.probs, np.ones(len(view)), (view.labels == 1).astype(np.float64))


def gather(probs: FloatArray, count: FloatArray, events: FloatArray) -> Cells:
    """Join groups of rows, each with its mean probabilities (of no event, of the event), to cells by log-odds.

    Which cell a group belongs to depends on predictions only, never on outcomes.
    """
    inside = (probs.min(axis=1) > 0) & (count > 0)
    certain = ~inside
    refuted = np.where(probs[certain, 1] > 0, count[certain] - events[certain], events[certain])
    place = _places(probs[inside])
    total: FloatArray = np.bincount(place, weights=count[inside]).astype(np.float64)
    full = total > 0
    means = [np.bincount(place, weights=count[inside] * column)[full] / total[full] for column in probs[inside].T]
    return Cells(
        log_odds=np.log(means[1]) - np.log(means[0]),
        count=total[full],
        events=np.bincount(place, weights=events[inside])[full].astype(np.float64),
        n_certain=int(count[certain].sum()),
        n_refuted=int(refuted.sum()),
    )


def _places(probs: FloatArray) -> IntArray:
    """Return the number of each group's cell, from 0 on."""
    place = np.floor((np.log(probs[:, 1]) - np.log(probs[:, 0])) * CELLS_PER_UNIT).astype(np.int64)
    return place - place.min() if len(place) else place


def merged(days: list[Cells]) -> Cells:
    """Return the cells of several days side by side; none is joined with that of another day."""
    every = [Cells(np.empty(0), np.empty(0), np.empty(0)), *days]
    return Cells(
        log_odds=np.concatenate([day.log_odds for day in every]),
        count=np.concatenate([day.count for day in every]),
        events=np.concatenate([day.events for day in every]),
        n_certain=sum(day.n_certain for day in every),
        n_refuted=sum(day.n_refuted for day in every),
    )


def mapped(days: list[Cells], change: Map) -> list[Cells]:
    """Return days whose log-odds are those after a change."""
    return [replace(day, log_odds=change(day.log_odds)) for day in days]
