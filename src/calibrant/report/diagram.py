"""The reliability diagram: every curve on the same square axes, and how the predictions are spread below."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from calibrant.report import svg
from calibrant.report.series import Series
from calibrant.report.svg import Element, Scale, element
from calibrant.report.text import count, number, percent
from calibrant.results import ReliabilityCurve

LEFT, SIDE, TOP, RIGHT = 50.0, 380.0, 10.0, 12.0
BOTTOM = TOP + SIDE
STRIP, GAP = 28.0, 10.0
MANY_POINTS = 40
"""From here on a curve is drawn with a band: markers and whiskers would run together."""

VAGUE = 0.3
"""Points whose interval is wider than this are drawn faintly: few rows stand behind them, and they catch the eye."""

X = Scale(0, 1, LEFT, LEFT + SIDE)
Y = Scale(0, 1, BOTTOM, TOP)


@dataclass(frozen=True)
class Point:
    """One point of a curve, in numbers and in words."""

    predicted: float
    observed: float
    low: float
    high: float
    lower: float
    upper: float
    count: float
    weight: float
    total: float

    @property
    def share(self) -> float:
        """The weight, of that of all points."""
        return self.weight / self.total

    @property
    def percentage(self) -> str:
        """The share in words."""
        return f"{100 * self.share:.1f} %"

    @property
    def off(self) -> bool:
        """Whether the interval misses the diagonal."""
        return not self.low <= self.predicted <= self.high

    @property
    def vague(self) -> bool:
        """Whether the interval says little."""
        return self.high - self.low > VAGUE

    @property
    def range(self) -> str:
        """The predictions that the point summarises."""
        return f"{_position(self.lower)} to {_position(self.upper)}"

    @property
    def interval(self) -> str:
        """The confidence limits."""
        return f"{_position(self.low)} to {_position(self.high)}"


def _position(value: float) -> str:
    """Return a probability with three decimals: ends of intervals line up better than with significant digits."""
    return f"{value:.3f}" if 0 < value < 1 else number(value).removesuffix(".00")


def points(curve: ReliabilityCurve) -> list[Point]:
    """Return the points of a curve, in the order of the curve."""
    names = ("predicted", "observed", "low", "high", "lower", "upper", "count", "weight")
    columns = [getattr(curve, column).tolist() for column in names]
    total = float(curve.weight.sum()) or 1.0
    return [Point(**dict(zip(names, row, strict=True)), total=total) for row in zip(*columns, strict=True)]


def axis_titles(series: Sequence[Series]) -> tuple[str, str]:
    """Name the axes by what the curves compare."""
    if all(s.assessment.n_classes > 2 for s in series):
        return "Confidence in the predicted class", "How often it is right"
    return "Predicted probability", "Observed frequency"


def reliability_diagram(series: Sequence[Series]) -> Element:
    """Draw all curves."""
    horizontal, vertical = axis_titles(series)
    parts = [
        element("rect", x=LEFT, y=TOP, width=SIDE, height=SIDE, class_="frame"),
        *svg.grid(X, Y),
        svg.line(X(0), Y(0), X(1), Y(1), "diagonal"),
        *_hints(series),
        svg.axis_below(X, BOTTOM, horizontal),
        svg.axis_left(Y, LEFT, vertical),
        *(_curve(s) for s in series),
    ]
    return element(
        "svg",
        *parts,
        viewBox=_view(BOTTOM + 52),
        class_="chart diagram",
        role="group",
        aria_labelledby="diagram-title",
        aria_describedby="diagram-reading",
    )


def _view(height: float) -> str:
    return f"0 0 {svg.coordinate(LEFT + SIDE + RIGHT)} {svg.coordinate(height)}"


def _hints(series: Sequence[Series]) -> Iterator[Element]:
    confident = all(s.assessment.n_classes > 2 for s in series)
    above, below = ("under-confident", "over-confident") if confident else ("predicted too low", "predicted too high")
    yield svg.text(X(0.02), Y(0.95), above, "hint", "start")
    yield svg.text(X(0.98), Y(0.03), below, "hint", "end")


def _curve(series: Series) -> Element:
    own = points(series.assessment.curve)
    xs, ys = [X(p.predicted) for p in own], [Y(p.observed) for p in own]
    parts = [svg.polyline(xs, ys, "curve vague"), *_firm(own)]
    if len(own) < MANY_POINTS:
        parts += [_point(series, p, first=i == 0) for i, p in enumerate(own)]
    else:
        parts.insert(0, svg.band(xs, [Y(p.low) for p in own], [Y(p.high) for p in own], "band"))
    return element(
        "g",
        *parts,
        class_=series.style,
        data_series=str(series.index),
        hidden=None if series.shown else "",
        role="group",
        aria_label=f"Curve of {series.label}",
    )


def _firm(own: Sequence[Point]) -> Iterator[Element]:
    """Draw the stretches of a curve between points that are not vague."""
    for vague, stretch in groupby(own, key=lambda p: p.vague):
        if not vague:
            run = list(stretch)
            yield svg.polyline([X(p.predicted) for p in run], [Y(p.observed) for p in run], "curve")


def _point(series: Series, point: Point, *, first: bool) -> Element:
    level = percent(series.assessment.curve.level)
    facts = {
        "Predictions": point.range,
        "Rows": f"{count(point.count)} ({point.percentage})",
        "Mean prediction": number(point.predicted),
        "Frequency": number(point.observed),
        f"{level} interval": point.interval,
    }
    x, y = X(point.predicted), Y(point.observed)
    return element(
        "g",
        svg.line(x, Y(point.low), x, Y(point.high), "whisker"),
        element("circle", cx=x, cy=y, r=10, class_="target"),
        svg.marker(series.shape, x, y, 2.5 + 2.5 * point.share**0.5, "marker off" if point.off else "marker"),
        class_="point vague" if point.vague else "point",
        role="img",
        # One stop of the Tab key a curve; the arrow keys lead along it.
        tabindex="0" if first else "-1",
        aria_label=", ".join(f"{key} {value}" for key, value in facts.items()),
        data_tip="\n".join([series.label, *(f"{key}\t{value}" for key, value in facts.items())]),
    )


def strip(series: Series) -> Element:
    """Draw the share of the predictions in every bin, to stand below the diagram."""
    own = points(series.assessment.curve)
    largest = max((p.share for p in own), default=0.0) or 1.0
    heights = [STRIP * p.share / largest for p in own]
    base = GAP + STRIP
    return element(
        "svg",
        svg.line(X(0), base, X(1), base, "axis"),
        svg.bars([(X(p.lower), X(p.upper)) for p in own], heights, base, "share"),
        svg.text(LEFT - 7, GAP + 9, percent(round(largest, 2)), "tick", "end"),
        svg.marker(series.shape, LEFT - 12, base - 6, 4, "marker off"),
        viewBox=_view(base + 1),
        class_=f"chart diagram {series.style}",
        data_series=str(series.index),
        hidden=None if series.shown else "",
        role="img",
        aria_label=f"Spread of the predictions of {series.label}",
    )
