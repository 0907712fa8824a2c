"""The running sum of outcomes minus predictions, drawn against the share of the rows."""

from collections.abc import Sequence

from calibrant.report import svg
from calibrant.report.diagram import X, Y, framed, layer, speaking
from calibrant.report.series import Series
from calibrant.report.svg import Element, Scale, element
from calibrant.results import CumulativeCurve
from calibrant.results.writing import count, number, percent, signed

PATH = (
    "Rows are taken in ascending order of the prediction, and outcome minus prediction is added up. Where the path "
    "falls, the event is rarer than predicted; where it rises, more frequent. Its slope is the size of the error. It "
    "needs no bins and no smoothing."
)
TRIANGLE = (
    "The triangle at the left reaches two standard deviations, under calibration, to both sides. A path that goes much "
    "further is not chance."
)

N_PROBES = 25


def cumulative_diagram(series: Sequence[Series]) -> Element | None:
    """Draw all paths, or return None if there are none."""
    found = [(s, s.assessment.cumulative) for s in series if s.assessment.cumulative is not None]
    if not found:
        return None
    reach = max(_reach(path) for _, path in found)
    y = Scale(-reach, reach, Y.start, Y.stop)
    layers = [layer(s, _path(s, path, y)) for s, path in found]
    zero = svg.line(X(0), y(0), X(1), y(0), "diagonal")
    titles = ("Share of the rows, by ascending prediction", "Sum of outcome minus prediction, per row")
    return framed([zero, *layers], y, titles, "view-cumulative")


def _reach(path: CumulativeCurve) -> float:
    return 1.1 * max(float(abs(path.cumulative).max()), 2.2 * path.sigma) or 0.1


def _path(series: Series, path: CumulativeCurve, y: Scale) -> list[Element]:
    xs, ys = [X(v) for v in path.share.tolist()], [y(v) for v in path.cumulative.tolist()]
    worst = path.worst
    inside = [] if worst is None else [i for i, v in enumerate(path.share.tolist()) if worst.start <= v <= worst.stop]
    step = max(1, len(xs) // N_PROBES)
    return [
        _triangle(path.sigma, y),
        svg.polyline(xs, ys, "curve"),
        svg.polyline([xs[i] for i in inside], [ys[i] for i in inside], "curve strong"),
        *(_probe(series, path, i, y, first=i == 0) for i in range(0, len(xs), step)),
    ]


def _triangle(sigma: float, y: Scale) -> Element:
    tip, base = (X(0.045), y(0)), X(0)
    corners = [(base, y(2 * sigma)), tip, (base, y(-2 * sigma))]
    points = " ".join(f"{svg.coordinate(a)},{svg.coordinate(b)}" for a, b in corners)
    return element("polygon", points=points, class_="chance")


def reading(series: Sequence[Series]) -> tuple[str, ...]:
    """Say how to read the paths, and where the largest net errors are."""
    return (PATH, TRIANGLE, *(_worst(s, len(series) == 1) for s in series if s.assessment.cumulative is not None))


def _worst(series: Series, single: bool) -> str:
    path = series.assessment.cumulative
    worst = None if path is None else path.worst
    of = "" if single else f" of {series.label}"
    if worst is None:
        return f"The path{of} never leaves 0."
    return (
        f"The largest net error{of} (thick) is in the predictions from {worst.lower:.3g} to {worst.upper:.3g}: "
        f"{percent(worst.predicted)} predicted, {percent(worst.observed)} observed in {count(worst.count)} rows."
    )


def _probe(series: Series, path: CumulativeCurve, i: int, y: Scale, *, first: bool) -> Element:
    share, value = float(path.share[i]), float(path.cumulative[i])
    said = {
        "Predictions up to": number(float(path.predicted[i])),
        "Rows": f"{count(share * path.n_samples)} ({100 * share:.1f}%)",
        "Sum": signed(value),
    }
    marker = svg.marker(series.shape, X(share), y(value), 4, "marker off")
    return speaking(series, said, (X(share), y(value)), [marker], "point probe", first=first)
