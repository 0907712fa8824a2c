"""Gates: conditions on metrics that determine the exit code."""

import math
import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from calibrant._border.numerals import as_given, between, significant
from calibrant._border.text import quoted, suggestion
from calibrant.exceptions import InputError
from calibrant.metrics.names import metric_name
from calibrant.results import Compared, Comparison, TestResult, Verdict, favours
from calibrant.results.words.parts import smallest_pvalue

_SIGNS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_GATE = re.compile(r"\s*([\w-]+)\s*(>=|<=|>|<)\s*(\S+)\s*")


class Gate(NamedTuple):
    """A condition under which a command fails."""

    metric: str
    holds: Callable[[float, float], bool]
    limit: float


def check_gates(gates: Sequence[str], known: Sequence[str], more: Collection[str] = ()) -> None:
    """Refuse conditions that are not of the form "ece>0.05", before long work.

    `known` are the metrics that will be computed; `more` are those that --metrics could add.
    """
    for gate in gates:
        name = _read(gate).metric
        if name not in known:
            raise InputError(
                f"--fail-if must start with a metric that is computed, but {gate!r} starts with {quoted(name)}."
                f"{_remedy(name, known, more)}"
            )


def metrics_of(gates: Sequence[str]) -> list[str]:
    """Return the metrics in these conditions."""
    return [_read(gate).metric for gate in gates]


def _read(gate: str) -> Gate:
    parts = _GATE.fullmatch(gate)
    if parts is None:
        raise InputError(
            f"--fail-if must be a metric, one of > >= < <=, and a number, such as 'ece>0.05', but is {gate!r}."
        )
    try:
        limit = float(parts[3])
    except ValueError:
        limit = math.nan
    if math.isnan(limit):
        raise InputError(f"--fail-if must end in a number, but {gate!r} ends in {parts[3]!r}.")
    return Gate(metric_name(parts[1]), _SIGNS[parts[2]], limit)


def _remedy(name: str, known: Sequence[str], more: Collection[str]) -> str:
    if name in more:
        return " Add it to --metrics."
    return suggestion(name.lower(), [*known, *more]) or f" Metrics: {', '.join(known)}."


def failed(gates: Sequence[str], values: Mapping[str, float], model: str) -> list[str]:
    """Return the conditions that hold for the values of a model, in words."""
    found, unknown = [], []
    for gate in gates:
        name, holds, limit = _read(gate)
        value = values.get(name, math.nan)
        if math.isnan(value):
            unknown.append(
                f"--fail-if {gate!r} cannot be judged: these rows, perhaps too few, have no {name}. Leave it out."
            )
        elif holds(value, limit):
            found.append(f"{model}: {gate.strip()}, its {name} is {significant(value, 4)}")
    if unknown and not found:
        raise InputError(unknown[0])
    return found


def check_reach(results: Mapping[str, TestResult], level: float | None) -> None:
    """Refuse a level that no p-value can be below: redraws give none below 1 / (redraws + 1)."""
    smallest = len(results) * min(smallest_pvalue(result) or 0.0 for result in results.values())
    if level is not None and smallest > 0 and level <= smallest:
        several = f", adjusted for {len(results)} tests," if len(results) > 1 else ""
        raise InputError(
            f"--fail-below {as_given(level)} can never fail: with this many redraws no p-value{several} is below "
            f"{as_given(smallest)}. Raise --resamples, for example to {math.ceil(10 * len(results) / level) - 1}."
        )


def below(pvalues: Mapping[str, float], level: float | None) -> list[str]:
    """Return the tests whose adjusted p-value is below a level, in words."""
    adjusted = "adjusted p-value" if len(pvalues) > 1 else "p-value"
    return [
        f"{name}: its {adjusted} {significant(pvalue)} is below {as_given(level)}"
        for name, pvalue in pvalues.items()
        if level is not None and pvalue < level
    ]


def not_within(verdict: Verdict, model: str) -> list[str]:
    """Explain why a verdict does not show that the error is within the tolerance; nothing if it does."""
    if verdict.size == "within tolerance":
        return []
    known = significant(verdict.error)
    if verdict.low is not None and verdict.high is not None:
        known += f", with limits {between((verdict.low, verdict.high), significant)}"
    why = f"; it has no limits, as {verdict.reason}" if verdict.reason else ""
    found = f"; revealed by {verdict.gave_away}" if verdict.gave_away else ""
    return [
        f"{model}: not shown to be calibrated to within {as_given(verdict.tolerance)}, its error is {known}{why}{found}"
    ]


def worse_than_baseline(comparison: Comparison) -> list[str]:
    """Return the models that are significantly or infinitely worse than the baseline, and in which metrics."""
    found = []
    for entry in comparison.entries:
        difference = entry.difference
        if difference is not None and (favours(entry) < 0 or _is_infinitely_worse(entry)):
            found.append(
                f"{entry.model} is worse than {comparison.baseline} in {entry.metric}: by "
                f"{significant(abs(difference.value), 4)}"
            )
    return found


def not_judged(comparison: Comparison) -> list[str]:
    """Return the models that cannot be compared with the baseline, in which metrics, and why."""
    metrics: dict[tuple[str, str], list[str]] = {}
    for entry in _judged_by_the_gate(comparison):
        reason = _why_not_judged(entry)
        if reason:
            metrics.setdefault((entry.model, reason), []).append(entry.metric)
    return [
        f"whether {model} is worse than {comparison.baseline} in {', '.join(names)} cannot be judged: {reason}."
        for (model, reason), names in metrics.items()
    ]


def is_powerless(comparison: Comparison) -> bool:
    """Whether no difference can be judged, so that the gate could never fail."""
    return all(_why_not_judged(entry) for entry in _judged_by_the_gate(comparison))


def _judged_by_the_gate(comparison: Comparison) -> list[Compared]:
    return [entry for entry in comparison.entries if entry.model != comparison.baseline]


def _why_not_judged(entry: Compared) -> str:
    difference = entry.difference
    if entry.better == "none":
        return "neither lower nor higher values are better"
    if difference is None:
        return "both values are infinite"
    if math.isnan(difference.value):
        return "the difference is not a number"
    if difference.low is None and not math.isinf(difference.value):
        return f"no limits with known coverage; {difference.reason}".removesuffix("; ")
    return ""


def _is_infinitely_worse(entry: Compared) -> bool:
    """Whether the model is infinitely worse than the baseline, which is clear without limits."""
    value = 0.0 if entry.difference is None else entry.difference.value
    return math.isinf(value) and entry.better == ("lower" if value > 0 else "higher")
