"""Parse names of losses with penalties, such as "ce+8*mmce", without PyTorch, which takes seconds to load."""

import math
from collections.abc import Collection

from calibrant.exceptions import InputError


def split_loss(
    name: str, losses: Collection[str], penalties: Collection[str]
) -> tuple[str, tuple[tuple[str, float], ...]]:
    """Return the loss in a name, and its penalties with their weights.

    Parameters
    ----------
    name : str
        A loss, or a loss and penalties joined by plus signs. A penalty may have a weight and an asterisk before it; the
        default weight is 1.
    losses, penalties : collections of str
        The known names.

    Raises
    ------
    InputError
        If a name is unknown, or a weight is not a positive number.

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
    weight, _, penalty = text.rpartition("*")
    if penalty not in penalties:
        raise InputError(
            f"a penalty added to a loss must be one of {', '.join(penalties)}, but is {penalty!r:.80} in {name!r:.80}."
        )
    return penalty, _weight(weight, name) if "*" in text else 1.0


def _weight(text: str, name: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not 0 < weight < math.inf:
        raise InputError(f"the weight of a penalty must be a positive number, but is {text!r:.80} in {name!r:.80}.")
    return weight
