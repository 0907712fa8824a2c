"""Tests of calibration: a table of the parts of the one behind the verdict, one of all, and draws under calibration."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from textwrap import wrap
from typing import NamedTuple

import numpy as np

from calibrant._border.numerals import number, pvalue
from calibrant._border.text import capital, name
from calibrant._border.types import FloatArray, IntArray
from calibrant.report.series import AnySeries
from calibrant.report.tables import of_result
from calibrant.results import TestResult
from calibrant.results.drawing import svg
from calibrant.results.drawing.svg import Element, Scale, element
from calibrant.results.words.parts import TestedParts, part_name, smallest_pvalue


def test_names(series: Sequence[AnySeries]) -> list[str]:
    """Return the tests of the page with their settings, each once."""
    return list(dict.fromkeys(s.assessment.test.name for s in series))


class Outcome(NamedTuple):
    """The result of a test, or of a part of one, for one assessment."""

    pvalue: str
    beneath: str
    revealed: bool = False
    """Whether it is the part named in the verdict."""


@dataclass(frozen=True)
class TestRow:
    """A test, or a part of one, with its outcome for every assessment; None where it was not run."""

    label: str
    sees: str
    outcomes: tuple[Outcome | None, ...]


def test_rows(series: Sequence[AnySeries]) -> list[TestRow]:
    """Return a row per test, in the order in which they first occur."""
    keys = dict.fromkeys(key for s in series for key in s.tests)
    return [_test_row(key, [s.tests.get(key) for s in series]) for key in keys]


def _test_row(key: str, results: Sequence[TestResult | None]) -> TestRow:
    about = of_result(next(result for result in results if result is not None), key)
    return TestRow(about.label, f"{about.meaning} {about.caution}".strip(), tuple(map(_outcome, results)))


def _outcome(result: TestResult | None) -> Outcome | None:
    if result is None:
        return None
    return Outcome(pvalue(result.pvalue, smallest_pvalue(result)), f"statistic {number(result.statistic)}")


def part_rows(series: Sequence[AnySeries]) -> list[TestRow]:
    """Return a row per part of the tests behind the verdicts, in order; no rows if the tests have no parts."""
    keys = dict.fromkeys(key for s in series for key in _parts(s.assessment.test))
    rows = []
    for key in keys:
        label, sees = part_name(key, keys)
        idle = all(key not in s.assessment.test.details.get("parts", {}) for s in series)
        sees = f"{sees} Does not decide." if idle else sees
        rows.append(TestRow(capital(label), sees, tuple(_part(s, key) for s in series)))
    return rows


def _parts(test: TestResult) -> TestedParts:
    return {**test.details.get("parts", {}), **test.details.get("also", {})}


def _part(one: AnySeries, key: str) -> Outcome | None:
    """Return the p-value of a part, the class and the direction that it is about, and whether it is the one named."""
    test = one.assessment.test
    part = _parts(test).get(key)
    if part is None:
        return None
    about = "" if part["class"] is None else f"class {name(part['class'])}"
    words = ", ".join(filter(None, (about, part["direction"])))
    return Outcome(pvalue(part["pvalue"], smallest_pvalue(test)), words, key == one.assessment.verdict.part)


def strength(test: TestResult) -> TestResult:
    """Return the test as drawn: for an omnibus test, minus the decimal logarithm of its statistic and redraws."""
    if "parts" not in test.details or test.null is None:
        return test
    null = -np.log10(np.asarray(test.null, dtype=float))
    return replace(test, statistic=float(-np.log10(test.statistic)), null=null)


N_NULL_BINS = 30
FLOOR = 122.0


def null_bins(test: TestResult) -> tuple[FloatArray, IntArray]:
    """Return edges and counts of the histogram of the draws under calibration."""
    draws = np.asarray(test.null, dtype=float)
    draws = draws[np.isfinite(draws)]
    low, high = (float(draws.min()), float(draws.max())) if len(draws) else (0.0, 1.0)
    if high - low <= 1e-9 * max(abs(low), abs(high)):  # One value, up to rounding: give it a bin of its own.
        low, high = low - 0.5 * (abs(low) or 1.0), high + 0.5 * (abs(high) or 1.0)
    counts, edges = np.histogram(draws, bins=N_NULL_BINS, range=(low, high))
    return edges, counts


N_LETTERS = 34
"""Number of letters that fit below a histogram; a longer title is broken into lines."""


def null_histogram(test: TestResult, title_id: str, axis: str = "Statistic under calibration") -> Element:
    """Draw the histogram of the statistic under calibration, and a line at the observed value."""
    edges, counts = null_bins(test)
    inside = bool(np.isfinite(test.statistic))
    low, high = float(edges[0]), float(edges[-1])
    if inside:
        low, high = min(low, test.statistic), max(high, test.statistic)
    margin = 0.04 * (high - low)
    x = Scale(low - margin, high + margin, 6, 234)
    y = Scale(0, max(int(counts.max()), 1), FLOOR, 26)
    spans = [(x(a), x(b)) for a, b in pairwise(edges.tolist())]
    heights = [y.start - y(c) for c in counts.tolist()]
    first, *more = wrap(axis, N_LETTERS)
    parts = [
        svg.bars(spans, heights, y.start, "null"),
        svg.axis_below(x, y.start, first, about=3),
        *(svg.text((x.start + x.stop) / 2, y.start + 50 + 14 * i, line, "label") for i, line in enumerate(more)),
        *(_observed(x(test.statistic), test.statistic, x) if inside else ()),
    ]
    view = f"0 0 240 {164 + 14 * len(more)}"
    return element("svg", *parts, viewBox=view, class_="chart", role="img", aria_labelledby=title_id)


def _observed(position: float, statistic: float, x: Scale) -> tuple[Element, Element]:
    anchor = "end" if position > (x.start + x.stop) / 2 else "start"
    label = svg.text(position + (5 if anchor == "start" else -5), 12, f"observed {number(statistic)}", "value", anchor)
    return svg.line(position, 2, position, FLOOR, "observed"), label
