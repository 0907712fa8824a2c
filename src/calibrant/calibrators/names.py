"""Tables of calibrators by name, with alternative spellings and compositions of names."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from calibrant._border.spellings import Spellings
from calibrant.exceptions import InputError

if TYPE_CHECKING:
    from calibrant.calibrators.calibrator import Calibrator

C = TypeVar("C")

THEN = ">"
"""Separator of the stage names of a composition, in order of application."""

ARROW = "→"
"""The separator in papers."""

SPELLINGS = Spellings(
    aliases={
        "hb": "histogram",
        "histogram-binning": "histogram",
        "ir": "isotonic",
        "isotonic-regression": "isotonic",
        "sigmoid": "platt",
        "logistic": "platt",
        "platt-scaling": "platt",
        "temperature": "ts",
        "temperature-scaling": "ts",
        "vector": "vs",
        "vector-scaling": "vs",
        "matrix": "ms",
        "matrix-scaling": "ms",
        "beta-calibration": "beta",
    },
    ambiguous={
        # "iop-oi" is the published family; a note on multi-class calibration uses "IOP-OI" for the other one.
        "iop-oi": "one increasing function shared by all scores is 'iop-diag'; the published order-invariant family is "
        "'iop-oi', in small letters. Write one of these.",
    },
)
"""Spellings that are accepted in addition to the names in CALIBRATORS."""


class CalibratorTable(dict[str, Callable[..., C]], Generic[C]):
    """A table of functions that build calibrators, by name; a name joined by ">" builds a composition.

    Parameters
    ----------
    examples : str
        Example names, for error messages.
    spellings : Spellings
        What is accepted in addition to the names.

    Examples
    --------
    >>> from calibrant.calibrators import CALIBRATORS
    >>> [type(stage).__name__ for stage in CALIBRATORS["ts>svs"]().stages]
    ['TemperatureScaling', 'StructuredScaling']
    """

    _compose: Callable[..., C]

    def __init__(self, examples: str, spellings: Spellings) -> None:
        super().__init__()
        self._examples, self._spellings = examples, spellings

    def fill(self, rows: Mapping[str, Callable[..., C]], compose: Callable[..., C]) -> None:
        """Set the rows, and the function that builds a composition from a list of them."""
        self.update(rows)
        self._compose = compose

    def __missing__(self, name: str) -> Callable[..., C]:
        try:
            builders = [self[stage] for stage in self._stages(str(name))]
        except InputError as error:
            raise KeyError(*error.args) from None
        return builders[0] if len(builders) == 1 else partial(self._compose, builders)

    def full_name(self, name: str) -> str:
        """Return the name in the table, or the composition of such names, that any accepted spelling stands for."""
        if not isinstance(name, str):
            raise TypeError(f"name must be a string such as {self._examples}, but is {name!r:.80}.")
        return THEN.join(self._stages(name))

    def chosen(self, given: Sequence[str] | Mapping[str, C], what: str) -> dict[str, C]:
        """Return calibrators by name: those of a mapping, or a fresh one for each name; `what` is for the message."""
        if isinstance(given, str):
            raise TypeError(f"{what} must be a sequence of names, but is the string {given!r}. Pass [{given!r}].")
        return (
            dict(given) if isinstance(given, Mapping) else {name: self[name]() for name in map(self.full_name, given)}
        )

    def name_of(self, calibrator: C) -> str:
        """Return the name of the row that builds a calibrator with these settings, or "" if there is none."""
        for name, build in self.items():
            kind, settings = (build.func, build.keywords) if isinstance(build, partial) else (build, {})
            if kind is type(calibrator) and all(getattr(calibrator, k) == v for k, v in settings.items()):
                return name
        return ""

    def _stages(self, name: str) -> list[str]:
        """Return the stages of a composed name, as names in the table and in order of application."""
        return [self._stage(part.strip(), name) for part in name.replace(ARROW, THEN).split(THEN)]

    def _stage(self, part: str, name: str) -> str:
        found = self._spellings.find(part, self)
        if found in self:
            return found
        self._refuse_without_order(part)
        what = f"{part!r} is not one" if part == name else f"{part!r} in {name!r} is not one"
        close = self._spellings.near(part, self)
        advice = f"Did you mean {' or '.join(map(repr, close))}?" if close else f"There are {', '.join(self)}."
        raise InputError(f'a calibrator must have a known name, or several joined by "{THEN}", but {what}. {advice}')

    def _refuse_without_order(self, part: str) -> None:
        """Refuse two names with a hyphen between them, which do not say which is applied first."""
        words = part.split("-")
        for i in range(1, len(words)):
            one, other = (self._spellings.find("-".join(some), self) for some in (words[:i], words[i:]))
            if one in self and other in self:
                raise InputError(
                    f"{part!r} does not say which is applied first. Write '{one}{THEN}{other}' or "
                    f"'{other}{THEN}{one}', in order of application."
                )


CALIBRATORS: CalibratorTable["Calibrator"] = CalibratorTable('"ts" or "ts>irova"', SPELLINGS)
"""Every calibrator by its name on the command line; calling the value builds a fresh estimator.

Names joined by ">", such as "ts>irova", build a composition, in order of application. Spellings from papers, such as
"TS" and "IROvA", are accepted too; see `calibrator_name`. The rows are in `calibrant.calibrators`.
"""


def calibrator_name(name: str) -> str:
    """Return the name in CALIBRATORS, or the composition of such names, that any accepted spelling stands for.

    Parameters
    ----------
    name : str
        In upper or lower case. Aliases such as "hb", "ir" and "sigmoid", and arrows as in "TS→IROvA", are accepted.

    Raises
    ------
    InputError
        If the name is unknown or ambiguous: "IROvA-TS" does not say which is applied first.

    Examples
    --------
    >>> calibrator_name("IROvA"), calibrator_name("TS > HB")
    ('irova', 'ts>histogram')
    """
    return CALIBRATORS.full_name(name)
