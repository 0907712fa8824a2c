"""What a page shows, as data: numbers with seven digits, and nothing that only a computation needs."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from calibrant.report.series import AnySeries
from calibrant.results import Assessment, Comparison, Fix, ForecastAssessment, as_record

DIGITS = 7


def page_record(
    title: str,
    series: Sequence[AnySeries],
    comparison: Comparison | None = None,
    fix: Fix | None = None,
) -> dict[str, Any]:
    """Return the data of a page, ready for JSON."""
    record: dict[str, Any] = {
        "title": title,
        "assessments": [{"label": s.key, "assessment": _assessment(s.assessment)} for s in series],
    }
    if comparison is not None:
        record["comparison"] = as_record(replace(comparison, groups={}, about={}))
    if fix is not None:
        advice = fix.recommendation
        if advice is not None:
            advice = replace(advice, calibrator=None)  # A fitted object: the method's name says what it is.
        record["fix"] = as_record(replace(fix, recommendation=advice))
    return dict(rounded(record))


def _assessment(assessment: Assessment | ForecastAssessment) -> dict[str, Any]:
    if isinstance(assessment, ForecastAssessment):
        return _without_words(as_record(assessment))
    record = _without_words(as_record(replace(assessment, groups={})))
    record["groups"] = {
        str(key): {"n_samples": group.n_samples, "verdict": as_record(group.verdict)}
        for key, group in assessment.groups.items()
    }
    return record


def _without_words(record: dict[str, Any]) -> dict[str, Any]:
    """Leave out how metrics and tests are presented: the page says that."""
    for result in (record["test"], *record["metrics"].values(), *record.get("tests", {}).values()):
        del result["about"]
    return record


def rounded(value: Any) -> Any:
    """Return a record with its numbers rounded to seven significant digits.

    Examples
    --------
    >>> rounded({"x": [1 / 3, 2, "a"]})
    {'x': [0.3333333, 2, 'a']}
    """
    if isinstance(value, Mapping):
        return {key: rounded(part) for key, part in value.items()}
    if isinstance(value, list):
        return [rounded(part) for part in value]
    if isinstance(value, float):
        short = float(f"{value:.{DIGITS}g}")
        return int(short) if short.is_integer() and math.fabs(short) < 10**DIGITS else short
    return value
