"""The assessments of one page, with what tells them apart in every figure and table."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from calibrant._convert import InputError
from calibrant.report.svg import Element, element, marker
from calibrant.report.text import name
from calibrant.results import Assessment

N_COLOURS = 6
N_SHAPES = 4
N_SHOWN = 6
"""Curves beyond this many start hidden: a diagram of more cannot be read."""


@dataclass(frozen=True, eq=False)
class Series:
    """One assessment of the page; colour and shape repeat together only after twelve of them."""

    index: int
    key: str
    assessment: Assessment

    @cached_property
    def label(self) -> str:
        """The name as shown."""
        return name(self.key)

    @property
    def style(self) -> str:
        """Class that carries the colour."""
        return f"series-{self.index % N_COLOURS}"

    @property
    def shape(self) -> int:
        """Shape of the markers."""
        return self.index % N_SHAPES

    @property
    def shown(self) -> bool:
        """Whether the curve is visible at first."""
        return self.index < N_SHOWN

    @property
    def swatch(self) -> Element:
        """Marker for headings and legends."""
        sign = marker(self.shape, 7, 7, 5, "marker off")
        return element("svg", sign, viewBox="0 0 14 14", class_=f"swatch {self.style}", aria_hidden="true")


def as_series(assessments: Assessment | Mapping[str, Assessment]) -> list[Series]:
    """Return the assessments in their order, each with its number."""
    if isinstance(assessments, Assessment):
        assessments = {assessments.name: assessments}
    if not isinstance(assessments, Mapping):
        raise TypeError(
            f"assessments must be an Assessment or a mapping of names to them, but is {type(assessments).__name__}."
        )
    if not assessments:
        raise InputError("assessments must hold at least one Assessment, but is empty.")
    for key, value in assessments.items():
        if not isinstance(value, Assessment):
            raise TypeError(f"assessments[{key!r}] must be an Assessment, but is {type(value).__name__}.")
    return [Series(i, str(key), value) for i, (key, value) in enumerate(assessments.items())]
