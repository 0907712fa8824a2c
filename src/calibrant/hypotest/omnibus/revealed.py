"""What revealed miscalibration, in words: the part of the omnibus test that stands out most."""

from dataclasses import replace
from typing import NamedTuple

from calibrant.hypotest.omnibus.facts import SIGNIFICANT_Z, Facts, facts_of, kind_of
from calibrant.predictions import Predictions
from calibrant.results import TestResult
from calibrant.results.words.parts import PARTS, TestedParts, part_name

LEVEL = 0.05
"""A p-value at or below this speaks against calibration."""

CONFIDENCE = "top-label "
"""Prefix of the names of parts about the confidence, with more than two classes."""

IMPOSSIBLE = "impossible labels"

PREFERRED = {
    "biased": (IMPOSSIBLE, "bias"),
    "over-confident": (IMPOSSIBLE, "top-label bias", "class bias", "slope"),
    "under-confident": ("top-label bias", "class bias", "slope"),
    "miscalibrated": (IMPOSSIBLE, "top-label ece", "slope", "class bias", "class count", "class slope"),
}
"""The order in which a verdict of each code prefers parts with the same p-value: the plainest first."""

RIVALS = {"top-label bias": ("class bias",)}
"""Parts on the same scale as the key; the one with the largest statistic is named."""

SEEN_BY = {"top-label bias": "top-label ece"}
"""For a part that does not enter the p-value, the one that does and sees the same error."""

VECTORS = ("slope", "skce")
"""Parts about all classes together, with more than two classes."""

RUNNER_UP, RUNNERS_UP = "runner-up bias", "the runners-up"
"""The part about the second largest probabilities, and their name in words."""


class Revealed(NamedTuple):
    """The part of the test that revealed miscalibration.

    Attributes
    ----------
    part : str
        Empty if the test has no parts.
    label : str
        Its name in words, such as "slope".
    direction : str
        "too high", "too low", "too extreme", "too timid", or empty.
    class_name : str or None
        The class, if the part is about one of several.
    confidence_is_suspect : bool
        Whether any part about the confidence, or about class 1 of two, speaks against calibration by itself.
    runners_up_are_suspect : bool
        Whether the part about the second largest probabilities does.
    """

    part: str
    label: str
    direction: str
    class_name: str | None
    confidence_is_suspect: bool
    runners_up_are_suspect: bool = False

    @property
    def is_about_classes(self) -> bool:
        """Whether the confidence in the predicted class alone does not reveal the error."""
        return self.class_name is not None or (bool(self.part) and not self.confidence_is_suspect)

    @property
    def is_about_runners_up(self) -> bool:
        """Whether a part about all classes reveals an error that the runners-up show and the confidence does not."""
        is_theirs = self.runners_up_are_suspect and not self.confidence_is_suspect
        return self.class_name is None and self.part in VECTORS and is_theirs


def revealed_in(test: TestResult, code: str, facts: Facts | None = None) -> Revealed:
    """Return the part of an omnibus test that revealed miscalibration; empty for any other test.

    Only parts that enter the p-value are named. Facts about the confidence may add what no part looks at: its slope.
    """
    deciding: TestedParts = test.details.get("parts", {})
    parts: TestedParts = {**deciding, **test.details.get("also", {})}
    name = _part_to_name(parts, deciding, test.details.get("found_by", ""), PREFERRED.get(code, ()))
    part = parts.get(name)
    found = None if part is None else part["class"]
    suspect = any(one["pvalue"] <= LEVEL for key, one in parts.items() if key.startswith(CONFIDENCE))
    suspect |= facts is not None and max(abs(facts.z), abs(facts.extreme)) > SIGNIFICANT_Z
    two_classes = not any(key.startswith(CONFIDENCE) for key in parts)
    return Revealed(
        part=name,
        label=part_name(name, parts).label,
        direction=(part and part["direction"]) or _related_direction(name, parts) or "",
        class_name=None if found is None else str(found),
        confidence_is_suspect=suspect or two_classes,
        runners_up_are_suspect=RUNNER_UP in parts and parts[RUNNER_UP]["pvalue"] <= LEVEL,
    )


def _part_to_name(parts: TestedParts, deciding: TestedParts, found_by: str, preferred: tuple[str, ...]) -> str:
    """Return the first preferred part whose p-value is at most that of the part that stands out."""
    ties = [key for key in preferred if key in parts and parts[key]["pvalue"] <= parts[found_by]["pvalue"]]
    if not ties:
        return found_by
    # Both are in standard errors: if a class stands out further than the confidence, the class is the cause.
    rivals = [key for key in ties if key in (ties[0], *RIVALS.get(ties[0], ()))]
    first = max(rivals, key=lambda key: parts[key]["statistic"])
    named = (key for key in (first, SEEN_BY.get(first, ""), *ties) if key in deciding)
    return next((key for key in named if deciding[key]["pvalue"] <= parts[found_by]["pvalue"]), found_by)


def _related_direction(name: str, parts: TestedParts) -> str | None:
    """Return the direction of the part that sees the same error as this one, which has no direction of its own."""
    return next((parts[key]["direction"] for key, seen_by in SEEN_BY.items() if seen_by == name and key in parts), None)


def in_words(revealed: Revealed) -> str:
    """Say what revealed the error, such as "the slope (too extreme)" or "class Shirt (too high)".

    Examples
    --------
    >>> in_words(Revealed("class bias", "mean per class", "too high", "Shirt", False))
    'class Shirt (too high)'
    >>> in_words(Revealed("skce", "probabilities of all classes together", "", None, False, True))
    'the runners-up'
    """
    direction = f" ({revealed.direction})" if revealed.direction else ""
    if revealed.class_name is not None:
        return f"class {revealed.class_name}{direction}"
    if revealed.is_about_runners_up:
        return RUNNERS_UP
    article = "the " if revealed.part in PARTS and revealed.part != IMPOSSIBLE else ""
    return f"{article}{revealed.label}{direction}"


def with_names(test: TestResult, view: Predictions) -> TestResult:
    """Add to the details of a test the part that revealed an error, in the words of the verdict; empty if none did."""
    if test.pvalue > LEVEL:
        return replace(test, details={**test.details, "revealed_by": ""})
    binary = view.n_classes == 2
    facts = facts_of(view if binary else view.top_label())
    revealed = revealed_in(test, kind_of(facts, binary=binary), facts)
    return replace(test, details={**test.details, "found_by": revealed.part, "revealed_by": at_length(revealed)})


def at_length(revealed: Revealed) -> str:
    """Say what revealed the error, by which part, and whether the confidence alone does not show it.

    Examples
    --------
    >>> at_length(Revealed("skce", "probabilities of all classes together", "", None, False, True))
    'the runners-up, by the probabilities of all classes together; the confidence alone shows nothing'
    """
    by = f", by the {revealed.label}" if revealed.is_about_runners_up else ""
    alone = revealed.is_about_classes and not revealed.confidence_is_suspect
    return f"{in_words(revealed)}{by}{'; the confidence alone shows nothing' if alone else ''}"
