"""Columns found by their names, or by patterns."""

import re
from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase

from calibrant._border.text import listing, quoted, suggestion
from calibrant.exceptions import InputError


def find_column(file: str, names: Sequence[str], name: str) -> str:
    """Return the name, or refuse it if the file has no such column."""
    if name not in names:
        raise InputError(
            f"{file} has no column {quoted(name)}.{suggestion(name, names)} "
            f"Columns found: {listing(names)}.{hint(names)}"
        )
    return name


def choose_one(
    file: str,
    names: Sequence[str],
    argument: str,
    wanted: str | None,
    defaults: Sequence[str],
    advice: str = "",
    taken: Collection[str] = (),
) -> str:
    """Return the column that the caller names, else the first of the usual names that is not taken."""
    if wanted is not None:
        return find_column(file, names, wanted)
    free = [name for name in names if name not in taken]
    found = next((name for name in defaults if name in free), None) or in_any_case(free, defaults)
    if found is None:
        other = "other " if set(names).intersection(defaults) else ""
        raise InputError(
            f"{file} has no {other}column named {' or '.join(defaults)}. Columns found: {listing(names)}. "
            f"Name the right one with {argument}=.{advice or hint(names)}"
        )
    return found


def in_any_case(names: Sequence[str], usual: Sequence[str]) -> str | None:
    """Return the first name that is a usual one in upper or mixed case."""
    return next((name for name in names if name.lower() in usual), None)


def hint(names: Sequence[str]) -> str:
    """Return advice about a header that names no columns or has the wrong separator; empty if it looks right."""
    if names and all(re.fullmatch(r"[-+.,0-9eE]+", name) for name in names if name):
        return " The first line must name the columns."
    if len(names) == 1 and re.search(r"\s", names[0]):
        return " Columns must be separated by commas, semicolons, tabs or bars."
    return ""


def expand(file: str, names: Sequence[str], pattern: str) -> list[tuple[str, str]]:
    """Return the columns that a name or a pattern stands for, as `matches` does; at least one is needed."""
    if pattern in names:
        return [(pattern, pattern)]
    if not is_pattern(pattern):
        find_column(file, names, pattern)
    pairs = matches(names, pattern)
    if not pairs:
        raise InputError(f"{file} has no column that matches {quoted(pattern)}. Columns found: {listing(names)}.")
    return pairs


def as_patterns(argument: str, value: str | Sequence[str] | None, example: str) -> tuple[str, ...] | None:
    """Return a name, a pattern or a list of them as a tuple; None stays None."""
    if value is None:
        return None
    patterns = (value,) if isinstance(value, str) else tuple(value)
    if not (patterns and all(isinstance(p, str) for p in patterns)):
        raise TypeError(
            f"{argument} must be a column name, a pattern such as {example!r}, or a list of them, not {value!r}."
        )
    return patterns


def is_pattern(text: str) -> bool:
    """Whether a text contains a wildcard."""
    return any(c in text for c in "*?[")


def matches(names: Sequence[str], pattern: str) -> list[tuple[str, str]]:
    """Return the matching columns with the part that the star matches, sorted by it with 2 before 10."""
    matching = [name for name in names if name and fnmatchcase(name, pattern)]
    before, star, after = pattern.partition("*")
    if star and not is_pattern(before + after):
        pairs = [(name, name[len(before) : len(name) - len(after)]) for name in matching]
    else:
        pairs = [(name, name) for name in matching]
    return sorted(pairs, key=lambda pair: natural(pair[1]))


def natural(text: str) -> list[tuple[bool, int, str]]:
    """Sort key by which 2 comes before 10."""
    parts = re.findall(r"[0-9]{1,18}|[^0-9]+", text)
    return [(not p.isdecimal(), int(p) if p.isdecimal() else 0, p) for p in parts]
