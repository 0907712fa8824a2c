"""Evidence beyond chance: labels that were declared impossible."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from calibrant._typing import FloatArray, IntArray
from calibrant.hypotest.evidence.base import Evidence, Part
from calibrant.predictions import Predictions


@dataclass(frozen=True, eq=False)
class ImpossibleEvidence(Evidence):
    """The share of rows, by weight, whose label has a predicted probability of exactly 0.

    No redraw has one, so it costs no power where there are none.
    """

    shares: FloatArray
    probs: FloatArray
    parts: ClassVar[tuple[Part, ...]] = (Part("impossible labels", {}),)

    @classmethod
    def of(cls, predictions: Predictions, weights: FloatArray) -> Self:
        """Keep the probabilities."""
        return cls(weights / weights.sum(), predictions.probs)

    def components(self, labels: IntArray) -> tuple[FloatArray, ...]:
        """Return the share for each column of labels."""
        return (self.shares[None] @ (np.take_along_axis(self.probs, labels, axis=1) == 0),)
