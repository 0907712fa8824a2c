"""Evidence from the two most probable classes of each row, whichever they are."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from calibrant._typing import FloatArray, IntArray
from calibrant.binning import EqualMass
from calibrant.hypotest.evidence.base import BIAS, Evidence, Part, inverse_deviation
from calibrant.predictions import Predictions

BINS = 10
"""Groups of equal weight in which confidence is compared with accuracy."""


@dataclass(frozen=True, eq=False)
class RankedEvidence(Evidence):
    r"""The ECE of the top label, and the bias of the largest and of the second largest probability.

    Notes
    -----
    - "top-label ece": :math:`\sum_g |\sum_{i \in g} w_i (y_i - p_i)| / \sum_i w_i` for the confidence p and the
      correctness y of the predicted class, in ten groups of equal weight;
    - "top-label bias" and "runner-up bias": :math:`\sum_i w_i (y_i - p_i)` of the most and of the second most probable
      class, in standard deviations. They do not decide, but say what is wrong.
    """

    top: IntArray
    second: IntArray
    levers: FloatArray
    means: FloatArray
    runner_up: FloatArray
    runner_up_mean: float
    parts: ClassVar[tuple[Part, ...]] = (
        Part("top-label ece", {}),
        Part("top-label bias", BIAS, decides=False),
        Part("runner-up bias", BIAS, decides=False),
    )

    @classmethod
    def of(cls, predictions: Predictions, weights: FloatArray) -> Self:
        """Prepare everything that does not depend on the labels."""
        rows, top = np.arange(predictions.n_samples), predictions.predicted
        others = predictions.probs.copy()
        others[rows, top] = -1.0
        second = others.argmax(axis=1)
        confidence, next_one = predictions.probs[rows, top], predictions.probs[rows, second]
        bins = EqualMass(BINS).cut(confidence, weights).index
        levers = (bins == np.arange(bins.max() + 1)[:, None]) * (weights / weights.sum())
        levers = np.vstack([levers, _standardised(weights, confidence)])
        runner_up = _standardised(weights, next_one)
        return cls(
            top=top[:, None],
            second=second[:, None],
            levers=levers,
            means=(levers @ confidence)[:, None],
            runner_up=runner_up,
            runner_up_mean=float(runner_up @ next_one),
        )

    def components(self, labels: IntArray) -> tuple[FloatArray, ...]:
        """Return the error and the two scores."""
        gaps = self.levers @ (labels == self.top).astype(float) - self.means
        runner_up = self.runner_up @ (labels == self.second).astype(float) - self.runner_up_mean
        return np.abs(gaps[:-1]).sum(axis=0, keepdims=True), gaps[-1:], runner_up[None]


def _standardised(weights: FloatArray, probs: FloatArray) -> FloatArray:
    return weights * inverse_deviation((weights**2) @ (probs * (1 - probs)))
