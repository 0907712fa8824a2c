"""The parts of the omnibus test by the names that every screen uses."""

from collections.abc import Iterable
from typing import NamedTuple


class PartName(NamedTuple):
    """A part in words, and what it sees."""

    label: str
    sees: str


PARTS = {
    "bias": PartName("mean", "Predictions that are too high or too low on the whole."),
    "slope": PartName("slope", "Log-odds that are too extreme or too timid by a common factor."),
    "spiegelhalter": PartName("spread", "A squared error that does not fit the predictions (Spiegelhalter's z)."),
    "ecce": PartName("range of predictions", "Net errors over any range of predictions (ECCE)."),
    "class bias": PartName("mean of a class", "The class with the largest mean error."),
    "class slope": PartName("slope of a class", "The class whose log-odds are most wrong by a factor."),
    "skce": PartName(
        "probabilities of all classes together", "Whole probability vectors, runners-up included (kernel error, SKCE)."
    ),
    "impossible labels": PartName("labels of probability 0", "Labels that the model said could not happen."),
    "top-label bias": PartName("mean confidence", "Confidence that is too high or too low on the whole."),
    "top-label ece": PartName(
        "curve of the confidence", "Gaps between confidence and accuracy in ten groups of rows (ECE)."
    ),
    "top-label slope": PartName("slope of the confidence", "Log-odds of the confidence, too extreme or too timid."),
    "top-label spiegelhalter": PartName(
        "spread of the confidence", "A squared error that does not fit the confidence."
    ),
    "top-label ecce": PartName("range of the confidence", "Net errors over any range of the confidence (ECCE)."),
    "runner-up bias": PartName("mean of the runners-up", "Second largest probabilities too high or too low."),
}
"""The parts by their keys in the details of the test."""

OF_ALL = PartName(
    "slope of all classes", "Logits that are too extreme or too timid by a common factor, runners-up included."
)
"""The part "slope" of more than two classes."""

OF_SEVERAL = ("class ", "top-label ")
"""Beginnings of the keys that only tests of more than two classes have."""


def part_name(key: str, keys: Iterable[str]) -> PartName:
    """Return the name of a part, given the keys of all parts of its test.

    Examples
    --------
    >>> part_name("slope", ["bias", "slope"]).label, part_name("slope", ["slope", "class bias"]).label
    ('slope', 'slope of all classes')
    """
    if key == "slope" and any(other.startswith(OF_SEVERAL) for other in keys):
        return OF_ALL
    return PARTS.get(key, PartName(key, ""))
