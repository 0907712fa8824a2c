"""What gave miscalibration away: the part of the omnibus test that stands out furthest, in words."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from calibrant.results import TestResult

LEVEL = 0.05
"""A p-value at or below this speaks against calibration."""

VECTORS = "skce"
"""The part that looks at whole probability vectors."""

PARTS = {
    "bias": "the mean",
    "slope": "the slope",
    "spiegelhalter": "the spread of the predictions",
    "ecce": "a range of predictions",
    "ece-equal-mass": "the reliability curve",
    "kde-ece": "the reliability curve",
}
"""Parts that look at one probability per row: that of class 1, or the confidence."""


class Evidence(NamedTuple):
    """The part by which the test found something.

    Attributes
    ----------
    part : str
    direction : str
        "too high", "too low", "too extreme", "too timid", or empty.
    class_name : str or None
        If the part is about one class of several.
    confidence_is_suspect : bool
        Whether a part that looks at the confidence speaks against calibration by itself.
    """

    part: str
    direction: str
    class_name: str | None
    confidence_is_suspect: bool

    @property
    def is_about_classes(self) -> bool:
        """Whether the part sees more than the confidence in the predicted class."""
        return self.part == VECTORS or self.class_name is not None


def evidence_of(test: TestResult) -> Evidence:
    """Return what gave miscalibration away, given an omnibus test; nothing of another test."""
    parts: Mapping[str, Mapping[str, Any]] = test.details.get("parts", {})
    name = test.details.get("found_by", "")
    part = parts.get(name, {})
    found = part.get("class")
    suspect = any(parts[key]["pvalue"] <= LEVEL for key in PARTS if key in parts)
    return Evidence(name, part.get("direction") or "", None if found is None else str(found), suspect)


def in_words(evidence: Evidence) -> str:
    """Say what gave it away, such as "the slope (too extreme)" or "class Shirt (too high)".

    Examples
    --------
    >>> in_words(Evidence("class bias", "too high", "Shirt", False))
    'class Shirt (too high)'
    """
    direction = f" ({evidence.direction})" if evidence.direction else ""
    if evidence.class_name is not None:
        return f"class {evidence.class_name}{direction}"
    if evidence.part == VECTORS:
        return "the probabilities of all classes together" if evidence.confidence_is_suspect else "the runners-up"
    return f"{PARTS.get(evidence.part, evidence.part)}{direction}"
