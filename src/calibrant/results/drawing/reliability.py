"""What all drawings of reliability curves share: geometry in data coordinates, words, and points that are off or vague.

The page, notebooks and matplotlib draw what stands here.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np

from calibrant._border.numerals import number, percent
from calibrant._border.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from calibrant.results.curves import ReliabilityCurve

MANY_POINTS = 40
"""From here on a curve is a line with a band: markers and whiskers would run together."""

VAGUE = 0.3
"""Points with a wider confidence interval are drawn faintly: few rows stand behind them, yet they catch the eye."""


@dataclass(frozen=True)
class Words:
    """What a figure calls its axes, the two outcomes, and the sides of its diagonal."""

    horizontal: str
    vertical: str
    event: str
    other: str
    above: str
    below: str


WORDS = {
    "class": Words(
        "Predicted probability", "Observed frequency", "event", "no event", "predicted too low", "predicted too high"
    ),
    "top-label": Words(
        "Confidence in the predicted class",
        "How often it is right",
        "right",
        "wrong",
        "under-confident",
        "over-confident",
    ),
}
"""By the view of a curve."""


def words_of(curves: "Iterable[ReliabilityCurve]", *, tilted: bool = False) -> Words:
    """Return the words of a figure: confidence only if all of its curves are about it.

    A tilted figure shows the bias, prediction minus frequency: what was below the diagonal is above 0.
    """
    words = WORDS["top-label" if all(curve.view == "top-label" for curve in curves) else "class"]
    if not tilted:
        return words
    return replace(words, vertical="Prediction minus frequency", above=words.below, below=words.above)


def is_dense(curve: "ReliabilityCurve") -> bool:
    """Return whether the curve is drawn as a line rather than as points."""
    return len(curve.predicted) >= MANY_POINTS


def judged_points(curve: "ReliabilityCurve") -> tuple[BoolArray, BoolArray]:
    """Mark the points that speak against calibration, and those whose confidence interval says little."""
    none = np.zeros(len(curve.predicted), dtype=bool)
    if curve.low is None or curve.high is None:
        return none, none
    has_intervals = curve.band == "confidence"
    reference = curve.predicted if has_intervals else curve.observed
    off = (reference < curve.low) | (reference > curve.high)
    return off, curve.high - curve.low > VAGUE if has_intervals else none


def runs(marked: BoolArray) -> list[slice]:
    """Return the runs of at least two consecutive marked points.

    Examples
    --------
    >>> runs(np.array([True, False, True, True]))
    [slice(2, 4, None)]
    """
    edges = np.flatnonzero(np.diff(marked, prepend=False, append=False))
    return [slice(first, last) for first, last in edges.reshape(-1, 2).tolist() if last - first > 1]


def limits_label(curve: "ReliabilityCurve") -> str:
    """Say what the limits of the curve are.

    Examples
    --------
    >>> from calibrant import Predictions, reliability_curve
    >>> limits_label(reliability_curve(Predictions([0.2, 0.4, 0.9], labels=[0, 1, 1])))
    '95% confidence interval'
    """
    noun = "band" if is_dense(curve) else "interval"
    return f"{percent(curve.level)} {curve.band} {noun}{', simultaneous' if curve.simultaneous else ''}"


def error_text(curve: "ReliabilityCurve") -> str:
    """Return the name and value of the curve's error; an empty text if it has none."""
    return "" if curve.error is None else f"{curve.error.name} {number(curve.error.value)}"


def worst_first(curves: "Sequence[ReliabilityCurve]") -> list[int]:
    """Return the indices of the curves by descending error; curves without an error come last."""
    errors = [-1.0 if curve.error is None else curve.error.value for curve in curves]
    return sorted(range(len(errors)), key=lambda i: -errors[i])


FIRM = 0.98
"""The axis of a tilted figure fits the points nearest to 0 that stand for this share of the rows."""

ROOM = 1.9
"""These points take about half of the vertical axis: the rest is for points beyond them, and for words at its ends."""

Kind = Literal["faint", "plain", "off"]
"""How a stretch of the curve is drawn."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ReliabilityFigure:
    """What is drawn of a curve of m points, and where; arrays have length m, and the horizontal axis is 0 to 1."""

    ends: tuple[float, float]
    """Ends of the vertical axis."""
    calibrated: tuple[float, float]
    """Heights, at both ends of the horizontal axis, of the line that a calibrated model follows."""
    x: FloatArray
    y: FloatArray
    low: FloatArray | None
    high: FloatArray | None
    size: FloatArray
    """Diameters of the marks relative to that of a mark for all rows; at least one half, so that all can be seen."""
    beyond: IntArray
    """1 and -1 for points above and below the axis, which are marked by triangles at its end; 0 for others."""
    mark: FloatArray
    """Heights of the marks: those of the points or, beyond the axis, its end."""
    off: BoolArray
    """Whether each point speaks against calibration."""
    vague: BoolArray
    """Whether the interval of each point says little."""
    is_line: bool
    """Whether the curve is a line with a band. If not, every point has a mark, and a whisker to its limits."""
    is_soft: bool
    """Whether the limits are where calibrated predictions lie: whiskers are then wide and pale, behind the marks."""
    lines: Mapping[Kind, list[slice]]
    """Ranges of points that are joined, by how they are drawn."""
    limits_label: str
    off_label: str


def reliability_figure(
    curve: "ReliabilityCurve", *, tilted: bool = False, end: float | None = None
) -> ReliabilityFigure:
    """Return the geometry of a curve.

    Parameters
    ----------
    curve : "ReliabilityCurve"
    tilted : bool, default=False
        Whether heights are the bias, prediction minus frequency, on an axis of their own.
    end : float, optional
        The end of the tilted axis; by default what this curve needs. Curves on the same axes share one (`tilted_end`).

    Examples
    --------
    >>> from calibrant import Predictions, reliability_curve
    >>> curve = reliability_curve(Predictions([0.25, 0.25, 0.75, 0.75], labels=[0, 1, 1, 1]))
    >>> reliability_figure(curve).y, reliability_figure(curve, tilted=True).y
    (array([0.5, 1. ]), array([-0.25, -0.25]))
    """
    end = (tilted_end([curve]) if end is None else end) if tilted else 1.0
    y, low, high = _heights(curve, tilted=tilted)
    (off, vague), is_line = judged_points(curve), is_dense(curve)
    misses = "limits miss 0" if tilted else "limits miss the diagonal"
    ends = (-end if tilted else 0.0, end)
    return ReliabilityFigure(
        ends=ends,
        calibrated=(0.0, 0.0 if tilted else 1.0),
        x=curve.predicted,
        y=y,
        low=low,
        high=high,
        size=0.5 + 0.5 * np.sqrt(curve.weight / (float(curve.weight.sum()) or 1.0)),
        beyond=(y > end).astype(int) - (y < -end),
        mark=np.clip(y, *ends),
        off=off,
        vague=vague,
        is_line=is_line,
        is_soft=curve.band == "consistency",
        lines=_lines(off, vague, is_line=is_line),
        limits_label=limits_label(curve),
        off_label=misses if curve.band == "confidence" else "outside the band",
    )


def _heights(curve: "ReliabilityCurve", *, tilted: bool) -> tuple[FloatArray, FloatArray | None, FloatArray | None]:
    """Return the heights of the points, and of their limits."""
    if not tilted:
        return curve.observed, curve.low, curve.high
    low, high = (None if limit is None else curve.predicted - limit for limit in (curve.high, curve.low))
    return curve.predicted - curve.observed, low, high


def _lines(off: BoolArray, vague: BoolArray, *, is_line: bool) -> Mapping[Kind, list[slice]]:
    """Return the stretches to draw: lines again where they are off; between points that say little, faint ones."""
    whole = runs(np.ones(len(off), dtype=bool))
    if is_line:
        return {"plain": whole, "off": runs(off)}
    return {"faint": whole if vague.any() else [], "plain": runs(~vague)}


def tilted_end(curves: "Sequence[ReliabilityCurve]") -> float:
    """Return the end of the vertical axis of tilted figures, which fits the points of all curves that `FIRM` selects.

    Examples
    --------
    >>> from calibrant import Predictions, reliability_curve
    >>> from dataclasses import replace
    >>> curve = reliability_curve(Predictions([0.25, 0.25, 0.75, 0.75], labels=[0, 1, 1, 1]))
    >>> tilted_end([replace(curve, low=None, high=None)])  # 1.9 times 0.25.
    0.475
    """
    return max((reach for curve in curves for reach in _reaches(curve)), default=0.0) or 0.1


def _reaches(curve: "ReliabilityCurve") -> tuple[float, float]:
    """Return the end of the axis that the points need, and the end that they need with their limits."""
    heights = [np.abs(h) for h in _heights(curve, tilted=True) if h is not None]
    return ROOM * _firm(heights[0], curve.weight), 1.1 * _firm(np.max(heights, axis=0), curve.weight)


def _firm(values: FloatArray, weight: FloatArray) -> float:
    """Return the quantile of the values at the share `FIRM` of the weight."""
    order = np.argsort(values)
    weights = np.cumsum(weight[order])
    last = int(np.searchsorted(weights, FIRM * weights[-1]))
    return float(values[order[min(last, len(order) - 1)]])


@dataclass(frozen=True, eq=False)
class Strip:
    """The distribution of the predictions: where bars stand, and their heights; the tallest has height 1."""

    spans: list[tuple[float, float]]
    up: FloatArray
    """Heights for rows with the event; for all rows if the curve has no histogram."""
    down: FloatArray | None
    """Heights for the other rows."""
    largest: str
    """The share of the rows in the tallest bar, as it is written beside it."""


def spread(curve: "ReliabilityCurve") -> Strip:
    """Return the distribution of the predictions.

    Heights are square roots, because nearly all rows of a confident model are at one end, and the others would vanish.

    Examples
    --------
    >>> from calibrant import Predictions, reliability_curve
    >>> from dataclasses import replace
    >>> curve = reliability_curve(Predictions([0.9, 0.9, 0.9, 0.9, 0.1], labels=[1, 1, 1, 1, 0]))
    >>> spread(replace(curve, histogram=None)).up
    array([0.5, 1. ])
    """
    cells, rows = curve.histogram, curve.weight[None]
    spans = list(zip(curve.lower.tolist(), curve.upper.tolist(), strict=True))
    if cells is not None:
        spans, rows = list(pairwise(cells.edges.tolist())), np.array([cells.positives, cells.negatives])
    largest = float(rows.max(initial=0.0)) or 1.0
    heights, share = np.sqrt(rows / largest), largest / (float(rows.sum()) or 1.0)
    return Strip(spans, heights[0], None if cells is None else heights[1], percent(round(share, 2)))
