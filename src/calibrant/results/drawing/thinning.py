"""Curves reduced to a few hundred points, for pages and notebooks."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from calibrant._border.types import FloatArray, IntArray

if TYPE_CHECKING:
    from calibrant.results.curves import ReliabilityCurve

MAX_POINTS = 300
"""Curves with more points are thinned: on a screen the points would run together."""

FIRST_STEP = 1 / 200
"""The smallest move, as a share of an axis, that a thinned curve shows."""


def thin_curve(curve: "ReliabilityCurve") -> "ReliabilityCurve":
    """Return a curve of at most `MAX_POINTS` points; each stands for its own rows and those before the next point."""
    limits = [a for a in (curve.low, curve.high) if a is not None]
    kept = thin(np.column_stack([curve.predicted, curve.observed, *limits]))
    if len(kept) == len(curve.predicted):
        return curve
    ends = np.append(kept[1:], len(curve.predicted)) - 1
    return replace(
        curve,
        predicted=curve.predicted[kept],
        observed=curve.observed[kept],
        low=None if curve.low is None else curve.low[kept],
        high=None if curve.high is None else curve.high[kept],
        lower=curve.lower[kept],
        upper=curve.upper[ends],
        count=np.add.reduceat(curve.count, kept),
        weight=np.add.reduceat(curve.weight, kept),
    )


def evenly_spaced(n_points: int) -> IntArray:
    """Return which points to keep: all or, at equal steps that include the first and the last, `MAX_POINTS` of them."""
    return np.unique(np.linspace(0, n_points - 1, min(n_points, MAX_POINTS)).round().astype(int))


def thin(columns: FloatArray) -> IntArray:
    """Return which of the points (m, d) along a curve to keep: both ends, and those where a column moves.

    A point is kept if any column has moved by at least a step since the last point kept. The point before it is kept
    too, so that jumps stay jumps. The step is the smallest, on a grid, that keeps at most `MAX_POINTS` points.
    """
    n_points = len(columns)
    if n_points <= MAX_POINTS:
        return np.arange(n_points)
    spread = np.ptp(columns, axis=0)
    scaled = columns / np.where(spread > 0, spread, 1.0)
    step = FIRST_STEP
    while True:
        kept = _moved(scaled, step)
        if len(kept) <= MAX_POINTS:
            return kept
        step *= 1.5


def _moved(columns: FloatArray, step: float) -> IntArray:
    kept = [0]
    last = columns[0]
    for i, point in enumerate(columns):
        if np.abs(point - last).max() >= step:
            kept += [i - 1, i] if i - 1 > kept[-1] else [i]
            last = point
    return np.unique([*kept, len(columns) - 1])
