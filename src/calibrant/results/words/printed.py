"""How results print: a title, and a few aligned lines without arrays."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import partial
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant._border.numerals import (
    bare_pvalue,
    between,
    count,
    counted,
    decimals,
    is_at,
    percent,
    significant,
    with_sign,
)
from calibrant._border.text import printable
from calibrant.results.words.metrics import cautions, chance_in_words, fit_caveats, why_without_value
from calibrant.results.words.parts import parts_in_words, smallest_pvalue

if TYPE_CHECKING:
    from calibrant.results.advice import ForecastRecommendation, LearningCurve, Recommendation
    from calibrant.results.assessment import Assessment, TestResult
    from calibrant.results.comparison import Compared, Comparison, Interval
    from calibrant.results.estimate import Measures
    from calibrant.results.forecasts import ForecastAssessment
    from calibrant.results.groups import GroupFix
    from calibrant.results.readable import Readable

Rows = list[tuple[str, str]]
"""A name and a text for each line; a text may have several lines."""

NO_VALUE = "no value"
"""Shown in place of a missing number."""

WIDTH = 88
"""Longer lines are broken."""

MOST_BROKEN = 4
"""The largest number of lines into which a text is broken; the rest of it is left out."""

MOST, MOST_LINES = 12, 6
"""The largest numbers of entries that are listed in one line, and one per line; the others are counted."""

LONGEST_TEXT = 1000
"""Longer texts, such as a page, are shown by their number of characters."""


def printed(result: "Readable") -> str:
    """Return the text of a result."""
    return aligned(type(result).__name__, rows(result))


def printed_measures(result: "Measures") -> str:
    """Return the text of measures: the values, and below them what they rest on."""
    named = result.estimates.items()
    notes = [f"\n  ({words})" for words in (*fit_caveats(named), *cautions(named))]
    return aligned(f"Measures of {counted(result.n_samples)}", rows(result)) + "".join(notes)


def rows(result: "Readable") -> Rows:
    """Return the lines of a result: by default its fields that are not empty, and of arrays the size."""
    return next((PRINTED[kind.__name__] for kind in type(result).__mro__ if kind.__name__ in PRINTED), _fields)(result)


def _fields(result: "Readable") -> Rows:
    return [(name, summary(value)) for name, value in _held(result).items()]


def _held(result: "Readable") -> dict[str, object]:
    """Return the fields that are not empty."""
    found = {f.name: getattr(result, f.name) for f in fields(result)}
    return {name: value for name, value in found.items() if not _is_empty(value)}


def _measures(result: "Measures") -> Rows:
    named = result.estimates.items()
    return [(name, NO_VALUE if why_without_value(one) else significant(one.value, 4)) for name, one in named]


def _test(result: "TestResult") -> Rows:
    rows = dict(_fields(result))
    first = {"test": rows.pop("name"), "p-value": bare_pvalue(result.pvalue, smallest_pvalue(result))}
    left = {name: text for name, text in rows.items() if name not in ("pvalue", "null", "about")}
    if "parts" in result.details:
        left = {name: text for name, text in left.items() if name != "details"} | parts_in_words(result.details)
    return [*(first | left).items()]


def _assessment(result: "Assessment") -> Rows:
    return _assessed(result, result.intervals)


def _forecast_assessment(result: "ForecastAssessment") -> Rows:
    return _assessed(result, result.limits)


def _assessed(result: "Assessment | ForecastAssessment", limits: "Mapping[str, Interval]") -> Rows:
    """Return verdict, metrics with limits, tests, and the names of what else there is."""
    main = ("name", "n_samples", "n_classes", "law", "verdict", "metrics", "test", "tests", "groups")
    held = _held(result)
    held["metrics"] = {name: limits.get(name, estimate) for name, estimate in result.metrics.items()}
    rows = [(name, summary(held[name])) for name in main if name in held and not _is_empty(held[name])]
    return [*rows, ("and", ", ".join(name for name in held if name not in main))]


def _interval(result: "Interval") -> Rows:
    """Name the metric as in the table of metrics, and put the range by chance in words."""
    own = {"name": result.metric or result.name, "null": chance_in_words(result, partial(significant, digits=4))}
    return [(key, own.get(key, text)) for key, text in _fields(result) if key != "metric"]


def _comparison(result: "Comparison") -> Rows:
    rows = [(key, "; ".join(_compared(result.entry(model, key)) for model in result.models)) for key in result.metrics]
    note = f"minus {result.baseline}, on {counted(result.n_samples)}; * its {percent(result.level)} limits exclude 0"
    return [*rows, ("in brackets", note), *([("groups", ", ".join(result.groups))] if result.groups else [])]


def _compared(entry: "Compared") -> str:
    """Return the value of a model, and the difference from the baseline."""
    difference = entry.difference
    value = NO_VALUE if math.isnan(entry.value) else significant(entry.value, 4)
    if difference is None or math.isnan(difference.value):
        return f"{entry.model} {value}"
    mark = "*" if difference.is_significant else ""
    return f"{entry.model} {value} ({with_sign(difference.value)}{mark})"


def _recommendation(result: "Recommendation") -> Rows:
    return _advice(result, f"{counted(result.n_samples)} of {result.n_classes} classes")


def _forecast_recommendation(result: "ForecastRecommendation") -> Rows:
    return _advice(result, f"{count(result.n_samples)} forecasts ({result.law})")


def _advice(result: "Recommendation | ForecastRecommendation", rows: str) -> Rows:
    losses = ", ".join(f"{one.name} {significant(one.loss, 4)}" for one in result.candidates)
    words = [("advice", printable(result.headline)), ("reasons", "\n".join(map(printable, result.reasons)))]
    return [*words, (f"{result.score} of", losses), ("judged by", f"{rows}, in {result.n_folds} folds")]


def _learning(result: "LearningCurve") -> Rows:
    rows = []
    for calibrator in result.calibrators:
        for metric in result.metrics:
            points = [f"{counted(p.size)} {significant(p.value, 4)}" for p in result.of(calibrator, metric)]
            rows.append((f"{calibrator}, {metric}", "; ".join(points)))
    rows += [(f"as they are, {metric}", significant(value, 4)) for metric, value in result.baseline.items()]
    return [*rows, ("judged by", f"{counted(result.n_held_out)}, {result.n_repeats} times")]


def _group_fix(result: "GroupFix") -> Rows:
    steps = [(f"step {number}", step.headline) for number, step in enumerate(result.steps, 1)]
    last = [("then", f"log-odds times {significant(result.slope, 4)}")] if result.steps else []
    bar = f"|z| above {decimals(result.bar, 2)}, {counted(result.n_samples)}"
    return [("outcome", result.headline), *steps, *last, ("entry", bar)]


PRINTED: dict[str, Callable[[Any], Rows]] = {
    "Measures": _measures,
    "TestResult": _test,
    "Assessment": _assessment,
    "ForecastAssessment": _forecast_assessment,
    "Interval": _interval,
    "Comparison": _comparison,
    "Recommendation": _recommendation,
    "ForecastRecommendation": _forecast_recommendation,
    "LearningCurve": _learning,
    "GroupFix": _group_fix,
}
"""The lines of results that do not print all their fields, by the name of the class."""


def aligned(title: str, rows: Sequence[tuple[str, str]]) -> str:
    """Return a title, and below it a line for each name and text.

    Examples
    --------
    >>> print(aligned("Measures of 2 rows", [("nll", "0.5"), ("accuracy", "1")]))
    Measures of 2 rows
      nll       0.5
      accuracy  1
    """
    width = max((len(name) for name, _ in rows), default=0)
    return "\n".join([title, *(line for name, text in rows for line in _aligned(name, text, width))])


def summary(value: object) -> str:
    """Return a value in one line, or a mapping of results in one line per entry.

    Examples
    --------
    >>> summary(1 / 3), summary(np.zeros((2, 3))), summary(["a", "b"])
    ('0.3333', '2 x 3 numbers', 'a, b')
    """
    if isinstance(value, (float, np.floating)):
        return significant(float(value), 4)
    if isinstance(value, np.ndarray):
        return f"{' x '.join(map(str, value.shape))} numbers"
    if isinstance(value, Mapping):
        held = {key: part for key, part in value.items() if not _is_empty(part)}
        return _listed(
            [f"{printable(str(key))} {brief(part)}" for key, part in held.items()],
            one_per_line=any(map(is_dataclass, held.values())),
        )
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _listed([brief(part) for part in value], one_per_line=False)
    return brief(value)


HEADS = ("headline", "pvalue", "value", "label", "name")
"""Attributes that can represent a result: the first that is present and not empty does."""


def brief(value: object) -> str:
    """Return a result by its headline, p-value or value, and anything else as it is written."""
    if is_dataclass(value) and not isinstance(value, type):
        return _headline(value)
    if isinstance(value, Mapping):
        return f"({_listed([printable(str(key)) for key in value], one_per_line=False)})"
    if isinstance(value, np.ndarray) or (isinstance(value, Sequence) and not isinstance(value, str)):
        return f"{len(value)} entries"
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        return f"{count(len(value))} characters"
    return significant(float(value), 4) if isinstance(value, (float, np.floating)) else printable(str(value))


def _headline(result: Any) -> str:
    error, verdict = getattr(result, "error", None), getattr(result, "verdict", None)
    if is_dataclass(error):  # A curve.
        return f"error {brief(error)}"
    if is_dataclass(verdict):  # An assessment.
        return brief(verdict)
    held: list[tuple[str, Any]] = [(name, getattr(result, name, None)) for name in HEADS]
    held.append(("", type(result).__name__))
    name, value = next(pair for pair in held if not _is_empty(pair[1]))
    text = summary(value) if name == "value" else printable(str(value))
    if name == "pvalue":
        relation = "≤" if is_at(value, getattr(result, "details", {}).get("smallest_pvalue")) else "="
        text = f"p {relation} {significant(value)}"
    low = getattr(result, "low", None)
    if not isinstance(low, float) or not hasattr(result, "value"):
        return text
    return f"{text} ({between((low, result.high), partial(significant, digits=4))})"


def _listed(entries: list[str], *, one_per_line: bool) -> str:
    """Return entries in one line or several, and how many more there are."""
    most = MOST_LINES if one_per_line else MOST
    more = [f"and {len(entries) - most} more"] if len(entries) > most else []
    return ("\n" if one_per_line else ", ").join(entries[:most] + more)


def _aligned(name: str, text: str, width: int) -> list[str]:
    """Return a field with its name before the first line."""
    lines = [part for line in text.split("\n") for part in _broken(line)]
    heads = [name, *[""] * (len(lines) - 1)]
    return [f"  {head:<{width}}  {line}".rstrip() for head, line in zip(heads, lines, strict=True)]


def _broken(line: str) -> list[str]:
    return wrap(line, WIDTH, max_lines=MOST_BROKEN, placeholder=" …") or [""]


def _is_empty(value: object) -> bool:
    return value is None or (isinstance(value, (str, Mapping, Sequence)) and len(value) == 0)
