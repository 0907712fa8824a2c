"""The rows of the report's tables, ready to print."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calibrant.report.glossary import Entry, describe
from calibrant.report.series import Series
from calibrant.report.text import aligned, count, machine, name, number, pvalue
from calibrant.results import Assessment, ClassSummary, Estimate, TestResult

STATUS = {
    "consistent": "Consistent with calibration",
    "over-confident": "Over-confident",
    "under-confident": "Under-confident",
    "biased": "Biased",
    "miscalibrated": "Miscalibrated",
}
"""What each code of a verdict is called; a code that is not here is shown as it is."""


@dataclass(frozen=True)
class Cell:
    """A value of the metric table."""

    text: str
    best: bool = False


@dataclass(frozen=True)
class MetricRow:
    """A metric with its value for every assessment, None where it was not measured."""

    entry: Entry
    settings: tuple[str, ...]
    cells: tuple[Cell | None, ...]


def metric_rows(series: Sequence[Series]) -> list[MetricRow]:
    """Return one row a metric, in the order in which they first occur."""
    keys = dict.fromkeys(key for s in series for key in s.assessment.metrics)
    return [_metric_row(key, [s.assessment.metrics.get(key) for s in series]) for key in keys]


def _metric_row(key: str, estimates: Sequence[Estimate | None]) -> MetricRow:
    entry = describe(key)
    best = _best_text([e.value for e in estimates if e is not None], entry.better)
    cells = tuple(None if e is None else Cell(number(e.value), number(e.value) == best) for e in estimates)
    return MetricRow(entry, tuple(dict.fromkeys(e.name for e in estimates if e is not None)), cells)


def _best_text(values: Sequence[float], better: str) -> str | None:
    """Return the best value as it is shown: values that look equal are marked alike, and not at all if all do."""
    comparable = [v for v in values if not math.isnan(v)]
    if better == "none" or len({number(v) for v in comparable}) < 2:
        return None
    return number(min(comparable) if better == "lower" else max(comparable))


def metric_notes(series: Sequence[Series]) -> list[str]:
    """Say why a value is not finite, where its metric knows."""
    notes = []
    for s in series:
        for key, estimate in s.assessment.metrics.items():
            rows = estimate.details.get("infinite_rows")
            if not math.isfinite(estimate.value) and rows:
                times = "one row" if rows == 1 else f"{rows:,} rows"
                notes.append(
                    f"{describe(key).label} of {s.label} is infinite because the observed class of {times} "
                    "was given probability 0."
                )
    return notes


@dataclass(frozen=True)
class Row:
    """A row of a sortable table: what it is about, and its numbers for the script and for the eye."""

    name: str
    cells: tuple[tuple[str, str], ...]
    code: str = ""


def class_rows(classes: Sequence[ClassSummary]) -> list[Row]:
    """Return a row a class, the largest error first: rows, prediction, frequency, difference, error."""
    ordered = sorted(classes, key=lambda c: -c.error)
    columns = [
        _column([c.n_observed for c in ordered], [count(c.n_observed) for c in ordered]),
        _column([c.predicted for c in ordered]),
        _column([c.observed for c in ordered]),
        _column([c.predicted - c.observed for c in ordered], sign=True),
        _column([c.error for c in ordered]),
    ]
    return [Row(name(c.name), cells) for c, cells in zip(ordered, zip(*columns, strict=True), strict=True)]


def group_rows(groups: Mapping[str, Assessment]) -> list[Row]:
    """Return a row a group, the largest error first: rows, error, error by chance, gap, p-value."""
    ordered = sorted(groups.items(), key=lambda item: -item[1].verdict.error)
    parts = [part for _, part in ordered]
    columns = [
        _column([a.n_samples for a in parts], [count(a.n_samples) for a in parts]),
        _column([a.verdict.error for a in parts]),
        _column([a.verdict.expected for a in parts]),
        _column([a.verdict.gap for a in parts], sign=True),
        _column([a.verdict.pvalue for a in parts], [test_pvalue(a) for a in parts]),
    ]
    rows = zip(ordered, zip(*columns, strict=True), strict=True)
    return [Row(name(key), cells, part.verdict.code) for (key, part), cells in rows]


def _column(
    values: Sequence[float], written: Sequence[str] | None = None, *, sign: bool = False
) -> list[tuple[str, str]]:
    return list(zip(map(machine, values), written or aligned(values, sign=sign), strict=True))


def test_names(series: Sequence[Series]) -> list[str]:
    """Return the tests of the page with their settings, each once."""
    return list(dict.fromkeys(s.assessment.test.name for s in series))


def test_pvalue(assessment: Assessment) -> str:
    """Return the p-value of an assessment's test, as a bound if no smaller one was possible."""
    return pvalue(assessment.test.pvalue, smallest_pvalue(assessment.test))


def smallest_pvalue(test: TestResult) -> float | None:
    """Return the least p-value that the test can give with its number of draws."""
    if test.null is None:
        return None
    return float(test.details.get("smallest_pvalue", 1 / (1 + len(test.null))))


def setting_rows(series: Sequence[Series]) -> list[tuple[str, list[str]]]:
    """Return one row a setting: a single value where all assessments agree, else one for each."""
    keys = dict.fromkeys(str(key) for s in series for key in s.assessment.settings)
    rows = []
    for key in keys:
        values = [_setting(s.assessment.settings.get(key)) for s in series]
        rows.append((name(key), values[:1] if len(set(values)) == 1 else values))
    return rows


def _setting(value: Any) -> str:
    if value is None:
        return "not given"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return name(value, limit=200)
