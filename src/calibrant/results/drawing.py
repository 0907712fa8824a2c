"""Decisions that all drawings of reliability curves share: words, colours, points that are off or vague."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from calibrant._border.numerals import number, percent
from calibrant._border.types import BoolArray

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from calibrant.results.curves import ReliabilityCurve

BLUE, RED = "#0072B2", "#D55E00"
"""Colours of a curve and of what is off: they stay apart for colour-blind readers and in print."""

MANY_POINTS = 40
"""From here on a curve is a line with a band: markers and whiskers would run together."""

VAGUE = 0.3
"""Points with a wider confidence interval are drawn faintly: few rows stand behind them, yet they catch the eye."""

LIMITS = {"confidence": "interval", "consistency": "band"}
"""What the limits of a curve are called, by the kind of its band."""


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
