"""The rows of the tables of classes, groups and settings, ready to print, and what tables of other sections share."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from calibrant._border.numerals import aligned, as_given, between, count, number, pvalue, signed
from calibrant._border.text import name
from calibrant.report.series import AnySeries
from calibrant.report.verdicts import limits, test_pvalue
from calibrant.results import (
    Assessment,
    ClassSummary,
    Compared,
    Description,
    Difference,
    Estimate,
    ForecastAssessment,
    GroupFindings,
    Interval,
    TestResult,
    Verdict,
    favours,
)
from calibrant.results.assessment import group_verdict, smallest_adjusted
from calibrant.results.drawing.svg import Element, element
from calibrant.results.words.metrics import shown_limits

ABSENT = "\N{EN DASH}"
"""Stands in tables where there is no number."""


def of_result(result: Estimate | TestResult | None, key: str) -> Description:
    """Return the description of a result; without one, its label is the key."""
    return Description(label=key) if result is None or result.about is None else result.about


def side(entry: Compared) -> str:
    """Return "better" or "worse" if the limits of a difference show it; otherwise an empty text."""
    return {1: "better", 0: "", -1: "worse"}[favours(entry)]


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


def share_bar(value: str, limit: str) -> Element:
    """Draw a number of a table as a short bar; `limit` has the full length."""
    share = float(value) / (float(limit) or 1.0)
    width = 60 * share if math.isfinite(share) else 0.0
    bar = element("rect", x=0, y=2, width=width, height=8, rx=1)
    return element("svg", bar, viewBox="0 0 60 12", class_="bar", aria_hidden="true")


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
        _column(
            [math.nan if a.verdict.high is None else a.verdict.high for a in parts], [limits(a.verdict) for a in parts]
        ),
        _column([a.verdict.detectable for a in parts]),
        _column([a.verdict.gap for a in parts], sign=True),
        _column([a.verdict.pvalue for a in parts], [test_pvalue(a) for a in parts]),
        _column(adjusted, ["" if math.isnan(value) else pvalue(value, bound) for value in adjusted]),
    ]
    rows = zip(ordered, zip(*columns, strict=True), strict=True)
    return [Row(name(key), cells, group_verdict(assessment, key)) for (key, _), cells in rows]


def _upper(verdict: Verdict) -> float:
    return math.nan if verdict.high is None else verdict.high


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


def limits_text(result: Interval | None) -> str:
    """Return the limits of a value in words; an empty text if there are none."""
    return between(shown_limits(result), number)


def signed_limits(result: Interval | Difference | None) -> str:
    """Return the limits of a difference in words; an empty text if there are none."""
    return between(shown_limits(result), signed)
