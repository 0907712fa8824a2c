"""The tests of a page: what each found, and what it can see."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calibrant.report.series import AnySeries
from calibrant.report.tables import of_result, smallest_pvalue
from calibrant.results import TestResult
from calibrant.results.parts import part_name
from calibrant.results.writing import name, number, pvalue


@dataclass(frozen=True)
class PartRow:
    """One part of the omnibus test with its outcome for every assessment."""

    label: str
    sees: str
    results: tuple[tuple[str, str, bool] | None, ...]
    """P-value, direction or class, and whether it is the part that the verdict speaks of."""


def part_rows(series: Sequence[AnySeries]) -> list[PartRow]:
    """Return a row per part of the tests behind the verdicts, in their order; none if they have no parts."""
    keys = dict.fromkeys(key for s in series for key in _parts(s.assessment.test))
    rows = []
    for key in keys:
        label, sees = part_name(key, keys)
        idle = all(key not in s.assessment.test.details.get("parts", {}) for s in series)
        sees = f"{sees} Does not decide." if idle else sees
        rows.append(PartRow(label[:1].upper() + label[1:], sees, tuple(_part(s, key) for s in series)))
    return rows


def _parts(test: TestResult) -> Mapping[str, Mapping[str, Any]]:
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
    """Return the test as it is drawn: of an omnibus test, minus the logarithm of the mean p-values."""
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
