"""Parse names of losses with penalties, such as "ce+8*mmce", without PyTorch, which takes seconds to load."""

import math
from collections.abc import Collection

from calibrant.exceptions import InputError


def split_loss(
    name: str, losses: Collection[str], penalties: Collection[str]
) -> tuple[str, tuple[tuple[str, float], ...]]:
    """Return the loss in a name, and its penalties with their weights, which are 1 by default.

    Examples
    --------
    >>> split_loss("ce+8*mmce+skce", ["ce"], ["mmce", "skce"])
    ('ce', (('mmce', 8.0), ('skce', 1.0)))
    """
    first, *others = name.split("+")
    if first not in losses:
        raise InputError(
            f"loss must be one of {', '.join(losses)}, optionally with a penalty, as in {next(iter(losses))}+"
            f"{next(iter(penalties))}, but is {name!r:.80}."
        )
    return first, tuple(_penalty(other, name, penalties) for other in others)


def _penalty(text: str, name: str, penalties: Collection[str]) -> tuple[str, float]:
    given, _, penalty = text.rpartition("*")
    if penalty not in penalties:
        raise InputError(
            f"a penalty added to a loss must be one of {', '.join(penalties)}, but is {penalty!r:.80} in {name!r:.80}."
        )
    try:
        weight = float(given if "*" in text else 1)
    except ValueError:
        weight = math.nan
    if not 0 < weight < math.inf:
        raise InputError(f"the weight of a penalty must be a positive number, but is {given!r:.80} in {name!r:.80}.")
    return penalty, weight
