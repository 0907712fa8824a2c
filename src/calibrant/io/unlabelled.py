"""Files to probabilities of rows that need no labels."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from calibrant._border.checks import as_log_probabilities, as_probabilities
from calibrant._border.text import printable
from calibrant._border.types import FloatArray
from calibrant.exceptions import InputError
from calibrant.io.columns import Request, as_request
from calibrant.io.opening import open_source
from calibrant.io.paths import Paths, as_paths
from calibrant.io.sources import located
from calibrant.io.tables import TextTable
from calibrant.io.values import LeftOut, read_complete, warn_of


class Unlabelled(NamedTuple):
    """Probabilities, (n, K), and weights of their rows, None if they are equal."""

    probs: FloatArray
    weights: FloatArray | None


def read_unlabelled(path: Paths, names: Sequence[Hashable], **options: object) -> Unlabelled:
    """Read probabilities of these classes from a file, or from several whose rows follow one another.

    Parameters
    ----------
    path : str, path, or sequence of them
    names : sequence of length K
        The classes, in place of those in `options`.
    **options
        As for `read_predictions`. Labels are not looked at, and may be missing.
    """
    named = {"classes": None if options.get("positive") is not None else list(names)}
    request = as_request(**{**options, **named, "needs_label": False})
    left_out = LeftOut() if request.drop_missing else None
    parts = [_read(each, request, len(names), left_out) for each in as_paths(path)]
    if left_out is not None:
        warn_of(left_out)
    weights = [part.weights for part in parts if part.weights is not None]
    return Unlabelled(np.concatenate([part.probs for part in parts]), np.concatenate(weights) if weights else None)


def _read(path: str, request: Request, n_classes: int, left_out: LeftOut | None) -> Unlabelled:
    with open_source(path) as source:
        if request.label is not None and request.label not in source.names:
            request = replace(request, label=None)
        columns = source.choose(request)
        if request.percent and isinstance(source, TextTable):
            source.percent = True
        numbers = {"probs": columns.probs} | ({} if columns.weight is None else {"weights": (columns.weight,)})
        arrays, _ = read_complete(source, numbers, left_out=left_out)
        values = arrays["probs"] / 100 if request.percent else arrays["probs"]
        with located(source, {"probs": columns.probs, "logits": columns.probs}):
            probs = (
                as_log_probabilities(values)[0]
                if request.logits
                else as_probabilities(values, renormalise=request.renormalise)[0]
            )
    if probs.shape[1] != n_classes:
        raise InputError(
            f"{printable(path)}: {n_classes} classes are needed, as in the rows with labels, but there are "
            f"{probs.shape[1]}. Name the columns with --probs."
        )
    return Unlabelled(probs, arrays.get("weights"))
