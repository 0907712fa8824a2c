"""Tables as text."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence

from studies.simulations.units import Unit


def as_csv(records: Iterable[Mapping[str, object]]) -> str:
    """Return records with the same keys as lines of values, below a line of the keys."""
    rows = list(records)
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def as_markdown(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    return "\n".join([_row(heads), "|" + "---|" * len(heads), *map(_row, lines)]) + "\n"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def section(title: str, heads: Sequence[str], lines: Iterable[Sequence[str]], words: str = "") -> str:
    """Return a heading, words if there are any, and a table."""
    return "\n".join([f"## {title}\n", *([f"{words}\n"] if words else []), as_markdown(heads, lines)])


def missing(units: Sequence[Unit]) -> str:
    """Say which units of the grid were not computed."""
    if not units:
        return "Every unit of the grid is complete.\n"
    names = sorted(unit.name for unit in units)
    lines = "\n".join(f"- {name}" for name in names)
    return f"## Not computed\n\n{len(names)} units of the grid are missing:\n\n{lines}\n"
