"""The form of a statistic of the omnibus test: prepared once, evaluated on many sets of labels."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant._core.laws import logit
from calibrant.predictions import Predictions

SMALLEST = 1e-12
"""Log-odds are taken of probabilities clipped to [1e-12, 1 - 1e-12]."""

CONSTANT = 1e-9
"""Log-odds that differ by less are equal, and have no slope."""

BIAS = {1: "too low", -1: "too high"}
"""Direction of the predictions, by the sign of the excess of events."""

SLOPE = {1: "too timid", -1: "too extreme"}
"""Direction of the predictions, by the sign of the score of the slope."""

SPREAD = "spiegelhalter"
"""Name of the part about the spread."""


class Part(NamedTuple):
    """One statistic of the test.

    Attributes
    ----------
    name : str
    words : mapping
        The direction, by the sign of the component; empty if the sign means nothing.
    by_class : bool
        Whether there is one component per class.
    decides : bool
        Whether it enters the p-value of the test; otherwise it only helps to say what is wrong.
    of_shape : bool
        Whether it is about the slope or the spread of an event's predictions, whose sign a wrong mean may reverse.
    """

    name: str
    words: Mapping[int, str]
    by_class: bool = False
    decides: bool = True
    of_shape: bool = False


class Evidence(ABC):
    """Statistics that share work; the value of each is its largest component, in absolute value."""

    parts: ClassVar[tuple[Part, ...]]

    @abstractmethod
    def components(self, labels: IntArray) -> tuple[FloatArray, ...]:
        """Return the components of each part, (C, B), for labels of shape (n, B)."""

    def statistics(self, labels: IntArray) -> FloatArray:
        """Return the value of each part, (parts, B)."""
        return largest(self.components(labels))


def largest(components: Sequence[FloatArray]) -> FloatArray:
    """Return the value of each part, (parts, B): the largest of its components, in absolute value."""
    return np.stack([np.abs(found).max(axis=0) for found in components])


def log_odds(probs: FloatArray) -> FloatArray:
    """Return log(p / (1 - p)), clipped."""
    return logit(np.clip(probs, SMALLEST, 1 - SMALLEST))


def centred(coefficients: FloatArray, variances: FloatArray) -> FloatArray:
    """Subtract the weighted mean, so that the score is uncorrelated with the bias; rounding errors become 0."""
    total = variances.sum()
    found = coefficients - (variances * coefficients).sum() / (total if total > 0 else 1.0)
    return np.where(np.abs(found) > CONSTANT, found, 0.0)


def inverse_deviation(variance: FloatArray) -> FloatArray:
    """Return 1 / sqrt(v), and 0 where v = 0: a constant carries no information."""
    return np.where(variance > 0, 1 / np.sqrt(np.where(variance > 0, variance, 1.0)), 0.0)


@dataclass(frozen=True, eq=False)
class ImpossibleEvidence(Evidence):
    """The share of rows, by weight, whose label has a predicted probability of exactly 0.

    Redraws never have such labels, so this part costs no power if the data has none.
    """

    shares: FloatArray
    probs: FloatArray
    parts = (Part("impossible labels", {}),)

    @classmethod
    def of(cls, predictions: Predictions, weights: FloatArray) -> Self:
        """Keep the probabilities."""
        return cls(weights / weights.sum(), predictions.probs)

    def components(self, labels: IntArray) -> tuple[FloatArray, ...]:
        """Return the share for each column of labels."""
        return (self.shares[None] @ (np.take_along_axis(self.probs, labels, axis=1) == 0),)
