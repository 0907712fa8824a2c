"""Columns found by their names, by usual names, or by patterns; each may have one role."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TypeAlias

from calibrant._border.text import listing, quoted, repeated, suggestion
from calibrant.exceptions import InputError

Pairs: TypeAlias = list[tuple[str, str]]
"""Columns, each with the part of its name that stands for the star of a pattern, or else with its name."""

ARGUMENTS = {
    "labels": "label",
    "weights": "weight",
    "targets": "target",
    "loc": "mean",
    "scale": "sd",
    "values": "quantiles",
}
"""How readers call what a container or a distribution calls otherwise."""


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
    usual: Sequence[str],
    advice: str = "",
    taken: Collection[str] = (),
) -> str:
    """Return the column that the caller names, else the first of the usual names that is not taken."""
    if wanted is not None:
        return find_column(file, names, wanted)
    found = first_usual([name for name in names if name not in taken], usual)
    if found is None:
        other = "other " if set(names).intersection(usual) else ""
        raise InputError(
            f"{file} has no {other}column named {' or '.join(usual)}. Columns found: {listing(names)}. "
            f"Name the right one with {argument}=.{advice or hint(names)}"
        )
    return found


def first_usual(names: Sequence[str], usual: Sequence[str]) -> str | None:
    """Return the first usual name that there is, or else the first name that is a usual one in other letter case."""
    return next((u for u in usual if u in names), None) or next((n for n in names if n.lower() in usual), None)


def first_matches(
    names: Sequence[str], patterns: Sequence[str], fits: Callable[[str], bool] | None = None, least: int = 1
) -> Pairs:
    """Return the columns that match the first pattern with enough of them whose part for the star fits."""
    for pattern in patterns:
        found = [pair for pair in matches(names, pattern) if fits is None or fits(pair[1])]
        if len(found) >= least:
            return found
    return []


def expand(file: str, names: Sequence[str], pattern: str, taken: Collection[str] = ()) -> Pairs:
    """Return the columns that a name or a pattern stands for, as `matches` does; at least one is needed.

    A pattern leaves out the columns that have another role; a name does not, and is then refused.
    """
    if pattern in names or not is_pattern(pattern):
        return [(find_column(file, names, pattern), pattern)]
    free = [name for name in names if name not in taken]
    pairs = matches(free, pattern)
    if not pairs:
        raise InputError(f"{file} has no column that matches {quoted(pattern)}. Columns found: {listing(free)}.")
    return pairs


def check_roles(file: str, chosen: Mapping[str, Collection[str]]) -> None:
    """Refuse a column with two roles, or one that is named twice; roles are arguments of containers."""
    pairs = [(name, ARGUMENTS.get(key, key)) for key, names in chosen.items() for name in names]
    twice = repeated(name for name, _ in pairs)
    if twice is not None:
        one, other, *_ = [role for name, role in pairs if name == twice]
        if one == other:
            raise InputError(f"{file}: the column {quoted(twice)} is named twice with {one}=. Name it once.")
        raise InputError(
            f"{file}: a column has one role, but {quoted(twice)} is used for {one}= and for {other}=. Name another "
            "column for one of them."
        )


def hint(names: Sequence[str]) -> str:
    """Return advice about a header that names no columns or has the wrong separator; empty if it looks right."""
    if names and all(re.fullmatch(r"[-+.,0-9eE]+", name) for name in names if name):
        return " The first line must name the columns."
    if len(names) == 1 and re.search(r"\s", names[0]):
        return " Columns must be separated by commas, semicolons, tabs or bars."
    return ""


def is_pattern(text: str) -> bool:
    """Whether a text contains a wildcard."""
    return any(c in text for c in "*?[")


def matches(names: Sequence[str], pattern: str) -> Pairs:
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
