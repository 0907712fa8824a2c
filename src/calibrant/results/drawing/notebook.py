"""What results show in notebooks: small tables and figures, without style sheet, script or template engine."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant._border import numerals as text
from calibrant._border.text import name, printable
from calibrant._border.types import FloatArray
from calibrant.results.drawing import BLUE, RED, svg
from calibrant.results.drawing.reliability import WORDS, reliability_figure, spread, worst_first
from calibrant.results.drawing.reliability_svg import bars, small_curve
from calibrant.results.drawing.svg import Element, Scale, element
from calibrant.results.drawing.thinning import evenly_spaced, thin_curve
from calibrant.results.words import printed

if TYPE_CHECKING:
    from calibrant.results.advice import ForecastRecommendation, LearningCurve, Recommendation
    from calibrant.results.assessment import Assessment, Page, Verdict
    from calibrant.results.comparison import Comparison
    from calibrant.results.curves import ClasswiseCurves, CumulativeCurve, ReliabilityCurve
    from calibrant.results.estimate import Estimate
    from calibrant.results.forecasts import ForecastAssessment, PITHistogram, QuantileCurve
    from calibrant.results.readable import Readable

FEW_METRICS = 6
"""Number of metrics that an assessment shows at first."""

MOST_ROWS = 60
"""A table with more rows is cut off, and says so."""


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Element:
    cells = [[element("td", name(cell, 200) if cell else "") for cell in row] for row in rows[:MOST_ROWS]]
    lines = [element("tr", *row) for row in cells]
    if len(rows) > MOST_ROWS:
        more = f"and {text.count(len(rows) - MOST_ROWS)} more"
        lines.append(element("tr", element("td", more, colspan=str(len(head)))))
    titles = element("tr", *(element("th", name(title) if title else "") for title in head))
    return element("table", element("thead", titles), element("tbody", *lines or [element("tr")]))


def _sentences(headline: str, *others: str) -> list[Element]:
    """Show a bold sentence and others below it."""
    bold = element("p", element("b", printable(headline)))
    return [bold, *(element("p", printable(other)) for other in others if other)]


def _metrics(metrics: "Mapping[str, Estimate]") -> list[Element]:
    """Show the first few metrics, and all on request; nothing where none was computed."""
    if not metrics:
        return []
    rows = [(str(key), text.number(one.value)) for key, one in metrics.items()]
    head = ("metric", "value")
    if len(rows) <= FEW_METRICS:
        return [_table(head, rows)]
    more = element("details", element("summary", f"all {len(rows)} metrics"), _table(head, rows))
    return [_table(head, rows[:FEW_METRICS]), more]


def _verdict(result: "Verdict") -> list[Element]:
    return _sentences(result.headline, result.explanation)


def _page(result: "Page") -> list[Element]:
    """Show the page in a sandboxed frame, which cannot reach the notebook."""
    style = "width: 100%; height: 40em; border: 1px solid #ccc"
    sandbox = "allow-scripts allow-downloads"
    return [element("iframe", "", srcdoc=result.html, sandbox=sandbox, style=style, title=result.title)]


def _assessment(result: "Assessment | ForecastAssessment") -> list[Element]:
    """Show the verdict and the first metrics."""
    title = element("p", f"{name(result.name)}: {text.count(result.n_samples)} rows")
    return [title, *_verdict(result.verdict), *_metrics(result.metrics)]


def _comparison(result: "Comparison") -> list[Element]:
    """Show every metric of every model, with the difference from the baseline."""
    rows = []
    for metric in result.metrics:
        row = [metric]
        for model in result.models:
            entry = result.entry(model, metric)
            cell = text.number(entry.value)
            if entry.difference is not None:
                cell += f" ({text.signed(entry.difference.value)}, {text.pvalue(entry.difference.adjusted)})"
            row.append(cell)
        rows.append(row)
    note = (
        f"{text.count(result.n_samples)} rows. In brackets: the difference from {name(result.baseline)}, and its "
        "p-value by Holm's method."
    )
    return [_table(("metric", *result.models), rows), element("p", note)]


def _recommendation(result: "Recommendation") -> list[Element]:
    columns = {"accuracy": text.number, "ECE": text.number, "classes changed": text.percent}
    return _advice(result, columns, [(one.accuracy, one.ece, one.changed) for one in result.candidates])


def _forecast_recommendation(result: "ForecastRecommendation") -> list[Element]:
    columns = {"MACE": text.number, "coverage of 90%": text.percent}
    return _advice(result, columns, [(one.mace, one.coverage) for one in result.candidates])


def _advice(
    result: "Recommendation | ForecastRecommendation",
    columns: Mapping[str, Callable[[float], str]],
    values: Sequence[Sequence[float | None]],
) -> list[Element]:
    """Show the advice, its reasons and the candidates."""
    rows = []
    for one, found in zip(result.candidates, values, strict=True):
        cells = ["" if v is None else write(v) for write, v in zip(columns.values(), found, strict=True)]
        gain = "" if one.over_nothing is None else text.signed(one.over_nothing.value)
        rows.append((one.name, text.number(one.loss), *cells, gain))
    head = ("calibrator", f"loss ({result.score})", *columns, "over doing nothing")
    return [*_sentences(result.headline, *result.reasons), _table(head, rows)]


def _classwise(result: "ClasswiseCurves") -> list[Element]:
    """Show the error of every class, the largest first."""
    errors = [curve.error for curve in result.curves]
    values = ["none" if error is None else text.number(error.value) for error in errors]
    rows = [(result.names[k], values[k]) for k in worst_first(result.curves)]
    return [_table(("class", "error"), rows)]


def _learning(result: "LearningCurve") -> list[Element]:
    """Show the points of all curves."""
    head = ("calibrator", "metric", "rows", "value", "change")
    number = text.number
    rows = [(p.calibrator, p.metric, text.count(p.size), number(p.value), number(p.change)) for p in result.points]
    return [_table(head, rows)]


SIDE, LEFT, BELOW, STRIP = 200.0, 56.0, 34.0, 14.0

STYLES = {
    "axis": {"stroke": "currentColor", "stroke-opacity": "0.4"},
    "band": {"fill": "currentColor", "fill-opacity": "0.15"},
    "curve": {"fill": "none", "stroke": BLUE, "stroke-width": "1.4"},
    "curve strong": {"fill": "none", "stroke": RED, "stroke-width": "2.6"},
    "curve vague": {"fill": "none", "stroke": BLUE, "stroke-width": "0.8", "stroke-opacity": "0.4"},
    "diagonal": {"stroke": "currentColor", "stroke-opacity": "0.6", "stroke-dasharray": "4 3"},
    "frame": {"fill": "none", "stroke": "currentColor", "stroke-opacity": "0.4"},
    "marker": {"fill": BLUE},
    "marker off": {"fill": RED},
    "share": {"fill": BLUE},
    "share rest": {"fill": "currentColor", "fill-opacity": "0.3"},
    "tick": {"font-size": "11", "font-family": "sans-serif", "fill": "currentColor"},
    "vague": {"opacity": "0.4"},
    "whisker": {"stroke": BLUE},
    "whisker soft": {"stroke": "currentColor", "stroke-width": "6", "stroke-opacity": "0.2"},
}
"""The style of each CSS class of the page: a notebook has no style sheet of ours."""


def _inline(drawn: Element) -> Element:
    """Replace the CSS class of an element, and of all within it, by its attributes."""
    own = {key: value for key, value in drawn.attributes.items() if key != "class"}
    inner = tuple(_inline(child) if isinstance(child, Element) else child for child in drawn.children)
    return Element(drawn.tag, {**own, **STYLES.get(drawn.attributes.get("class", ""), {})}, inner)


def _frame(x: Scale, y: Scale, titles: tuple[str, str], marks: Iterable[Element], above: float = 0.0) -> Element:
    """Put marks between labelled axes in the colour of the page's text, with room above them."""
    ends = [
        element("rect", x=LEFT, y=6, width=SIDE, height=SIDE, class_="frame"),
        *(svg.text(x(value), SIDE + 19, written, "tick") for value, written in x.ticks(2)),
        *(svg.text(LEFT - 4, y(value) + 4, written, "tick", "end") for value, written in y.ticks(3)),
        svg.text(LEFT + SIDE / 2, SIDE + 32, titles[0], "tick"),
        svg.turned(titles[1], 10, SIDE / 2 + 6, "tick"),
    ]
    size = {"width": LEFT + SIDE + 8, "height": SIDE + 6 + BELOW + above}
    view = f"0 {svg.coordinate(-above)} {svg.coordinate(size['width'])} {svg.coordinate(size['height'])}"
    label = f"{titles[1]} against {titles[0]}"
    return _inline(element("svg", *marks, *ends, viewBox=view, role="img", aria_label=label, **size))


def _pixels(scale: Scale, values: FloatArray) -> list[float]:
    """Return the pixels of some points of a line: a notebook keeps every figure that it shows."""
    return scale.each(values[evenly_spaced(len(values))])


def _unit() -> tuple[Scale, Scale]:
    return Scale(0, 1, LEFT, LEFT + SIDE), Scale(0, 1, SIDE + 6, 6)


def _reliability(curve: "ReliabilityCurve") -> Element:
    """Draw what the page draws, with the points that are off in red."""
    (x, y), curve, words = _unit(), thin_curve(curve), WORDS[curve.view]
    marks = [
        *bars(spread(curve), x, -STRIP, STRIP),
        svg.line(x(0), -STRIP, x(1), -STRIP, "axis"),
        svg.line(x(0), y(0), x(1), y(1), "diagonal"),
        *small_curve(reliability_figure(curve), (x, y), 4.0),
    ]
    return _frame(x, y, (words.horizontal, words.vertical), marks, 2 * STRIP)


def _quantiles(curve: "QuantileCurve") -> Element:
    """Draw observed against nominal coverage, with the limits of chance."""
    x, y = _unit()
    at, (low, high) = _pixels(x, curve.nominal), (_pixels(y, limit) for limit in (curve.low, curve.high))
    marks = [svg.band(at, low, high, "band"), svg.line(x(0), y(0), x(1), y(1), "diagonal")]
    line = svg.polyline(at, _pixels(y, curve.observed), "curve")
    return _frame(x, y, ("nominal coverage", "observed"), [*marks, line])


def _cumulative(curve: "CumulativeCurve") -> Element:
    """Draw the running sum, and two standard deviations of its end to either side."""
    ends = np.append(curve.cumulative, [-2 * curve.sigma, 2 * curve.sigma])
    low, high = float(ends.min()), float(ends.max())
    room = 0.05 * (high - low) or 1.0
    x, y = _unit()[0], Scale(low - room, high + room, SIDE + 6, 6)
    chance = svg.band([x(0), x(1)], [y(-2 * curve.sigma)] * 2, [y(2 * curve.sigma)] * 2, "band")
    path = svg.polyline(_pixels(x, curve.share), _pixels(y, curve.cumulative), "curve")
    marks = [chance, svg.line(x(0), y(0), x(1), y(0), "diagonal"), path]
    return _frame(x, y, ("share of rows", "sum of outcome - prediction"), marks)


def _transforms(histogram: "PITHistogram") -> Element:
    """Draw the counts as bars, red beyond the limits of chance."""
    top = 1.1 * float(max(histogram.count.max(), histogram.high.max()))
    x, y = Scale(0, 1, LEFT, LEFT + SIDE), Scale(0, top, SIDE + 6, 6)
    edges = [*histogram.lower.tolist(), float(histogram.upper[-1])]
    off = (histogram.count < histogram.low) | (histogram.count > histogram.high)
    spans, heights = [(x(a), x(b)) for a, b in pairwise(edges)], [y(0) - y(v) for v in histogram.count.tolist()]
    marks = [
        svg.bars(spans, [tall * here for tall, here in zip(heights, chosen.tolist(), strict=True)], y(0), class_)
        for chosen, class_ in ((~off, "share"), (off, "marker off"))
    ]
    flat = svg.line(x(0), y(histogram.expected), x(1), y(histogram.expected), "diagonal")
    return _frame(x, y, ("probability integral transform", "targets"), [*marks, flat])


TABLES: dict[str, Callable[[Any], list[Element]]] = {
    "Verdict": _verdict,
    "Assessment": _assessment,
    "ForecastAssessment": _assessment,
    "Page": _page,
    "Comparison": _comparison,
    "Recommendation": _recommendation,
    "ForecastRecommendation": _forecast_recommendation,
    "ClasswiseCurves": _classwise,
    "LearningCurve": _learning,
}
"""What is shown instead of what is printed, by the name of the class."""

FIGURES: dict[str, Callable[[Any], Element]] = {
    "ReliabilityCurve": _reliability,
    "CumulativeCurve": _cumulative,
    "PITHistogram": _transforms,
    "QuantileCurve": _quantiles,
}
"""The figures above what is printed, by the name of the class."""


def shown(result: "Readable") -> Element:
    """Return what a notebook shows of a result: its figures and tables or, if it has none, what is printed."""
    kinds = [kind.__name__ for kind in type(result).__mro__]
    show = next((TABLES[kind] for kind in kinds if kind in TABLES), None)
    if show is not None:
        return element("div", *show(result))
    figures = [FIGURES[kind](result) for kind in kinds if kind in FIGURES]
    rows = printed.rows(result)
    if figures:  # They show what is long.
        rows = [row for row in rows if not _is_long(getattr(result, row[0]))]
    lines = [(name if i == 0 else "", line) for name, said in rows for i, line in enumerate(said.split("\n"))]
    return element("div", *figures, _table((type(result).__name__, ""), lines))


def _is_long(value: object) -> bool:
    return isinstance(value, np.ndarray) or (is_dataclass(value) and not hasattr(value, "value"))
