"""How results print: as a few aligned lines without arrays, and in notebooks as HTML."""

from collections.abc import Mapping, Sequence
from dataclasses import Field, fields, is_dataclass
from functools import partial
from textwrap import wrap
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calibrant._border.numerals import between, count, is_at, significant

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from calibrant.results.assessment import Assessment
    from calibrant.results.forecasts import ForecastAssessment
    from calibrant.results.svg import Element

WIDTH = 88
"""Longer lines are broken."""

MOST_BROKEN = 4
"""The largest number of lines into which a text is broken; the rest of it is left out."""

MOST, MOST_LINES = 12, 6
"""The largest numbers of entries that are listed in one line, and one per line; the others are counted."""

LONGEST_TEXT = 1000
"""Longer texts, such as a page, are shown by their number of characters."""


class Readable:
    """A result that prints its fields, one per line; of long fields it prints the size."""

    __dataclass_fields__: "ClassVar[dict[str, Field[object]]]"

    def __repr__(self) -> str:
        return aligned(type(self).__name__, self._printed())

    def _printed(self) -> list[tuple[str, str]]:
        """Return what is printed: a name and a text for each line."""
        return [(name, summary(value)) for name, value in shown(self)]

    def _repr_html_(self) -> str | None:
        """Return a small table or figure for a notebook, or None, in which case the notebook shows the plain text.

        It never raises: an error in a table must not keep anyone from seeing a number.
        """
        try:
            from calibrant.results.svg import element

            return element("div", *self._in_notebook()).__html__()
        except Exception:  # noqa: BLE001 (the notebook falls back to the plain text)
            return None

    def _in_notebook(self) -> "list[Element]":
        """Return the figures and tables that a notebook shows, by default a table of the fields."""
        from calibrant.results.notebook import all_fields

        return all_fields(self)


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


def main_rows(result: "Assessment | ForecastAssessment", limits: Mapping[str, object]) -> list[tuple[str, str]]:
    """Return the rows of an assessment: verdict, metrics with limits, tests, and the names of what else it holds."""
    main = ("name", "n_samples", "n_classes", "law", "verdict", "metrics", "test", "tests", "groups")
    held = dict(shown(result))
    held["metrics"] = {name: limits.get(name, estimate) for name, estimate in result.metrics.items()}
    rows = [(name, summary(held[name])) for name in main if name in held and not _is_empty(held[name])]
    return [*rows, ("and", ", ".join(name for name in held if name not in main))]


def shown(result: "DataclassInstance") -> list[tuple[str, object]]:
    """Return the fields that are not empty."""
    found = [(f.name, getattr(result, f.name)) for f in fields(result)]
    return [(name, value) for name, value in found if not _is_empty(value)]


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
            [f"{key} {brief(part)}" for key, part in held.items()], one_per_line=any(map(is_dataclass, held.values()))
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
        return f"({_listed([str(key) for key in value], one_per_line=False)})"
    if isinstance(value, np.ndarray) or (isinstance(value, Sequence) and not isinstance(value, str)):
        return f"{len(value)} entries"
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        return f"{count(len(value))} characters"
    return significant(float(value), 4) if isinstance(value, (float, np.floating)) else str(value)


def _headline(result: Any) -> str:
    error, verdict = getattr(result, "error", None), getattr(result, "verdict", None)
    if is_dataclass(error):  # A curve.
        return f"error {brief(error)}"
    if is_dataclass(verdict):  # An assessment.
        return brief(verdict)
    held: list[tuple[str, Any]] = [(name, getattr(result, name, None)) for name in HEADS]
    held.append(("", type(result).__name__))
    name, value = next(pair for pair in held if not _is_empty(pair[1]))
    text = significant(value, 4) if name == "value" else str(value)
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
    lines = [part for line in text.splitlines() or [""] for part in _broken(line)]
    heads = [name, *[""] * (len(lines) - 1)]
    return [f"  {head:<{width}}  {line}".rstrip() for head, line in zip(heads, lines, strict=True)]


def _broken(line: str) -> list[str]:
    return wrap(line, WIDTH, max_lines=MOST_BROKEN, placeholder=" …") or [""]


def _is_empty(value: object) -> bool:
    return value is None or (isinstance(value, (str, Mapping, Sequence)) and len(value) == 0)
