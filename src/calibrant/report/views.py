"""The views of the main diagram, between which a reader switches."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from calibrant._border.numerals import count, counted, number, percent, signed, significant
from calibrant.report.diagram import (
    Curves,
    X,
    Y,
    framed,
    layer,
    probes,
    reliability_diagram,
    stops,
    strip,
)
from calibrant.report.series import Series
from calibrant.results import CumulativeCurve, ReliabilityCurve
from calibrant.results.drawing import svg
from calibrant.results.drawing.reliability import is_dense
from calibrant.results.drawing.svg import Element, Scale, element


class Outcome(NamedTuple):
    """How sentences speak of what a curve predicts."""

    rarer: str
    more: str
    happened: str


OUTCOMES = {
    "class": Outcome("the event is rarer than predicted", "more frequent", "the event happened"),
    "top-label": Outcome("the model is right less often than it says", "more often", "the model is right"),
}
"""By the view of a curve: the probability of a class, or the confidence in the predicted class."""

DIAGONAL = "A calibrated model follows the dashed diagonal. Below it, {rarer}; above it, {more}."
ISOTONIC = (
    "The curve is the best non-decreasing fit to the outcomes; it needs no bins. The shaded band is where the curve of "
    "a calibrated model lies, at any one prediction, with probability {level}."
)
DENSE = "The curve is thick where it leaves the band."
SPARSE = (
    "The predictions have few distinct values{of}, so the curve is drawn point by point. The bar at a point is "
    "the band there, and a filled point lies outside it; larger points stand for more rows."
)
BINNED = (
    "Whiskers are {level} intervals of the frequency in each bin. A filled point is one whose interval misses the "
    "diagonal; larger points stand for more rows, and faint ones for too few to say much."
)
KERNEL = (
    "The curve is the frequency among rows with similar predictions, by kernel regression. The band is where the same "
    "estimate lies for a calibrated model; smoothing bends it, so it need not follow the diagonal."
)
BIAS = (
    "The bias of each bin, its mean prediction minus the frequency, on a scale of its own, so that small errors show. "
    "Above 0, {rarer}; below 0, {more}."
)
BIAS_LIMITS = (
    "Whiskers are {level} intervals, and a filled point is one whose interval misses 0. The axis fits the points that "
    "stand for 98% of the rows; triangles at its ends are points beyond it."
)
STRIPS = (
    "The strips below show the distribution of the predictions, on a square-root scale: above the line the rows where "
    "{happened}, below it the others. The number is the share of rows in the tallest bar."
)


class Kind(NamedTuple):
    """A view of reliability curves: its name on the page, and how it is read, before a sentence about the strips."""

    key: str
    label: str
    title: str
    reading: tuple[str, ...]
    tilted: bool = False


ISOTONIC_VIEW = Kind("isotonic", "Isotonic", "Isotonic regression, with its consistency band", (DIAGONAL, ISOTONIC))
BINNED_VIEW = Kind("binned", "Binned", "Bins, with confidence intervals", (DIAGONAL, BINNED))
KERNEL_VIEW = Kind("kernel", "Kernel", "Kernel regression, with its consistency band", (DIAGONAL, KERNEL))
BIAS_VIEW = Kind("bias", "Bias", "Prediction minus frequency", (BIAS, BIAS_LIMITS), tilted=True)


@dataclass(frozen=True)
class View:
    """One way to look at reliability."""

    key: str
    label: str
    title: str
    figure: Element
    strips: tuple[Element, ...]
    reading: tuple[str, ...]
    sheet: str
    """Place of the numbers in the data of an assessment."""


def views(series: Sequence[Series]) -> list[View]:
    """Return the views that the assessments have curves for; the page opens with the first."""
    binned, isotonic, kernel = _binned(series), named_curves(series, "isotonic"), named_curves(series, "kernel")
    found = [
        _view(series, isotonic, ISOTONIC_VIEW, "curves.isotonic", tuple(_drawn(series, isotonic))),
        _view(series, binned, BINNED_VIEW, "curve"),
        _view(series, kernel, KERNEL_VIEW, "curves.kernel"),
        _cumulative(series),
        _view(series, binned, BIAS_VIEW, "curve"),
    ]
    return [view for view in found if view is not None]


def _view(series: Sequence[Series], curves: Curves, kind: Kind, sheet: str, more: tuple[str, ...] = ()) -> View | None:
    """Return a view of these curves, if there are any."""
    if not curves:
        return None
    figure = reliability_diagram(series, curves, f"view-{kind.key}", tilted=kind.tilted)
    strips = tuple(strip(s, curves[s.index]) for s in series if s.index in curves)
    reading = (*_said(kind.reading, curves), *more, *_said([STRIPS], curves))
    return View(kind.key, kind.label, kind.title, figure, strips, reading, sheet)


def _said(sentences: Sequence[str], curves: Curves) -> tuple[str, ...]:
    """Fill the sentences below a diagram: those about confidence only if all of its curves are about it."""
    is_confidence = all(curve.view == "top-label" for curve in curves.values())
    outcome = OUTCOMES["top-label" if is_confidence else "class"]
    level = percent(next(iter(curves.values())).level)
    return tuple(sentence.format(level=level, **outcome._asdict()) for sentence in sentences)


def _drawn(series: Sequence[Series], curves: Curves) -> Iterator[str]:
    """Say how to see where curves leave their bands: curves with many points are lines, others are points."""
    sparse = [s.label for s in series if s.index in curves and not is_dense(curves[s.index])]
    if len(sparse) < len(curves):
        yield DENSE
    if sparse:
        yield SPARSE.format(of="" if len(sparse) == len(curves) else f" in {' and '.join(sparse)}")


def named_curves(series: Sequence[Series], name: str) -> dict[int, ReliabilityCurve]:
    """Return the curves of this name, by the number of their series."""
    return {s.index: s.assessment.curves[name] for s in series if name in s.assessment.curves}


def _binned(series: Sequence[Series]) -> dict[int, ReliabilityCurve]:
    return {s.index: s.curve for s in series}


def _cumulative(series: Sequence[Series]) -> View | None:
    figure = cumulative_diagram(series)
    if figure is None:
        return None
    return View("cumulative", "Cumulative", "Running sum of the errors", figure, (), reading(series), "cumulative")


PATH = (
    "Outcome minus prediction is added up over the rows, in ascending order of the prediction. Where the path falls, "
    "{rarer}; where it rises, {more}. Its slope is the size of the error. It needs no bins and no smoothing."
)
TRIANGLE = (
    "The triangle on the left reaches two standard deviations, under calibration, to both sides. Chance does not "
    "explain a path that goes much further."
)


def cumulative_diagram(series: Sequence[Series]) -> Element | None:
    """Draw all paths, or return None if there are none."""
    found = [(s, s.assessment.cumulative) for s in series if s.assessment.cumulative is not None]
    if not found:
        return None
    reach = max(_path_height(path) for _, path in found)
    y = Scale(-reach, reach, Y.start, Y.stop)
    layers = [layer(s, _path(s, path, y)) for s, path in found]
    zero = svg.line(X(0), y(0), X(1), y(0), "diagonal")
    titles = ("Share of the rows, by ascending prediction", "Sum of outcome minus prediction, per row")
    return framed([zero, *layers], y, titles, "view-cumulative")


def _path_height(path: CumulativeCurve) -> float:
    return 1.1 * max(float(abs(path.cumulative).max()), 2.2 * path.sigma) or 0.1


def _path(series: Series, path: CumulativeCurve, y: Scale) -> list[Element]:
    xs, ys = X.each(path.share), y.each(path.cumulative)
    worst = path.worst
    inside = [] if worst is None else [i for i, v in enumerate(path.share.tolist()) if worst.start <= v <= worst.stop]
    found = [(_at(path, i), (xs[i], ys[i])) for i in probes(len(xs))]
    return [
        _triangle(path.sigma, y),
        svg.polyline(xs, ys, "curve"),
        svg.polyline([xs[i] for i in inside], [ys[i] for i in inside], "curve strong"),
        *stops(series, found),
    ]


def _triangle(sigma: float, y: Scale) -> Element:
    tip, base = (X(0.045), y(0)), X(0)
    corners = [(base, y(2 * sigma)), tip, (base, y(-2 * sigma))]
    points = " ".join(f"{svg.coordinate(a)},{svg.coordinate(b)}" for a, b in corners)
    return element("polygon", points=points, class_="chance")


def reading(series: Sequence[Series]) -> tuple[str, ...]:
    """Say how to read the paths, and where the largest net errors are."""
    worst = (_worst(s, len(series) == 1) for s in series if s.assessment.cumulative is not None)
    return (*_said((PATH, TRIANGLE), _binned(series)), *worst)


def _worst(series: Series, single: bool) -> str:
    path = series.assessment.cumulative
    worst = None if path is None else path.worst
    of = "" if single else f" of {series.label}"
    if worst is None:
        return f"The path{of} never leaves 0."
    return (
        f"The largest net error{of} (thick) is in the predictions from {significant(worst.lower)} to "
        f"{significant(worst.upper)}: {percent(worst.predicted)} predicted, {percent(worst.observed)} observed in "
        f"{counted(worst.count)}."
    )


def _at(path: CumulativeCurve, i: int) -> dict[str, str]:
    share = float(path.share[i])
    return {
        "Predictions up to": number(float(path.predicted[i])),
        "Rows": f"{count(share * path.n_samples)} ({percent(share, 1)})",
        "Sum": signed(float(path.cumulative[i])),
    }
