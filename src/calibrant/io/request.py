"""What the caller says about the columns of a file."""

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypedDict

from calibrant.exceptions import InputError

INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


class ReadOptions(TypedDict, total=False):
    """Arguments of `read_predictions`."""

    label: str | None
    probs: str | Sequence[str] | None
    weight: str | None
    logits: bool
    classes: Sequence[Hashable] | None
    positive: Hashable | None
    percent: bool
    renormalise: bool
    drop_missing: bool


@dataclass(frozen=True)
class Request:
    """How to read class predictions: the arguments of `read_predictions`; a column that is None is found by its name.

    Patterns and classes are given in any form and kept as tuples.
    """

    label: str | None = None
    probs: Sequence[str] | None = None
    weight: str | None = None
    logits: bool = False
    classes: Sequence[Hashable] | None = None
    positive: Hashable | None = None
    percent: bool = False
    renormalise: bool = False
    drop_missing: bool = False
    needs_label: bool = True

    def __post_init__(self) -> None:
        _check_names(label=self.label, weight=self.weight)
        object.__setattr__(self, "probs", _as_patterns("probs", self.probs, "proba_*"))
        object.__setattr__(self, "classes", None if self.classes is None else as_class_names(list(self.classes)))
        for option, is_given in (("renormalise", self.renormalise), ("percent", self.percent)):
            if self.logits and is_given:
                raise InputError(f"{option}=True is for probabilities, but logits=True means that these are logits.")
        if self.positive is not None and self.classes is not None:
            raise InputError("positive= and classes= both name the classes. Leave out one of them.")


@dataclass(frozen=True)
class ForecastRequest:
    """How to read forecasts: the arguments of `read_forecasts`; a column that is None is found by its name."""

    target: str | None = None
    mean: str | None = None
    sd: str | None = None
    draws: Sequence[str] | None = None
    quantiles: Sequence[str] | None = None
    weight: str | None = None
    drop_missing: bool = False
    needs_target: bool = True

    def __post_init__(self) -> None:
        _check_names(target=self.target, mean=self.mean, sd=self.sd, weight=self.weight)
        object.__setattr__(self, "draws", _as_patterns("draws", self.draws, "draw_*"))
        object.__setattr__(self, "quantiles", _as_patterns("quantiles", self.quantiles, "q*"))
        is_normal = self.mean is not None or self.sd is not None
        if is_normal + (self.draws is not None) + (self.quantiles is not None) > 1:
            raise InputError(
                "mean= and sd= are for normal forecasts, draws= is for ensembles and quantiles= for columns of "
                "quantiles: a file is read as one of them. Leave out the others."
            )

    @property
    def names(self) -> set[str]:
        """The columns that are named, without draws and quantiles, which may be patterns."""
        return {name for name in (self.target, self.mean, self.sd, self.weight) if name is not None}


def weights_of(request: Request | ForecastRequest) -> dict[str, tuple[str, ...]]:
    """Return the column of the weights by the argument for which it is read, nothing if none is named."""
    return {} if request.weight is None else {"weights": (request.weight,)}


def _check_names(**names: object) -> None:
    for argument, name in names.items():
        if name is not None and not isinstance(name, str):
            raise TypeError(f"{argument} must be the name of a column, not {name!r}.")


def _as_patterns(argument: str, value: str | Sequence[str] | None, example: str) -> tuple[str, ...] | None:
    """Return a name, a pattern or a list of them as a tuple; None stays None."""
    if value is None:
        return None
    patterns = (value,) if isinstance(value, str) else tuple(value)
    if not (patterns and all(isinstance(p, str) for p in patterns)):
        raise TypeError(
            f"{argument} must be a column name, a pattern such as {example!r}, or a list of them, not {value!r}."
        )
    return patterns


def as_class_names(names: Sequence[Hashable]) -> tuple[Hashable, ...]:
    """Turn names into integers if all of them look like integers, so that labels are matched by value."""
    if all(isinstance(name, str) and INTEGER.fullmatch(name) for name in names):
        return tuple(int(str(name)) for name in names)
    return tuple(names)


def by_value(classes: Sequence[Hashable]) -> bool:
    """Whether all classes are integers: then a numeric label is the class itself, not its position."""
    return all(isinstance(name, int) and not isinstance(name, bool) for name in classes)
