"""What results show in notebooks: small tables, without style sheet, script or template engine.

All text is escaped.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from calibrant._border import numerals as text
from calibrant.results.advice import ForecastRecommendation, LearningCurve, Recommendation
from calibrant.results.assessment import Assessment, Page, TestResult, Verdict
from calibrant.results.comparison import Comparison
from calibrant.results.curves import ClasswiseCurves, CumulativeCurve, ReliabilityCurve
from calibrant.results.drawing import sketches
from calibrant.results.drawing.reliability import worst_first
from calibrant.results.drawing.svg import Element, element
from calibrant.results.estimate import Estimate, Measures
from calibrant.results.forecasts import ForecastAssessment, PITHistogram, QuantileCurve
from calibrant.results.readable import Readable
from calibrant.results.words import names
from calibrant.results.words.parts import parts_in_words

FEW_METRICS = 6
"""Number of metrics that an assessment shows at first."""

MOST_ROWS = 60
"""A table with more rows is cut off, and says so."""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Element:
    listed = list(rows)
    lines = [element("tr", *(element("td", names.name(cell, 200)) for cell in row)) for row in listed[:MOST_ROWS]]
    if len(listed) > MOST_ROWS:
        lines.append(
            element("tr", element("td", f"and {text.count(len(listed) - MOST_ROWS)} more", colspan=str(len(head))))
        )
    titles = element("tr", *(element("th", names.name(title) if title else "") for title in head))
    return element("table", element("thead", titles), element("tbody", *lines or [element("tr")]))


def _value(value: object) -> str:
    """Write any field in a few words."""
    if value is None:
        return "none"
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (int, np.integer)):
        return text.count(int(value))
    if isinstance(value, (float, np.floating)):
        return text.number(float(value))
    if isinstance(value, str):
        return value
    return _described(value)


def _described(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    if is_dataclass(value):
        inner = getattr(value, "value", None)
        return text.number(inner) if isinstance(inner, float) else type(value).__name__
    if isinstance(value, (tuple, list)) and len(value) <= 5:
        return ", ".join(map(_value, value)) or "none"
    if isinstance(value, (tuple, list, Mapping)):
        return f"{text.count(len(value))} entries"
    return type(value).__name__


def _fields(result: Readable, *, without_long: bool) -> Element:
    """Show the fields; below a figure, without those that it shows."""
    values = {f.name: getattr(result, f.name) for f in fields(result) if f.name != "details"}
    rows = [(key, _value(value)) for key, value in values.items() if not (without_long and _is_long(value))]
    rows += [(str(key), _value(value)) for key, value in getattr(result, "details", {}).items()]
    return _table((type(result).__name__, ""), rows)


def _is_long(value: object) -> bool:
    return isinstance(value, np.ndarray) or (is_dataclass(value) and not hasattr(value, "value"))


def _estimate(result: Estimate) -> list[Element]:
    """Show the value and its details."""
    rows = [(result.name, _value(result.value)), *((str(k), _value(v)) for k, v in result.details.items())]
    return [_table(("metric", "value"), rows)]


def _test(result: TestResult) -> list[Element]:
    """Show the p-value, and what the statistic is made of."""
    smallest = result.details.get("smallest_pvalue")
    rows = [
        ("test", result.name),
        ("statistic", _value(result.statistic)),
        ("p-value", text.pvalue(result.pvalue, smallest)),
        ("estimate", _value(result.estimate)),
    ]
    if "parts" in result.details:
        rows += parts_in_words(result.details).items()
    else:
        rows += [(str(key), _value(value)) for key, value in result.details.items() if key != "smallest_pvalue"]
    return [_table(("TestResult", ""), rows)]


def _sentences(headline: str, *others: str) -> list[Element]:
    """Show a bold sentence and others below it."""
    bold = element("p", element("b", names.printable(headline)))
    return [bold, *(element("p", names.printable(other)) for other in others if other)]


def _metrics(metrics: Mapping[str, Estimate]) -> list[Element]:
    """Show the first few metrics, and all on request; nothing where none was computed."""
    if not metrics:
        return []
    rows = [(str(key), _value(one.value)) for key, one in metrics.items()]
    head = ("metric", "value")
    if len(rows) <= FEW_METRICS:
        return [_table(head, rows)]
    more = element("details", element("summary", f"all {len(rows)} metrics"), _table(head, rows))
    return [_table(head, rows[:FEW_METRICS]), more]


def _measures(result: Measures) -> list[Element]:
    """Show the metrics with their values."""
    return [_table(("metric", "value"), [(name, _value(value)) for name, value in result.items()])]


def _verdict(result: Verdict) -> list[Element]:
    return _sentences(result.headline, result.explanation)


def _page(result: Page) -> list[Element]:
    """Show the page in a sandboxed frame, which cannot reach the notebook."""
    style = "width: 100%; height: 40em; border: 1px solid #ccc"
    sandbox = "allow-scripts allow-downloads"
    return [element("iframe", "", srcdoc=result.html, sandbox=sandbox, style=style, title=result.title)]


def _assessment(result: Assessment | ForecastAssessment) -> list[Element]:
    """Show the verdict and the first metrics."""
    title = element("p", f"{names.name(result.name)}: {text.count(result.n_samples)} rows")
    return [title, *_verdict(result.verdict), *_metrics(result.metrics)]


def _comparison(result: Comparison) -> list[Element]:
    """Show every metric of every model, with the difference from the baseline."""
    rows = []
    for metric in result.metrics:
        row = [metric]
        for model in result.models:
            entry = result.entry(model, metric)
            cell = _value(entry.value)
            if entry.difference is not None:
                cell += f" ({text.signed(entry.difference.value)}, {text.pvalue(entry.difference.adjusted)})"
            row.append(cell)
        rows.append(row)
    note = (
        f"{text.count(result.n_samples)} rows. In brackets: the difference from {names.name(result.baseline)}, and its "
        "p-value by Holm's method."
    )
    return [_table(("metric", *result.models), rows), element("p", note)]


def _recommendation(result: Recommendation) -> list[Element]:
    """Show the advice, its reasons and the candidates."""
    head = ("calibrator", f"loss ({result.score})", "accuracy", "ECE", "classes changed", "over doing nothing")
    rows = [
        (
            one.name,
            _value(one.loss),
            _value(one.accuracy),
            _value(one.ece),
            text.percent(one.changed),
            "" if one.over_nothing is None else text.signed(one.over_nothing.value),
        )
        for one in result.candidates
    ]
    return [*_sentences(result.headline, *result.reasons), _table(head, rows)]


def _forecast_recommendation(result: ForecastRecommendation) -> list[Element]:
    """Show the advice, its reasons and the candidates."""
    head = ("calibrator", f"loss ({result.score})", "MACE", "coverage of 90%", "over doing nothing")
    rows = [
        (
            one.name,
            _value(one.loss),
            "" if one.mace is None else _value(one.mace),
            "" if one.coverage is None else text.percent(one.coverage),
            "" if one.over_nothing is None else text.signed(one.over_nothing.value),
        )
        for one in result.candidates
    ]
    return [*_sentences(result.headline, *result.reasons), _table(head, rows)]


def _classwise(result: ClasswiseCurves) -> list[Element]:
    """Show the error of every class, the largest first."""
    rows = [(result.names[k], _value(result.curves[k].error)) for k in worst_first(result.curves)]
    return [_table(("class", "error"), rows)]


def _learning(result: LearningCurve) -> list[Element]:
    """Show the points of all curves."""
    head = ("calibrator", "metric", "rows", "value", "change")
    points = result.points
    return [_table(head, [(p.calibrator, p.metric, _value(p.size), _value(p.value), _value(p.change)) for p in points])]


TABLES: dict[type[Readable], Callable[[Any], list[Element]]] = {
    Estimate: _estimate,
    Measures: _measures,
    TestResult: _test,
    Verdict: _verdict,
    Assessment: _assessment,
    ForecastAssessment: _assessment,
    Page: _page,
    Comparison: _comparison,
    Recommendation: _recommendation,
    ForecastRecommendation: _forecast_recommendation,
    ClasswiseCurves: _classwise,
    LearningCurve: _learning,
}
"""What is shown instead of the fields."""

SKETCHES: dict[type[Readable], Callable[[Any], Element]] = {
    ReliabilityCurve: sketches.reliability,
    CumulativeCurve: sketches.cumulative,
    PITHistogram: sketches.transforms,
    QuantileCurve: sketches.quantiles,
}
"""The figures above the fields."""


def shown(result: Readable) -> Element:
    """Return what a notebook shows of a result: tables of its own, or its fields, below a figure if there is one."""
    for kind, show in TABLES.items():
        if isinstance(result, kind):
            return element("div", *show(result))
    figures = [draw(result) for kind, draw in SKETCHES.items() if isinstance(result, kind)]
    return element("div", *figures, _fields(result, without_long=bool(figures)))
