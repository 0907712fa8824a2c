"""What `compare` is given: metrics by name, and models that predict the same rows."""

from collections.abc import Mapping, Sequence

import numpy as np

from calibrant.exceptions import InputError
from calibrant.predictions import Predictions, check_predictions

RULES = ("valid", "percentile")
"""How differences may be judged."""

BANDWIDTHS = ("baseline", "own")
"""Whose bandwidths a metric may have."""


def check_choice(value: str, name: str, known: Sequence[str]) -> str:
    """Return the value if it is one of those that are known."""
    if value not in known:
        raise InputError(f"{name} must be {' or '.join(map(repr, known))}, but is {value!r}.")
    return value


def checked_baseline(models: Mapping[str, Predictions], baseline: str | None) -> str:
    """Return the name of the baseline, the first if none is given; refuse models that predict other rows."""
    if not isinstance(models, Mapping):
        raise TypeError(f"models must be a mapping of names to Predictions, but is of type {type(models).__name__}.")
    if not models:
        raise InputError("models must hold at least one set of predictions, but it is empty.")
    baseline = next(iter(models)) if baseline is None else baseline
    if baseline not in models:
        raise InputError(f"baseline must be one of {', '.join(map(repr, models))}, but is {baseline!r}.")
    for name, p in models.items():
        check_predictions(p, f"model {name!r}")
        _check_rows(baseline, models[baseline], name, p)
    return baseline


def checked_tuning(
    models: Mapping[str, Predictions], tuning: Mapping[str, Predictions] | None
) -> Mapping[str, Predictions]:
    """Return the predictions to tune on, none if none are given; refuse those of other models."""
    if tuning is None:
        return {}
    if set(tuning) != set(models):
        raise InputError(f"tuning must have the names of the models, {[*models]}, but has {[*tuning]}.")
    for name, p in models.items():
        if tuning[name].classes != p.classes:
            raise InputError(
                f"tuning of {name!r} must have the classes of its predictions, but they are {tuning[name].classes} and "
                f"{p.classes}."
            )
    return tuning


def _check_rows(name: str, first: Predictions, other_name: str, other: Predictions) -> None:
    names = f"models {name!r} and {other_name!r}"
    if first.n_samples != other.n_samples:
        raise InputError(f"{names} must predict the same rows, but have {first.n_samples} and {other.n_samples}.")
    if first.classes != other.classes:
        raise InputError(f"{names} must have the same classes, but have {first.classes} and {other.classes}.")
    for what in ("labels", "weights"):
        differs = np.flatnonzero(getattr(first, what) != getattr(other, what))
        if len(differs):
            raise InputError(
                f"{names} must have the same {what} in the same order, but {len(differs)} rows differ; the first is "
                f"row {differs[0]}. Put the rows in the same order first."
            )
