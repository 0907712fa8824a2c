"""Columns of quantiles: the level that the name of each says."""

import re
from collections.abc import Sequence

from calibrant._border.text import listing, quoted
from calibrant.exceptions import InputError
from calibrant.io.matching import expand, is_pattern, matches

QUANTILES = ("q*", "quantile*")
"""Patterns of columns that are quantiles if a level stands for the star."""

EXAMPLES = "q0.05, q05, q5, quantile_0.05"


def level_of(text: str) -> float | None:
    """Return the level that a text says, as a share or in percent; None if it says none.

    Examples
    --------
    >>> [level_of(text) for text in ("0.05", "_5", "05", "97.5", "025", "_0_5", "low")]
    [0.05, 0.05, 0.05, 0.975, 0.025, 0.5, None]
    """
    found = re.fullmatch(r"[-_ ]?(?:0_(?P<share>\d+)|(?P<number>\d+(?:[.,]\d+)?|\.\d+))(?:%|pct|percent)?", text)
    if found is None:
        return None
    if found["share"] is not None:
        return float(f"0.{found['share']}")
    digits = found["number"].replace(",", ".")
    if digits.isdecimal() and digits.startswith("0"):  # 05 and 025 are what follows the point.
        return float(f"0.{digits}")
    value = float(digits)
    return value if value < 1 and "." in digits else round(value / 100, 12)


def quantile_columns(file: str, names: Sequence[str], patterns: Sequence[str]) -> dict[str, float]:
    """Return the columns that the caller means, of those that have no other role, with their levels, in their order."""
    found: dict[str, float] = {}
    for pattern in patterns:
        for name, part in expand(file, names, pattern):
            level = level_of(part) if is_pattern(pattern) else None
            found[name] = _level_in(file, name) if level is None else level
    return _checked(file, found)


def usual_quantiles(file: str, names: Sequence[str]) -> dict[str, float]:
    """Return the columns whose names say that they are quantiles, with their levels; nothing if there are not two."""
    for pattern in QUANTILES:
        levels = {name: level_of(part) for name, part in matches(names, pattern)}
        found = {name: level for name, level in levels.items() if level is not None and 0 < level < 1}
        if len(found) > 1:
            return _checked(file, found)
    return {}


def _level_in(file: str, name: str) -> float:
    """Return the level at the end of a name."""
    end = re.search(r"(?:[-_ ]?0_\d+|\d*[.,]?\d+)(?:%|pct|percent)?$", name)
    level = None if end is None else level_of(end[0])
    if level is None:
        raise InputError(
            f"{file}: the name of a column of quantiles must end with its level, such as {EXAMPLES}, but "
            f"{quoted(name)} does not. Rename it."
        )
    return level


def _checked(file: str, found: dict[str, float]) -> dict[str, float]:
    """Return the columns by ascending level; no level may occur twice."""
    ordered = dict(sorted(found.items(), key=lambda item: item[1]))
    columns, levels = list(ordered), list(ordered.values())
    outside = next((name for name, level in ordered.items() if not 0 < level < 1), None)
    if outside is not None:
        raise InputError(
            f"{file}: levels of quantiles must lie between 0 and 1 (or 0 and 100 percent), but {quoted(outside)} says "
            f"{ordered[outside]:g}. Leave it out."
        )
    twice = next((i for i in range(1, len(levels)) if levels[i] == levels[i - 1]), None)
    if twice is not None:
        raise InputError(
            f"{file}: {quoted(columns[twice - 1])} and {quoted(columns[twice])} both are quantiles of level "
            f"{levels[twice]:g}. Name one of them."
        )
    if len(levels) < 2:
        raise InputError(
            f"{file}: at least two columns of quantiles are needed, but only {listing(columns)} was found."
        )
    if len(levels) > 2 and levels[-1] < 0.1 and all(name[-1:].isdecimal() for name in columns):
        raise InputError(
            f"{file}: it is not clear which levels {listing(columns)} mean: percent, tenths or others. Write levels as "
            f"{EXAMPLES}."
        )
    return ordered


def levels_of(file: str, columns: Sequence[str], patterns: Sequence[str] | None) -> list[float]:
    """Return the levels of columns that were chosen as quantiles, by the caller's patterns or by the usual ones."""
    found = usual_quantiles(file, columns) if patterns is None else quantile_columns(file, columns, patterns)
    return [found[name] for name in columns]
