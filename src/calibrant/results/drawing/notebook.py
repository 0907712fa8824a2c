"""What results show in notebooks: small tables and figures, without style sheet, script or template engine."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant._border import numerals as text
from calibrant._border.text import name, printable
from calibrant.results.drawing import sketches
from calibrant.results.drawing.reliability import worst_first
from calibrant.results.drawing.svg import Element, element
from calibrant.results.words import printed

if TYPE_CHECKING:
    from calibrant.results.advice import ForecastRecommendation, LearningCurve, Recommendation
    from calibrant.results.assessment import Assessment, Page, Verdict
    from calibrant.results.comparison import Comparison
    from calibrant.results.curves import ClasswiseCurves
    from calibrant.results.estimate import Estimate
    from calibrant.results.forecasts import ForecastAssessment
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

SKETCHES: dict[str, Callable[[Any], Element]] = {
    "ReliabilityCurve": sketches.reliability,
    "CumulativeCurve": sketches.cumulative,
    "PITHistogram": sketches.transforms,
    "QuantileCurve": sketches.quantiles,
}
"""The figures above what is printed, by the name of the class."""


def shown(result: "Readable") -> Element:
    """Return what a notebook shows of a result: its figures and tables or, if it has none, what is printed."""
    kinds = [kind.__name__ for kind in type(result).__mro__]
    show = next((TABLES[kind] for kind in kinds if kind in TABLES), None)
    if show is not None:
        return element("div", *show(result))
    figures = [SKETCHES[kind](result) for kind in kinds if kind in SKETCHES]
    rows = printed.rows(result)
    if figures:  # They show what is long.
        rows = [row for row in rows if not _is_long(getattr(result, row[0]))]
    lines = [(name if i == 0 else "", line) for name, said in rows for i, line in enumerate(said.split("\n"))]
    return element("div", *figures, _table((type(result).__name__, ""), lines))


def _is_long(value: object) -> bool:
    return isinstance(value, np.ndarray) or (is_dataclass(value) and not hasattr(value, "value"))
