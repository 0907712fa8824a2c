"""Results reduced to what a page shows: curves of a few hundred points, and the classes with the largest errors."""

from dataclasses import replace

import numpy as np

from calibrant._border.numerals import count, decimals, number, percent
from calibrant._border.types import FloatArray, IntArray
from calibrant.results import Assessment, ClasswiseCurves, ReliabilityCurve
from calibrant.results.drawing import LIMITS, worst_first


def position(value: float) -> str:
    """Return a probability with three decimals, which line up better than significant digits."""
    return decimals(value) if 0 < value < 1 else number(value).removesuffix(".00")


def facts(curve: ReliabilityCurve, i: int) -> dict[str, str]:
    """Return what the tooltip of a point of a curve says."""
    share = float(curve.weight[i]) / (float(curve.weight.sum()) or 1.0)
    found = {
        "Predictions": f"{position(float(curve.lower[i]))} to {position(float(curve.upper[i]))}",
        "Rows": f"{count(float(curve.count[i]))} ({percent(share, 1)})",
        "Mean prediction": number(float(curve.predicted[i])),
        "Frequency": number(float(curve.observed[i])),
    }
    if curve.low is not None and curve.high is not None:
        limits = f"{position(float(curve.low[i]))} to {position(float(curve.high[i]))}"
        found[f"{percent(curve.level)} {LIMITS[curve.band]}"] = limits
    return found


MAX_POINTS = 300
"""Curves with more points are thinned: on a screen the points would run together."""

FIRST_STEP = 1 / 200
"""The smallest move, as a share of an axis, that a thinned curve shows."""

N_PANELS = 24
"""Number of classes that are drawn, those with the largest errors; the table holds all of them."""


def lighten(assessment: Assessment) -> Assessment:
    """Return the assessment as a page shows it."""
    return replace(
        assessment,
        curve=None if assessment.curve is None else thin_curve(assessment.curve),
        curves={name: thin_curve(curve) for name, curve in assessment.curves.items()},
        classwise=None if assessment.classwise is None else _worst_classes(assessment.classwise),
    )


def _worst_classes(classwise: ClasswiseCurves) -> ClasswiseCurves:
    worst = worst_first(classwise.curves)[:N_PANELS]
    return ClasswiseCurves(
        names=tuple(classwise.names[i] for i in worst),
        curves=tuple(thin_curve(replace(classwise.curves[i], histogram=None)) for i in worst),
        average=thin_curve(classwise.average),
    )


def thin_curve(curve: ReliabilityCurve) -> ReliabilityCurve:
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
