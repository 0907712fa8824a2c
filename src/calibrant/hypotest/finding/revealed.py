"""What revealed miscalibration: the part of the omnibus test that stands out furthest, in words."""

from dataclasses import replace
from typing import NamedTuple

from calibrant.hypotest.finding.facts import SIGNIFICANT_Z, Facts, facts_of, kind_of
from calibrant.predictions import Predictions
from calibrant.results import TestResult
from calibrant.results.parts import PARTS, TestedParts, part_name

LEVEL = 0.05
"""A p-value at or below this speaks against calibration."""

CONFIDENCE = "top-label "
"""Prefix of the names of parts that look at the confidence, with more than two classes."""

IMPOSSIBLE = "impossible labels"

PREFERRED = {
    "biased": (IMPOSSIBLE, "bias"),
    "over-confident": (IMPOSSIBLE, "top-label bias", "class bias", "slope"),
    "under-confident": ("top-label bias", "class bias", "slope"),
    "miscalibrated": (IMPOSSIBLE, "top-label ece", "slope", "class bias", "class count", "class slope"),
}
"""Among parts with the same p-value, the one that a verdict can explain best, by its code."""

RIVALS = {"top-label bias": ("class bias",)}
"""Parts on the same scale, of which the larger counts."""

SEEN_BY = {"top-label bias": "top-label ece"}
"""For a part that may have no say in the test, the one with a say that sees the same error."""

VECTORS = ("slope", "skce")
"""Parts that look at all classes together, where there are more than two."""

RUNNER_UP, RUNNERS_UP = "runner-up bias", "the runners-up"
"""The part that looks at the second largest probabilities, and they in words."""


class Evidence(NamedTuple):
    """The part by which the test found something.

    Attributes
    ----------
    part : str
        Empty if the test has no parts.
    label : str
        Its name in words, such as "slope".
    direction : str
        "too high", "too low", "too extreme", "too timid", or empty.
    class_name : str or None
        If the part is about one class of several.
    confidence_is_suspect : bool
        Whether anything that looks at the confidence, or at class 1 of two, speaks against calibration by itself.
    runners_up_are_suspect : bool
        Whether the second largest probabilities do.
    """

    part: str
    label: str
    direction: str
    class_name: str | None
    confidence_is_suspect: bool
    runners_up_are_suspect: bool = False

    @property
    def is_about_classes(self) -> bool:
        """Whether the confidence in the predicted class is not enough to see it."""
        return self.class_name is not None or (bool(self.part) and not self.confidence_is_suspect)

    @property
    def is_about_runners_up(self) -> bool:
        """Whether all classes together reveal what the confidence does not, and the runners-up by themselves do."""
        is_theirs = self.runners_up_are_suspect and not self.confidence_is_suspect
        return self.class_name is None and self.part in VECTORS and is_theirs


def evidence_of(test: TestResult, code: str, facts: Facts | None = None) -> Evidence:
    """Return what gave miscalibration away, given an omnibus test; nothing of another test.

    Only a part with a say in the test is named. Facts about the confidence may show what no part of the test looks at:
    its slope.
    """
    deciding: TestedParts = test.details.get("parts", {})
    parts: TestedParts = {**deciding, **test.details.get("also", {})}
    name = _plainest(parts, deciding, test.details.get("found_by", ""), PREFERRED.get(code, ()))
    part = parts.get(name)
    found = None if part is None else part["class"]
    suspect = any(one["pvalue"] <= LEVEL for key, one in parts.items() if key.startswith(CONFIDENCE))
    suspect |= facts is not None and max(abs(facts.z), abs(facts.extreme)) > SIGNIFICANT_Z
    two_classes = not any(key.startswith(CONFIDENCE) for key in parts)
    return Evidence(
        part=name,
        label=part_name(name, parts).label,
        direction=(part and part["direction"]) or _lent(name, parts) or "",
        class_name=None if found is None else str(found),
        confidence_is_suspect=suspect or two_classes,
        runners_up_are_suspect=RUNNER_UP in parts and parts[RUNNER_UP]["pvalue"] <= LEVEL,
    )


def _plainest(parts: TestedParts, deciding: TestedParts, found_by: str, preferred: tuple[str, ...]) -> str:
    """Return the first part of those preferred whose p-value is as small as that of the one that stands out."""
    ties = [key for key in preferred if key in parts and parts[key]["pvalue"] <= parts[found_by]["pvalue"]]
    if not ties:
        return found_by
    # Both in standard errors: a class that stands out further than the confidence is what is wrong with it.
    rivals = [key for key in ties if key in (ties[0], *RIVALS.get(ties[0], ()))]
    first = max(rivals, key=lambda key: parts[key]["statistic"])
    named = (key for key in (first, SEEN_BY.get(first, ""), *ties) if key in deciding)
    return next((key for key in named if deciding[key]["pvalue"] <= parts[found_by]["pvalue"]), found_by)


def _lent(name: str, parts: TestedParts) -> str | None:
    """Return the direction of the part that sees the same as this one, which has none by itself."""
    return next((parts[key]["direction"] for key, seen_by in SEEN_BY.items() if seen_by == name and key in parts), None)


def in_words(evidence: Evidence) -> str:
    """Say what revealed the error, such as "the slope (too extreme)" or "class Shirt (too high)".

    Examples
    --------
    >>> in_words(Evidence("class bias", "mean per class", "too high", "Shirt", False))
    'class Shirt (too high)'
    >>> in_words(Evidence("skce", "probabilities of all classes together", "", None, False, True))
    'the runners-up'
    """
    direction = f" ({evidence.direction})" if evidence.direction else ""
    if evidence.class_name is not None:
        return f"class {evidence.class_name}{direction}"
    if evidence.is_about_runners_up:
        return RUNNERS_UP
    article = "the " if evidence.part in PARTS and evidence.part != IMPOSSIBLE else ""
    return f"{article}{evidence.label}{direction}"


def with_names(test: TestResult, view: Predictions) -> TestResult:
    """Return a test with parts, whose details name the one that revealed what it found, if anything, as the verdict."""
    if test.pvalue > LEVEL:
        return replace(test, details={**test.details, "revealed_by": ""})
    binary = view.n_classes == 2
    facts = facts_of(view if binary else view.top_label())
    evidence = evidence_of(test, kind_of(facts, binary=binary), facts)
    return replace(test, details={**test.details, "found_by": evidence.part, "revealed_by": at_length(evidence)})


def at_length(evidence: Evidence) -> str:
    """Say what revealed the error, by which part, and what did not.

    Examples
    --------
    >>> at_length(Evidence("skce", "probabilities of all classes together", "", None, False, True))
    'the runners-up, by the probabilities of all classes together; the confidence alone shows nothing'
    """
    by = f", by the {evidence.label}" if evidence.is_about_runners_up else ""
    alone = evidence.is_about_classes and not evidence.confidence_is_suspect
    return f"{in_words(evidence)}{by}{'; the confidence alone shows nothing' if alone else ''}"
