"""Which columns of a file hold the targets, the predictive distributions and the weights."""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from calibrant._border.numerals import as_given
from calibrant._border.text import listing, quoted
from calibrant._border.warn import warn
from calibrant.exceptions import InputError
from calibrant.io.header import Columns, Header, first_matches, first_usual, is_pattern, matches
from calibrant.io.request import ForecastRequest, weights_of

QUANTILES = ("q*", "quantile*")
"""Patterns of columns that are quantiles if a level stands for the star."""

EXAMPLES = "q0.05, q05, q5, quantile_0.05"


def level_of(text: str) -> float | None:
    """Return the level that a text gives, as a share or in percent; None if it gives none.

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
    if digits.isdecimal() and digits.startswith("0"):  # 05 means 0.05, and 025 means 0.025.
        return float(f"0.{digits}")
    value = float(digits)
    return value if value < 1 and "." in digits else round(value / 100, 12)


def _quantiles(header: Header, patterns: Sequence[str] | None, taken: Collection[str] = ()) -> dict[str, float]:
    """Return columns with their levels, ascending: those of the patterns, else those with usual names, if any."""
    if patterns is None:
        usual = first_matches(header.names, QUANTILES, lambda part: 0 < (level_of(part) or 0) < 1, least=2)
        return _checked(header.file, {name: level_of(part) or 0 for name, part in usual}) if usual else {}
    found: dict[str, float] = {}
    for pattern, pairs in zip(patterns, header.expand(patterns, taken), strict=True):
        for name, part in pairs:
            level = level_of(part) if is_pattern(pattern) else None
            found[name] = _level_in(header.file, name) if level is None else level
    return _checked(header.file, found)


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
    """Return the columns by ascending level; levels that are ambiguous, repeated or impossible are refused."""
    ordered = dict(sorted(found.items(), key=lambda item: item[1]))
    columns, levels = list(ordered), list(ordered.values())
    outside = next((name for name, level in ordered.items() if not 0 < level < 1), None)
    if outside is not None:
        raise InputError(
            f"{file}: levels of quantiles must lie between 0 and 1 (or 0 and 100 percent), but that of "
            f"{quoted(outside)} is {as_given(ordered[outside])}. Leave it out."
        )
    twice = next((i for i in range(1, len(levels)) if levels[i] == levels[i - 1]), None)
    if twice is not None:
        raise InputError(
            f"{file}: {quoted(columns[twice - 1])} and {quoted(columns[twice])} are both quantiles of level "
            f"{as_given(levels[twice])}. Name one of them."
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


TARGETS = ("target", "targets", "y", "y_true", "label", "observed", "value")
MEANS = ("mean", "mu", "loc", "prediction", "y_pred")
SDS = ("sd", "std", "sigma", "scale", "stdev")
VARIANCES = ("var", "variance")
DRAWS = ("draw_*", "sample_*", "member_*")
WHOLE_DRAWS = ("draws", "samples")
"""Names of one column, or one array, that holds all draws."""
WHOLE_QUANTILES, LEVELS = "quantiles", "levels"
"""Names of one array that holds all quantiles, and of the array of their levels beside it."""


def choose_forecasts(header: Header, request: ForecastRequest) -> Columns:
    """Choose the columns of a table, or arrays; a nested cell holds all draws or quantiles of a row."""
    chosen: dict[str, tuple[str, ...]] = {}
    own = request.names
    if request.needs_target:
        taken = own.union(request.draws or (), request.quantiles or ())
        target = header.choose("target", request.target, TARGETS, taken)
        chosen["targets"] = (target,)
        own.add(target)
    if request.weight is not None:
        header.find(request.weight)
    law = _choose_law(header, request, own)
    numbers = chosen | weights_of(request) | dict(law.numbers)
    header.check_roles(numbers)
    if request.mean is not None and request.sd is None:
        (column,) = numbers["scale"]
        warn(
            f"{header.file}: the column {quoted(column)} is taken as standard deviations, by its name: name it with "
            "sd=."
        )
    return replace(law, numbers=numbers)


def _choose_law(header: Header, request: ForecastRequest, taken: Collection[str]) -> Columns:
    """Choose the columns of the predictive distributions: those requested, else mean and sd, draws or quantiles."""
    free = header.without(taken)
    if whole := _whole_quantiles(header, request):
        return Columns({"values": (whole,)})
    if request.quantiles is not None:
        found = _quantiles(header, request.quantiles, taken)
        return Columns({"values": tuple(found)}, levels=tuple(found.values()))
    if request.draws is not None:
        return Columns({"draws": tuple(name for pairs in header.expand(request.draws, taken) for name, _ in pairs)})
    if request.mean is None and request.sd is None and not set(free.names).intersection(MEANS):
        if draws := _usual_draws(free):
            return Columns({"draws": draws})
        if found := _quantiles(free, None):
            return Columns({"values": tuple(found)}, levels=tuple(found.values()))
        raise InputError(
            f"{header.file} has no forecasts: neither a column of means ({', '.join(MEANS)}), nor numbered columns of "
            f"draws ({', '.join(DRAWS)}), nor quantiles ({EXAMPLES}). Columns found: {listing(header.names)}. Name the "
            "columns of a mean and a standard deviation with mean= and sd=, the draws of an ensemble with draws=, or "
            f"quantiles with quantiles=.{header.hint()}"
        )
    mean = header.choose("mean", request.mean, MEANS, taken)
    variance = first_usual(free.names, VARIANCES)
    if request.sd is None and variance is not None and not set(free.names).intersection(SDS):
        raise InputError(  # The square root is the caller's to take.
            f"{header.file} has a column {quoted(variance)} but no standard deviation ({', '.join(SDS)}). Write the "
            "square root of the variance in a column sd, or name the right column with sd=."
        )
    advice = " If an ensemble is meant, name its draws with draws=." if _usual_draws(free) else ""
    return Columns({"loc": (mean,), "scale": (header.choose("sd", request.sd, SDS, taken, advice),)})


def _whole_quantiles(header: Header, request: ForecastRequest) -> str | None:
    """Return the array that holds all quantiles, if one is named, or nothing else is, and levels are beside it."""
    nothing = all(said is None for said in (request.mean, request.sd, request.draws))
    found = request.quantiles or (WHOLE_QUANTILES,) * nothing
    there = LEVELS in header.names and len(found) == 1 and found[0] in header.names and found[0] in header.nested
    return found[0] if there else None


def _usual_draws(header: Header) -> tuple[str, ...]:
    """Return numbered columns of draws, or one column that holds all of them; columns like sample_id are no draws."""
    numbered = first_matches(header.names, DRAWS, str.isdecimal)
    whole = [name for name in WHOLE_DRAWS if name in header.names and name in header.nested]
    return tuple(name for name, _ in numbered) or tuple(whole[:1])


def forecasts_hint(header: Header) -> str:
    """Return how to read columns that look like forecasts, or nothing."""
    if draws := _usual_draws(header):
        pattern = next((p for p in DRAWS if p[:-1] in draws[0]), draws[0])
        return f" If these are forecasts, name the draws of the ensemble with draws='{pattern}'."
    mean, sd = (next((name for name in usual if name in header.names), None) for usual in (MEANS, SDS))
    if mean and sd:
        return f" If these are forecasts, name them with mean={mean} sd={sd}."
    found = [p for p in QUANTILES if sum(level_of(part) is not None for _, part in matches(header.names, p)) > 1]
    return f" If these are forecasts, name their quantiles with quantiles='{found[0]}'." if found else ""
