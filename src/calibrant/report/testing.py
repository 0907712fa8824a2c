"""The tests of a page: what each found, and what it can see."""

from collections.abc import Sequence
from dataclasses import dataclass

from calibrant.report.series import AnySeries
from calibrant.report.tables import smallest_pvalue
from calibrant.report.text import number, pvalue
from calibrant.results import TestResult

SEES = {
    "omnibus": "Bias, slope, single classes and whole predictions: the smallest of several p-values. Exact.",
    "consistency": "Any gap that the bins of the ECE show. Exact for independent rows; the verdict rests on it.",
    "skce": "Miscalibration of whole probability vectors, of any form. Asymptotic: off with few rows.",
    "skce-block": "As the SKCE, cheaper and less sharp. Rows should be in random order.",
    "skce-distribution-free": "As the SKCE. Always valid and seldom sharp: a large p-value says little.",
    "cme": "Deviations near a few test locations only; its law is approximate.",
    "spiegelhalter": "Over- and under-confidence only; errors that cancel are not seen.",
    "hosmer-lemeshow": "The frequency in a few groups of equal size; depends on how they are cut.",
    "cox": "A wrong slope or intercept of the log-odds only.",
    "ecce": "Net miscalibration of all predictions up to some value; needs no bins.",
    "ecce-range": "Net miscalibration over any interval of predictions; needs no bins.",
}
"""What each test can see, by its name."""

LABELS = {
    "omnibus": "Omnibus",
    "consistency": "Consistency (ECE)",
    "skce": "Kernel error (SKCE)",
    "skce-block": "Kernel error, blocks",
    "skce-distribution-free": "Kernel error, bound",
    "cme": "Mean embedding",
    "spiegelhalter": "Spiegelhalter's z",
    "hosmer-lemeshow": "Hosmer-Lemeshow",
    "cox": "Cox",
    "ecce": "Cumulative (ECCE)",
    "ecce-range": "Cumulative, range",
}


@dataclass(frozen=True)
class TestRow:
    """One test with its result for every assessment."""

    label: str
    sees: str
    results: tuple[tuple[str, str] | None, ...]
    """Statistic and p-value."""


def test_rows(series: Sequence[AnySeries]) -> list[TestRow]:
    """Return a row a test, in the order in which they first occur."""
    keys = dict.fromkeys(key for s in series for key in s.tests)
    return [
        TestRow(LABELS.get(key, key), SEES.get(key, ""), tuple(_written(s.tests.get(key)) for s in series))
        for key in keys
    ]


def _written(result: TestResult | None) -> tuple[str, str] | None:
    if result is None:
        return None
    return number(result.statistic), pvalue(result.pvalue, smallest_pvalue(result))
