"""The parts of the omnibus test, by the names that all output uses."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypedDict

from calibrant._border.numerals import bare_pvalue

if TYPE_CHECKING:
    from calibrant.results.assessment import TestResult

TestedPart = TypedDict("TestedPart", {"statistic": float, "pvalue": float, "direction": str | None, "class": object})
TestedPart.__doc__ = "What the details of a test hold about one of its parts; the class is None unless it is about one."

TestedParts: TypeAlias = Mapping[str, TestedPart]
"""Parts by their keys in `PARTS`."""


class PartName(NamedTuple):
    """A part in words, and what it detects."""

    label: str
    sees: str


PARTS = {
    "bias": PartName("mean", "Predictions that are too high or too low on the whole."),
    "slope": PartName("slope", "Log-odds that are too extreme or too timid by a common factor."),
    "spiegelhalter": PartName("spread", "A squared error that does not fit the predictions (Spiegelhalter's z)."),
    "ecce": PartName("range of predictions", "Net errors over any range of predictions (ECCE)."),
    "class bias": PartName("mean per class", "The class with the largest mean error; rare classes count less."),
    "class count": PartName("count per class", "The class, rare or frequent, whose count is the most surprising."),
    "class slope": PartName("slope per class", "The class whose log-odds are most wrong by a factor."),
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
    "centre": PartName("centre", "Forecasts that are too low or too high on the whole."),
    "spread": PartName("spread", "Forecasts that are too narrow or too wide on the whole."),
    "shape": PartName("shape", "Skewness, and tails that are too light or too heavy."),
    "quantiles": PartName("quantiles", "Gaps between nominal and observed coverage over all levels (MACE)."),
    "trend": PartName(
        "trend over the forecasts",
        "A centre or a spread that changes with the predicted value or with the predicted width.",
    ),
}
"""The parts by their keys in the details of the test."""

OF_ALL = PartName(
    "slope of all classes", "Logits that are too extreme or too timid by a common factor, runners-up included."
)
"""The part "slope" for more than two classes."""

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


def parts_in_words(details: Mapping[str, Any]) -> dict[str, str]:
    """Return what revealed an error, and the p-values of the parts that decide and of the others, in words.

    Examples
    --------
    >>> parts_in_words({"parts": {"bias": {"pvalue": 0.001}, "ecce": {"pvalue": 0.25}}, "revealed_by": "the mean"})
    {'revealed by': 'the mean', 'parts': 'p-values of mean: 0.001; range of predictions: 0.25'}
    """
    deciding, others = details.get("parts", {}), details.get("also", {})
    keys, floor = {**deciding, **others}, details.get("smallest_pvalue")
    found = {"revealed by": str(details.get("revealed_by", ""))}
    for heading, parts in (("parts", deciding), ("not decisive", others)):
        words = {part_name(key, keys).label: bare_pvalue(part["pvalue"], floor) for key, part in parts.items()}
        listed = "; ".join(f"{label}: {value}" for label, value in words.items())
        found[heading] = f"p-values of {listed}" if listed else ""
    return {heading: words for heading, words in found.items() if words}


def smallest_pvalue(test: "TestResult") -> float | None:
    """Return the smallest p-value that the test can give, even if its redraws were not kept; None if not known."""
    known = test.details.get("smallest_pvalue")
    if known is not None:
        return float(known)
    return None if test.null is None else 1 / (1 + len(test.null))
