"""Names of columns: found by their usual names or by patterns; each may have one role."""

import re
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import NamedTuple, TypeAlias

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


Chosen: TypeAlias = Mapping[str, tuple[str, ...]]
"""Arguments of a container to the columns of numbers that each is read from."""


@dataclass(frozen=True)
class Columns:
    """The columns to read: of numbers, by arguments of a container, and of labels, empty if none is needed.

    `classes` are the names of the classes in the order of the columns of "probs", None if nothing names them; if they
    are `positional`, labels 0, 1, ... mean the classes in this order without doubt. `levels` are those of "values", if
    the names of these columns hold them.
    """

    numbers: Chosen
    label: str = ""
    classes: Sequence[Hashable] | None = None
    positional: bool = True
    levels: Sequence[float] = ()

    @property
    def probs(self) -> tuple[str, ...]:
        """Columns of the probabilities."""
        return self.numbers["probs"]

    @property
    def weight(self) -> str | None:
        """Column of the weights."""
        return next(iter(self.numbers.get("weights", ())), None)


class Header(NamedTuple):
    """The columns of a file, or its arrays; a cell of those in `nested` holds a whole row of numbers."""

    file: str
    names: tuple[str, ...]
    nested: Collection[str] = frozenset()

    def without(self, taken: Collection[str]) -> "Header":
        """Return the header without columns that have another role."""
        return self._replace(names=tuple(name for name in self.names if name not in taken))

    def find(self, name: str) -> str:
        """Return the name, or refuse it if the file has no such column."""
        if name not in self.names:
            raise InputError(
                f"{self.file} has no column {quoted(name)}.{suggestion(name, self.names)} "
                f"Columns found: {listing(self.names)}.{self.hint()}"
            )
        return name

    def choose(
        self, argument: str, wanted: str | None, usual: Sequence[str], taken: Collection[str] = (), advice: str = ""
    ) -> str:
        """Return the column that the caller names, else the first of the usual names that is not taken."""
        if wanted is not None:
            return self.find(wanted)
        found = first_usual(self.without(taken).names, usual)
        if found is None:
            other = "other " if set(self.names).intersection(usual) else ""
            raise InputError(
                f"{self.file} has no {other}column named {' or '.join(usual)}. Columns found: {listing(self.names)}. "
                f"Name the right one with {argument}=.{advice or self.hint()}"
            )
        return found

    def expand(self, patterns: Sequence[str], taken: Collection[str] = ()) -> list[Pairs]:
        """Return the columns that each name or pattern stands for, at least one.

        A pattern leaves out the columns that have another role; a name does not, and is then refused.
        """
        free = self.without(taken).names
        found = [
            matches(free, pattern)
            if is_pattern(pattern) and pattern not in self.names
            else [(self.find(pattern), pattern)]
            for pattern in patterns
        ]
        if not all(found):
            nothing = quoted(patterns[found.index([])])
            raise InputError(f"{self.file} has no column that matches {nothing}. Columns found: {listing(free)}.")
        return found

    def check_roles(self, chosen: Mapping[str, Collection[str]]) -> None:
        """Refuse a column with two roles, or one that is named twice; roles are arguments of containers."""
        pairs = [(name, ARGUMENTS.get(key, key)) for key, names in chosen.items() for name in names]
        twice = repeated(name for name, _ in pairs)
        if twice is not None:
            one, other, *_ = [role for name, role in pairs if name == twice]
            if one == other:
                raise InputError(f"{self.file}: the column {quoted(twice)} is named twice with {one}=. Name it once.")
            raise InputError(
                f"{self.file}: a column has one role, but {quoted(twice)} is used for {one}= and for {other}=. Name "
                "another column for one of them."
            )

    def hint(self) -> str:
        """Return advice about a header that names no columns or has the wrong separator; empty if it looks right."""
        if self.names and all(re.fullmatch(r"[-+.,0-9eE]+", name) for name in self.names if name):
            return " The first line must name the columns."
        if len(self.names) == 1 and re.search(r"\s", self.names[0]):
            return " Columns must be separated by commas, semicolons, tabs or bars."
        return ""


def first_usual(names: Sequence[str], usual: Sequence[str]) -> str | None:
    """Return the first usual name that there is, or else the first name that is a usual one in other letter case."""
    return next((u for u in usual if u in names), None) or next((n for n in names if n.lower() in usual), None)


def first_matches(
    names: Sequence[str], patterns: Sequence[str], fits: Callable[[str], bool] = lambda _: True, least: int = 1
) -> Pairs:
    """Return the columns that match the first pattern with enough of them whose part for the star fits."""
    every = ([pair for pair in matches(names, pattern) if fits(pair[1])] for pattern in patterns)
    return next((found for found in every if len(found) >= least), [])


def is_pattern(text: str) -> bool:
    """Whether a text contains a wildcard."""
    return any(c in text for c in "*?[")


def matches(names: Sequence[str], pattern: str) -> Pairs:
    """Return the matching columns with the part that the star matches, sorted by it with 2 before 10."""
    before, star, after = pattern.partition("*")
    cut = (len(before), len(after)) if star and not is_pattern(before + after) else (0, 0)
    pairs = [(name, name[cut[0] : len(name) - cut[1]]) for name in names if name and fnmatchcase(name, pattern)]
    return sorted(pairs, key=lambda pair: natural(pair[1]))


def natural(text: str) -> list[tuple[bool, int, str]]:
    """Sort key by which 2 comes before 10."""
    parts = re.findall(r"[0-9]{1,18}|[^0-9]+", text)
    return [(not p.isdecimal(), int(p) if p.isdecimal() else 0, p) for p in parts]
