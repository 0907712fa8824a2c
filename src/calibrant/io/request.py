"""What the caller says about the columns of a file, in one form."""

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypedDict, Unpack

from calibrant.exceptions import InputError
from calibrant.io.matching import as_patterns

INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


@dataclass(frozen=True)
class Request:
    """What the caller said about the columns; None means: find it by its name."""

    label: str | None = None
    probs: tuple[str, ...] | None = None
    weight: str | None = None
    logits: bool = False
    classes: tuple[Hashable, ...] | None = None
    needs_label: bool = True
    positive: Hashable | None = None
    percent: bool = False
    raw_logits: bool = False
    renormalise: bool = False
    drop_missing: bool = False


class _AsTheyAre(TypedDict, total=False):
    label: str | None
    weight: str | None
    logits: bool
    positive: Hashable | None
    percent: bool
    renormalise: bool
    drop_missing: bool


class ReadOptions(_AsTheyAre, total=False):
    """Arguments of `read_predictions`."""

    probs: str | Sequence[str] | None
    classes: Sequence[Hashable] | None


def as_request(
    *,
    probs: str | Sequence[str] | None = None,
    classes: Sequence[Hashable] | None = None,
    needs_label: bool = True,
    raw_logits: bool = False,
    **others: Unpack[_AsTheyAre],
) -> Request:
    """Bring the caller's arguments into one form, and refuse those that exclude each other."""
    names = None if classes is None else as_class_names(list(classes))
    patterns = as_patterns("probs", probs, "proba_*")
    request = Request(probs=patterns, classes=names, needs_label=needs_label, raw_logits=raw_logits, **others)
    for option, is_given in (("renormalise", request.renormalise), ("percent", request.percent)):
        if request.logits and is_given:
            raise InputError(f"{option}=True is for probabilities, but logits=True means that these are logits.")
    if request.positive is not None and request.classes is not None:
        raise InputError("positive= and classes= both name the classes. Leave out one of them.")
    return request


def as_class_names(names: Sequence[Hashable]) -> tuple[Hashable, ...]:
    """Turn names that all look like integers into integers, so that labels are matched by value."""
    if all(isinstance(name, str) and INTEGER.fullmatch(name) for name in names):
        return tuple(int(str(name)) for name in names)
    return tuple(names)


def by_value(classes: Sequence[Hashable]) -> bool:
    """Whether the classes are integers, so that numeric labels are their values and not their positions."""
    return all(isinstance(name, int) and not isinstance(name, bool) for name in classes)
