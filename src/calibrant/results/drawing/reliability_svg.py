"""The curve and the bars of a reliability figure as SVG, for pages and notebooks."""

from collections.abc import Iterator

from calibrant.results.drawing import svg
from calibrant.results.drawing.reliability import Kind, ReliabilityFigure, Strip
from calibrant.results.drawing.svg import Element, Scale, element

LINES: dict[Kind, str] = {"faint": "curve vague", "plain": "curve", "off": "curve strong"}
"""CSS classes of the stretches of a curve."""

Scales = tuple[Scale, Scale]


def small_curve(figure: ReliabilityFigure, scales: Scales, radius: float) -> Iterator[Element]:
    """Draw a curve whose points show no numbers, with marks of at most this radius."""
    yield from lines(figure, scales)
    for i in range(0 if figure.is_line else len(figure.x)):
        yield element("g", *mark(figure, i, scales, 0, radius), class_="vague" if figure.vague[i] else None)


def lines(figure: ReliabilityFigure, scales: Scales) -> Iterator[Element]:
    """Draw the band, if the curve is a line, and the stretches of the curve."""
    x, y = scales[0].each(figure.x), scales[1].each(figure.y)
    if figure.is_line and figure.low is not None and figure.high is not None:
        yield svg.band(x, scales[1].each(figure.low), scales[1].each(figure.high), "band")
    for kind, parts in figure.lines.items():
        yield from (svg.polyline(x[part], y[part], LINES[kind]) for part in parts)


def place(figure: ReliabilityFigure, i: int, scales: Scales) -> tuple[float, float]:
    """Return where a mark is."""
    return scales[0](float(figure.x[i])), scales[1](float(figure.mark[i]))


def mark(figure: ReliabilityFigure, i: int, scales: Scales, shape: int, radius: float) -> Iterator[Element]:
    """Draw a point, with its whisker unless the curve is a line."""
    (x, y), beyond = place(figure, i, scales), int(figure.beyond[i])
    if not figure.is_line and figure.low is not None and figure.high is not None:
        class_ = "whisker soft" if figure.is_soft else "whisker"
        yield svg.line(x, scales[1](figure.low[i]), x, scales[1](figure.high[i]), class_)
    class_ = "marker off" if figure.off[i] else "marker"
    if beyond:
        yield svg.marker(3 if beyond > 0 else 4, x, y + 6 * beyond, 4.4, class_)  # Its tip is at the edge.
    else:
        yield svg.marker(shape, x, y, 4.0 if figure.is_line else radius * figure.size[i], class_)


def bars(rows: Strip, x: Scale, base: float, tall: float) -> Iterator[Element]:
    """Draw the distribution of the predictions as bars of at most this height."""
    spans = [(x(a), x(b)) for a, b in rows.spans]
    yield svg.bars(spans, [tall * v for v in rows.up.tolist()], base, "share")
    if rows.down is not None:
        yield svg.bars(spans, [-tall * v for v in rows.down.tolist()], base, "share rest")
