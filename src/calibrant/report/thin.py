"""Results made light enough for a page: curves of a few hundred points, without what no reader of a page uses."""

from dataclasses import dataclass, replace

import numpy as np

from calibrant._border.numerals import count, decimals, number, percent
from calibrant._border.types import FloatArray, IntArray
from calibrant.results import Assessment, ClasswiseCurves, ReliabilityCurve
from calibrant.results.drawing import LIMITS, off_points, vague_points


@dataclass(frozen=True)
class Point:
    """One point of a curve."""

    predicted: float
    observed: float
    low: float | None
    high: float | None
    lower: float
    upper: float
    count: float
    weight: float
    total: float
    off: bool
    """Whether the limits speak against calibration here."""
    vague: bool
    """Whether a confidence interval says little."""

    @property
    def share(self) -> float:
        """The weight, of that of all points."""
        return self.weight / self.total

    @property
    def percentage(self) -> str:
        """The share in words."""
        return percent(self.share, 1)

    @property
    def range(self) -> str:
        """The predictions that the point summarises."""
        return f"{position(self.lower)} to {position(self.upper)}"

    @property
    def limits(self) -> str:
        """The limits."""
        return "none" if self.low is None or self.high is None else f"{position(self.low)} to {position(self.high)}"


def position(value: float) -> str:
    """Return a probability with three decimals: ends of intervals line up better than with significant digits."""
    return decimals(value) if 0 < value < 1 else number(value).removesuffix(".00")


def points(curve: ReliabilityCurve) -> list[Point]:
    """Return the points of a curve, in the order of the curve."""
    names = ("predicted", "observed", "low", "high", "lower", "upper", "count", "weight")
    empty = [None] * len(curve.predicted)
    columns = [empty if getattr(curve, key) is None else getattr(curve, key).tolist() for key in names]
    total = float(curve.weight.sum()) or 1.0
    columns += [off_points(curve).tolist(), vague_points(curve).tolist()]
    rows = zip(*columns, strict=True)
    return [Point(**dict(zip((*names, "off", "vague"), row, strict=True)), total=total) for row in rows]


def facts(point: Point, curve: ReliabilityCurve) -> dict[str, str]:
    """Return what a point says when it is pointed at."""
    found = {
        "Predictions": point.range,
        "Rows": f"{count(point.count)} ({point.percentage})",
        "Mean prediction": number(point.predicted),
        "Frequency": number(point.observed),
    }
    if curve.low is not None:
        found[f"{percent(curve.level)} {LIMITS[curve.band]}"] = point.limits
    return found


MAX_POINTS = 300
"""A curve with more points is thinned: on a screen they would run together."""

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
    errors = [0.0 if curve.error is None else curve.error.value for curve in classwise.curves]
    worst = sorted(range(len(errors)), key=lambda i: (-errors[i], i))[:N_PANELS]
    return ClasswiseCurves(
        names=tuple(classwise.names[i] for i in worst),
        curves=tuple(thin_curve(replace(classwise.curves[i], histogram=None)) for i in worst),
        average=thin_curve(classwise.average),
    )


def thin_curve(curve: ReliabilityCurve) -> ReliabilityCurve:
    """Return a curve of at most `MAX_POINTS` points, each standing for its own rows and those up to the next."""
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
    """Return the rows to keep of points (m, d) along a curve: both ends, and those where something moves.

    A point is kept if any column has moved by a step since the last that was, and so is the point before it, so that
    jumps stay jumps. The step is as small as the number of points allows.
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
