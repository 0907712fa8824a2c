"""Predictions of several files as one."""

import warnings
from collections.abc import Hashable, Mapping

import numpy as np

from calibrant._border.suspicions import suspicions
from calibrant._border.text import listing, printable
from calibrant.exceptions import DataWarning, InputError
from calibrant.io.columns import Request
from calibrant.predictions import Predictions


def join_predictions(parts: Mapping[str, Predictions], request: Request) -> Predictions:
    """Return the rows of all files, one after another; their classes must be the same.

    Parameters
    ----------
    parts : mapping of str to Predictions
        By the name of the file.
    request : Request
        How they were read.
    """
    classes = _shared_classes(parts, request)
    every = list(parts.values())
    log_probs = np.concatenate([p.log_probs for p in every]) if request.logits else None
    joined = Predictions._trusted(  # noqa: SLF001 (of predictions that have been checked)
        np.concatenate([p.probs for p in every]),
        np.concatenate([p.labels for p in every]),
        np.concatenate([p.weights for p in every]),
        classes,
        log_probs,
    )
    for message in suspicions(joined.probs, joined.predicted, joined.labels, joined.weights, classes):
        warnings.warn(message, DataWarning, stacklevel=4)
    return joined


def _shared_classes(parts: Mapping[str, Predictions], request: Request) -> tuple[Hashable, ...]:
    """Return the classes of all files; one in which only the positive class occurs does not name the other."""
    unnamed = f"not {request.positive}"
    named = {name: p.classes for name, p in parts.items() if request.positive is None or p.classes[0] != unnamed}
    first, classes = next(iter(named.items()), next((name, p.classes) for name, p in parts.items()))
    for name, others in named.items():
        if others != classes:
            raise InputError(
                f"{printable(first)} and {printable(name)} must have the same classes to be read as one, but have "
                f"{listing([*map(str, classes)])} and {listing([*map(str, others)])}. Read them one by one."
            )
    return classes
