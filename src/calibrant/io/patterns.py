"""Patterns that choose columns by their names."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any


def as_patterns(argument: str, value: Any, example: str) -> tuple[str, ...] | None:
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
    """Whether there is a wildcard in it."""
    return any(c in text for c in "*?[")


def matches(names: Sequence[str], pattern: str) -> list[tuple[str, str]]:
    """Return matching columns, never nameless ones, with the part that stands for the star, sorted naturally by it."""
    matching = [name for name in names if name and fnmatchcase(name, pattern)]
    before, star, after = pattern.partition("*")
    if star and not is_pattern(before + after):
        pairs = [(name, name[len(before) : len(name) - len(after)]) for name in matching]
    else:
        pairs = [(name, name) for name in matching]
    return sorted(pairs, key=lambda pair: _natural(pair[1]))


def _natural(text: str) -> list[tuple[bool, int, str]]:
    """Sort key by which 2 comes before 10."""
    pieces = re.findall(r"[0-9]{1,18}|[^0-9]+", text)
    return [(not p.isdecimal(), int(p) if p.isdecimal() else 0, p) for p in pieces]
