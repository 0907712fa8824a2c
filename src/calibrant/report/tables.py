"""The rows of the report's tables, ready to print."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from calibrant._border.numerals import aligned, as_given, between, count, number, pvalue, signed
from calibrant._border.text import capital, name
from calibrant.report.series import AnySeries
from calibrant.results import (
    Assessment,
    ClassSummary,
    Comparison,
    Description,
    Difference,
    Estimate,
    ForecastAssessment,
    GroupFindings,
    Interval,
    TestResult,
    Verdict,
)
from calibrant.results.assessment import group_verdict, smallest_adjusted
from calibrant.results.words.metrics import shown_limits
from calibrant.results.words.parts import TestedParts, part_name, smallest_pvalue


def of_result(result: Estimate | TestResult | None, key: str) -> Description:
    """Return the description of a result; without one, its label is the key."""
    return Description(label=key) if result is None or result.about is None else result.about


def of_metric(comparison: Comparison, metric: str) -> Description:
    """Return the description of a metric of a comparison."""
    return comparison.about.get(metric) or Description(label=metric)


STATUS = {
    "calibrated": "Calibrated",
    "consistent": "Consistent with calibration",
    "over-confident": "Over-confident",
    "under-confident": "Under-confident",
    "biased": "Biased",
    "miscalibrated": "Miscalibrated",
}
"""The label of each code of a verdict; other codes are shown as they are."""

DIRECTIONS = ("over-confident", "under-confident", "biased", "miscalibrated")
"""Codes of verdicts that found miscalibration."""


def status(verdict: Verdict) -> str:
    """Return what a verdict is called, with "Slightly" for errors within the tolerance."""
    called = STATUS.get(verdict.code, verdict.code)
    if verdict.code in DIRECTIONS and verdict.size == "within tolerance":
        return f"Slightly {called.lower()}"
    return called


def limits_heading(assessment: Assessment | ForecastAssessment) -> str:
    """Return what the limits of the error are called in a list of facts."""
    return f"Its {limits_name(assessment)}"


def limits_name(assessment: Assessment | ForecastAssessment) -> str:
    """Return what the limits of the error are called: those of forecasts may hold with more than 95%."""
    return "limits (at least 95%)" if isinstance(assessment, ForecastAssessment) else "95% limits"


def limits(verdict: Verdict) -> str:
    """Return the limits of the error, or "not known"."""
    if verdict.low is None or verdict.high is None:
        return "not known"
    return f"{number(verdict.low)} to {number(verdict.high)}"


@dataclass(frozen=True)
class Row:
    """A row of a sortable table: its name, and for each number what the script sorts by and what is shown."""

    name: str
    cells: tuple[tuple[str, str], ...]
    verdict: Verdict | None = None


def class_rows(classes: Sequence[ClassSummary]) -> list[Row]:
    """Return a row per class, the largest error first: rows, prediction, frequency, difference, error."""
    ordered = sorted(classes, key=lambda c: -c.error)
    columns = [
        _column([c.n_observed for c in ordered], [count(c.n_observed) for c in ordered]),
        _column([c.predicted for c in ordered]),
        _column([c.observed for c in ordered]),
        _column([c.predicted - c.observed for c in ordered], sign=True),
        _column([c.error for c in ordered]),
    ]
    return [Row(name(c.name), cells) for c, cells in zip(ordered, zip(*columns, strict=True), strict=True)]


def group_rows(assessment: Assessment | ForecastAssessment) -> list[Row]:
    """Return a row per group, the largest error first.

    Its numbers: rows, error, limits, error by chance, gap, p-value, adjusted p-value.
    """
    groups: Mapping[str, Assessment | ForecastAssessment] = assessment.groups
    ordered = sorted(groups.items(), key=lambda item: -item[1].verdict.error)
    parts = [part for _, part in ordered]
    adjusted = [assessment.adjusted.get(key, math.nan) for key, _ in ordered]
    bound = smallest_adjusted(assessment)
    columns = [
        _column([a.n_samples for a in parts], [count(a.n_samples) for a in parts]),
        _column([a.verdict.error for a in parts]),
        _column([math.nan if a.verdict.high is None else a.verdict.high for a in parts], [_range(a) for a in parts]),
        _column([a.verdict.detectable for a in parts]),
        _column([a.verdict.gap for a in parts], sign=True),
        _column([a.verdict.pvalue for a in parts], [test_pvalue(a) for a in parts]),
        _column(adjusted, ["" if math.isnan(value) else pvalue(value, bound) for value in adjusted]),
    ]
    rows = zip(ordered, zip(*columns, strict=True), strict=True)
    return [Row(name(key), cells, group_verdict(assessment, key)) for (key, _), cells in rows]


def _range(assessment: Assessment | ForecastAssessment) -> str:
    return "" if assessment.verdict.low is None else limits(assessment.verdict)


def group_summary(assessment: Assessment | ForecastAssessment) -> str:
    """Say how many groups are miscalibrated beyond chance."""
    level = assessment.verdict.level
    found = sum(value <= level for value in assessment.adjusted.values())
    if not assessment.adjusted:
        return ""
    return f"{found} of {len(assessment.adjusted)} with an adjusted p-value of at most {as_given(level)}"


def groups_beside(series: Sequence[AnySeries], findings: GroupFindings | None) -> list[tuple[str, str]]:
    """Return anchor and title of the sections with groups that are off although the verdict on all rows finds nothing.

    A reader of the verdict alone would take the model as calibrated for every group.
    """
    first = series[0].assessment
    if first.verdict.pvalue <= first.verdict.level:
        return []
    found = []
    if any(value <= first.verdict.level for value in first.adjusted.values()):
        found.append(("groups-title", "Groups"))
    if findings is not None and findings.found:
        found.append(("found-title", "Search for groups"))
    return found


def _column(
    values: Sequence[float], written: Sequence[str] | None = None, *, sign: bool = False
) -> list[tuple[str, str]]:
    return list(zip(map(_machine, values), written or aligned(values, sign=sign), strict=True))


def _machine(value: float) -> str:
    """Return a number for a `data-` attribute, as JavaScript spells it, with seven digits as in the page's data.

    Examples
    --------
    >>> _machine(1 / 3), _machine(float("-inf"))
    ('0.3333333', '-Infinity')
    """
    if math.isfinite(value):
        return f"{value:.7g}"
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def gaps(series: Sequence[AnySeries]) -> list[tuple[str, str]]:
    """Return the name and the meaning of every kind of gap on the page, each once."""
    return list(dict.fromkeys((s.gap, s.gap_words) for s in series))


def test_names(series: Sequence[AnySeries]) -> list[str]:
    """Return the tests of the page with their settings, each once."""
    return list(dict.fromkeys(s.assessment.test.name for s in series))


def test_pvalue(assessment: Assessment | ForecastAssessment) -> str:
    """Return the p-value of an assessment's test, as a bound if no smaller one was possible."""
    return pvalue(assessment.test.pvalue, smallest_pvalue(assessment.test))


def setting_rows(series: Sequence[AnySeries]) -> list[tuple[str, list[str]]]:
    """Return one row per setting: a single value where all assessments agree, otherwise one value per assessment."""
    keys = dict.fromkeys(str(key) for s in series for key in s.assessment.settings)
    rows = []
    for key in keys:
        values = [_setting(s.assessment.settings.get(key)) for s in series]
        rows.append((name(key), values[:1] if len(set(values)) == 1 else values))
    return rows


def _setting(value: object) -> str:
    if value is None:
        return "not given"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(name(one) for one in value)
    return name(value, limit=200)


@dataclass(frozen=True)
class PartRow:
    """One part of the omnibus test with its outcome for every assessment."""

    label: str
    sees: str
    results: tuple[tuple[str, str, bool] | None, ...]
    """P-value, class and direction, and whether it is the part named in the verdict."""


def part_rows(series: Sequence[AnySeries]) -> list[PartRow]:
    """Return a row per part of the tests behind the verdicts, in order; no rows if the tests have no parts."""
    keys = dict.fromkeys(key for s in series for key in _parts(s.assessment.test))
    rows = []
    for key in keys:
        label, sees = part_name(key, keys)
        idle = all(key not in s.assessment.test.details.get("parts", {}) for s in series)
        sees = f"{sees} Does not decide." if idle else sees
        rows.append(PartRow(capital(label), sees, tuple(_part(s, key) for s in series)))
    return rows


def _parts(test: TestResult) -> TestedParts:
    return {**test.details.get("parts", {}), **test.details.get("also", {})}


def _part(one: AnySeries, key: str) -> tuple[str, str, bool] | None:
    test = one.assessment.test
    part = _parts(test).get(key)
    if part is None:
        return None
    about = "" if part["class"] is None else f"class {name(part['class'])}"
    words = ", ".join(filter(None, (about, part["direction"] or "")))
    return pvalue(part["pvalue"], smallest_pvalue(test)), words, key == one.assessment.verdict.part


def strength(test: TestResult) -> TestResult:
    """Return the test as drawn: for an omnibus test, minus the decimal logarithm of its statistic and redraws."""
    if "parts" not in test.details or test.null is None:
        return test
    null = -np.log10(np.asarray(test.null, dtype=float))
    return replace(test, statistic=float(-np.log10(test.statistic)), null=null)


@dataclass(frozen=True)
class TestRow:
    """One test with its result for every assessment."""

    label: str
    sees: str
    results: tuple[tuple[str, str] | None, ...]
    """Statistic and p-value."""


def test_rows(series: Sequence[AnySeries]) -> list[TestRow]:
    """Return a row per test, in the order in which they first occur."""
    keys = dict.fromkeys(key for s in series for key in s.tests)
    return [_test_row(key, [s.tests.get(key) for s in series]) for key in keys]


def _test_row(key: str, results: Sequence[TestResult | None]) -> TestRow:
    about = of_result(next(result for result in results if result is not None), key)
    return TestRow(about.label, f"{about.meaning} {about.caution}".strip(), tuple(map(_written, results)))


def _written(result: TestResult | None) -> tuple[str, str] | None:
    if result is None:
        return None
    return number(result.statistic), pvalue(result.pvalue, smallest_pvalue(result))


def limits_text(result: Interval | None) -> str:
    """Return the limits of a value in words; an empty text if there are none."""
    return between(shown_limits(result), number)


def signed_limits(result: Interval | Difference | None) -> str:
    """Return the limits of a difference in words; an empty text if there are none."""
    return between(shown_limits(result), signed)
