"""The parts of a score: uncertainty, minus what the predictions explain, plus what miscalibration costs."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from calibrant._border.numerals import number, signed
from calibrant.report.series import Series
from calibrant.results import ScoreDecomposition
from calibrant.results.drawing import svg
from calibrant.results.drawing.svg import Element, Scale, element

NAMES = {"squared-error": "Squared error", "log": "Log loss"}
LEFT, WIDTH, ROW, BAR, TOP = 104.0, 200.0, 26.0, 15.0, 4.0


@dataclass(frozen=True)
class Bar:
    """One bar of the waterfall from 0 to the score."""

    label: str
    start: float
    stop: float
    written: str
    class_: str


def shown_scores(series: Sequence[Series]) -> list[str]:
    """Return the scores that some assessment splits into finite parts, in the order of the first."""
    found = dict.fromkeys(d.score for s in series for d in s.assessment.decompositions if _is_finite(d))
    return [*found]


def find(series: Series, score: str) -> ScoreDecomposition | None:
    """Return the parts of a score, if they are finite."""
    return next((d for d in series.assessment.decompositions if d.score == score and _is_finite(d)), None)


def _is_finite(parts: ScoreDecomposition) -> bool:
    return isfinite(parts.value) and isfinite(parts.miscalibration)


def bars(parts: ScoreDecomposition) -> list[Bar]:
    """Return the steps of the waterfall, top down."""
    left = parts.uncertainty - parts.discrimination
    return [
        Bar("Uncertainty", 0.0, parts.uncertainty, number(parts.uncertainty), "part unc"),
        Bar("Discrimination", left, parts.uncertainty, signed(-parts.discrimination), "part dsc"),
        Bar("Miscalibration", left, left + parts.miscalibration, signed(parts.miscalibration), "part mcb"),
        Bar("Score", 0.0, parts.value, number(parts.value), "part whole"),
    ]


def limit(series: Sequence[Series], score: str) -> float:
    """Return the end of a scale that all waterfalls of a score share."""
    found = [parts for s in series if (parts := find(s, score)) is not None]
    return 1.02 * max((bar.stop for parts in found for bar in bars(parts)), default=1.0) or 1.0


def waterfall(parts: ScoreDecomposition, end: float, label: str) -> Element:
    """Draw the steps, each from where the one above ended."""
    x = Scale(0, end, LEFT, LEFT + WIDTH)
    steps = bars(parts)
    drawn = [shape for i, bar in enumerate(steps) for shape in _step(bar, x, TOP + i * ROW)]
    joints = _joints(x, (steps[0].stop, 0), (steps[1].start, 1), (steps[2].stop, 2))
    base = TOP + len(steps) * ROW
    axis = svg.line(x(0), TOP - 2, x(0), base - 4, "axis")
    words = ", ".join(f"{bar.label} {bar.written}" for bar in steps)
    return svg.image([axis, joints, *drawn], LEFT + WIDTH + 64, base, f"{label}: {words}", "chart parts")


def _joints(x: Scale, *ends: tuple[float, int]) -> Element:
    lines = [svg.line(x(v), TOP + i * ROW + BAR, x(v), TOP + (i + 1) * ROW + 2, "joint") for v, i in ends]
    return element("g", *lines)


def _step(bar: Bar, x: Scale, y: float) -> tuple[Element, Element, Element]:
    left, right = x(bar.start), x(bar.stop)
    return (
        svg.text(LEFT - 8, y + 13, bar.label, "label", "end"),
        element("rect", x=left, y=y + 2, width=max(right - left, 1.0), height=BAR, rx=1, class_=bar.class_),
        svg.text(right + 6, y + 13, bar.written, "value", "start"),
    )


def score_name(series: Sequence[Series], score: str) -> str:
    """Return the name of a score, with what is scored."""
    label = NAMES.get(score, score)
    if all(s.assessment.n_classes > 2 for s in series):
        return f"{label} of the confidence"
    return f"{label} (half the Brier score)" if score == "squared-error" else label


def subject(series: Sequence[Series]) -> str:
    """Say what the scores are about."""
    if all(s.assessment.n_classes > 2 for s in series):
        return "With more than two classes, the event is that the predicted class is right."
    return ""
