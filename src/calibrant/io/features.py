"""Which columns of a file are features: those that are asked for, never labels, probabilities or weights."""

import os
from collections.abc import Sequence

from calibrant._border.text import listing, quoted
from calibrant.exceptions import InputError
from calibrant.io.columns import Request
from calibrant.io.forecast_columns import ForecastRequest
from calibrant.io.matching import expand, is_pattern
from calibrant.io.read import open_source
from calibrant.io.sources import Source


def feature_names(
    path: str | os.PathLike[str], request: Request | ForecastRequest, patterns: Sequence[str] | None
) -> list[str]:
    """Return the columns of features, in the order of the file.

    Parameters
    ----------
    path : str or path
    request : Request or ForecastRequest
        What the caller said about labels, predictions and weights, which are no features: the groups of a label are
        wrong by construction.
    patterns : sequence of str or None
        Names, or patterns such as ``x_*``; None for all other columns.
    """
    with open_source(path) as source:
        taken, file = _taken(source, request), source.file.name
        free = [name for name in source.names if name and name not in taken and name not in source.nested]
        if patterns is None:
            wanted = set(free)
        else:
            for name in patterns:
                if name in taken and not is_pattern(name):
                    raise InputError(
                        f"{file}: {quoted(name)} is read as labels, predictions or weights and cannot be a feature. "
                        "Leave it out of --features."
                    )
            wanted = {name for pattern in patterns for name, _ in expand(file, source.names, pattern)}
        found = [name for name in free if name in wanted]
    if not found:
        raise InputError(
            f"{file} has no column of features beside labels, predictions and weights: {listing(source.names)}."
        )
    return found


def _taken(source: Source, request: Request | ForecastRequest) -> set[str | None]:
    """Return the columns that are read as something else."""
    if isinstance(request, ForecastRequest):
        return {name for names in source.choose_forecasts(request).values() for name in names}
    chosen = source.choose(request)
    return {chosen.label, chosen.weight, *chosen.probs}
