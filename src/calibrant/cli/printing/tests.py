"""Results of tests on a terminal."""

from collections.abc import Iterable, Iterator, Mapping
from textwrap import fill

from rich.text import Text

from calibrant._border.numerals import bare_pvalue, is_at, significant
from calibrant.cli.printing.show import console
from calibrant.io import printable
from calibrant.results import TestResult
from calibrant.results.words.parts import TestedParts, part_name, smallest_pvalue


def print_tests(
    results: Mapping[str, TestResult],
    adjusted: Mapping[str, float],
    measured: Mapping[str, str],
    refused: Mapping[str, str],
) -> None:
    """Print the result of each test, the error that it has measured, what it detects, and when it is valid."""
    from calibrant.hypotest.omnibus.revealed import LEVEL

    out = console()
    for name, result in results.items():
        written = bare_pvalue(result.pvalue, smallest_pvalue(result))
        sign = "" if written.startswith("≤") else "= "
        words = "speaks against calibration" if result.pvalue <= LEVEL else "is consistent with calibration"
        what = f"; what revealed it: {revealed(result)}" if revealed(result) else ""
        out.print(Text(printable(f"{name}: the data {words}, p {sign}{written}{what}."), style="bold"))
        for words in _about_a_test(result, measured[name]):
            out.print(Text(fill(words, out.width, initial_indent="  ", subsequent_indent="  ")))
    for name, reason in refused.items():
        out.print(Text(f"{name}: refused.", style="bold"))
        out.print(Text(fill(reason, out.width, initial_indent="  ", subsequent_indent="  ")))
    if len(results) > 1:
        out.print(Text("\nAdjusted for several tests (Holm):", style="bold"))
        for name, value in adjusted.items():
            floor = value if is_at(results[name].pvalue, smallest_pvalue(results[name])) else None
            out.print(f"  {name:<24} {bare_pvalue(value, floor)}")


def revealed(result: TestResult) -> str:
    """Return what revealed the error, in the words of the verdict, if the test has parts."""
    return str(result.details.get("revealed_by", ""))


def _about_a_test(result: TestResult, measured: str) -> Iterator[str]:
    """Yield the numbers behind a p-value, what the test detects, and when it is valid."""
    if "detectable" in result.details:
        found, least = result.estimate or 0.0, result.details["detectable"]
        # In the omnibus test the error is one of several statistics; other tests decide by it alone.
        chance = f"up to about {significant(least, 4)} could be chance with this many rows"
        bar = f"this test speaks against calibration from about {significant(least, 4)} on"
        yield f"{measured} {significant(found, 4)}; {chance if 'parts' in result.details else bar}"
    if parts := result.details.get("parts"):
        also = result.details.get("also", {})
        keys, floor = {**parts, **also}, smallest_pvalue(result)
        yield f"p-values of its parts, each by itself: {_listed(parts, keys, floor)}."
        if also:
            yield f"Others, which do not decide: {_listed(also, keys, floor)}."
    if result.about is not None:
        yield f"Detects: {result.about.meaning}"
        yield result.about.caution


def _listed(parts: TestedParts, keys: Iterable[str], floor: float | None) -> str:
    """Return the parts of a test with their classes and p-values."""
    classes = {key: f" ({printable(str(part['class']))})" for key, part in parts.items() if part["class"] is not None}
    named = {key: f"{part_name(key, keys).label}{classes.get(key, '')}" for key in parts}
    return "; ".join(f"{named[key]}: {bare_pvalue(part['pvalue'], floor)}" for key, part in parts.items())
