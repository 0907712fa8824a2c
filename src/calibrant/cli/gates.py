"""Gates: conditions on metrics that turn into the exit code."""

import operator
import re
from collections.abc import Callable, Mapping, Sequence

from calibrant._convert import InputError
from calibrant.results import Comparison, favours

_SIGNS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_GATE = re.compile(r"\s*([a-z0-9-]+)\s*(>=|<=|>|<)\s*(\S+)\s*")


def check_gates(gates: Sequence[str], known: Sequence[str]) -> list[tuple[str, Callable[[float, float], bool], float]]:
    """Read conditions like "ece>0.05", before anything long is computed."""
    found = []
    for gate in gates:
        parts = _GATE.fullmatch(gate)
        if parts is None or parts[1] not in known:
            raise InputError(
                f"--fail-if must be a metric, one of > >= < <=, and a number, like 'ece>0.05', but is {gate!r}. "
                f"Metrics: {', '.join(known)}."
            )
        try:
            limit = float(parts[3])
        except ValueError:
            raise InputError(f"--fail-if must end in a number, but {gate!r} ends in {parts[3]!r}.") from None
        found.append((parts[1], _SIGNS[parts[2]], limit))
    return found


def failed(gates: Sequence[str], values: Mapping[str, float], model: str) -> list[str]:
    """Return the conditions that the values of a model meet, in words."""
    checked = check_gates(gates, list(values))
    return [
        f"{model}: {gate.strip()}, its {name} is {values[name]:.4g}"
        for gate, (name, compare, limit) in zip(gates, checked, strict=True)
        if compare(values[name], limit)
    ]


def worse_than_baseline(comparison: Comparison) -> list[str]:
    """Return which models are significantly worse than the baseline, and in what."""
    found = []
    for entry in comparison.entries:
        difference = entry.difference
        if difference is not None and favours(entry) < 0:
            found.append(
                f"{entry.model} is worse than {comparison.baseline} in {entry.metric}: by {abs(difference.value):.4g}"
            )
    return found
