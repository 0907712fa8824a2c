"""Evidence from the two most probable classes of each row."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant.binning import EqualMass
from calibrant.hypotest.omnibus.statistic import BIAS, Evidence, Part, inverse_deviation
from calibrant.predictions import Predictions

BINS = 10
"""Groups of equal weight in which confidence is compared with accuracy."""

BLOCK_CELLS = 2**17
"""Probabilities that are worked on at a time, so that they stay in the cache."""


@dataclass(frozen=True, eq=False)
class RankedEvidence(Evidence):
    r"""The ECE of the top label, and the bias of the largest and of the second largest probability.

    Notes
    -----
    - "top-label ece": :math:`\sum_g |\sum_{i \in g} w_i (y_i - p_i)| / \sum_i w_i` for the confidence p and the
      correctness y of the predicted class, in ten groups of equal weight;
    - "top-label bias" and "runner-up bias": :math:`\sum_i w_i (y_i - p_i)` of the most and of the second most probable
      class, in standard deviations. They do not enter the p-value, but help to say what is wrong.
    """

    weights: FloatArray
    top: IntArray
    second: IntArray
    bins: IntArray
    predicted: FloatArray
    top_scale: float
    runner_up_scale: float
    runner_up_mean: float
    parts = (
        Part("top-label ece", {}),
        Part("top-label bias", BIAS, decides=False),
        Part("runner-up bias", BIAS, decides=False),
    )

    @classmethod
    def of(cls, predictions: Predictions, weights: FloatArray) -> Self:
        """Prepare everything that does not depend on the labels."""
        rows, top, second = np.arange(predictions.n_samples), predictions.predicted, runners_up(predictions)
        confidence, next_one = predictions.probs[rows, top], predictions.probs[rows, second]
        bins = EqualMass(BINS).cut(confidence, weights).index
        return cls(
            weights=weights,
            top=top,
            second=second,
            bins=bins,
            predicted=np.asarray(np.bincount(bins, weights * confidence)[:, None], dtype=float),
            top_scale=_scale(weights, confidence),
            runner_up_scale=_scale(weights, next_one),
            runner_up_mean=float((weights * next_one).sum()),
        )

    def components(self, labels: IntArray) -> tuple[FloatArray, ...]:
        """Return the error and the two scores."""
        right = np.where(labels == self.top[:, None], self.weights[:, None], 0.0).T
        hits = np.array([np.bincount(self.bins, own, len(self.predicted)) for own in right], dtype=float).T
        return self.of_sums(hits, self.weights @ (labels == self.second[:, None]).astype(float))

    def of_sums(self, hits: FloatArray, seconds: FloatArray) -> tuple[FloatArray, ...]:
        """Return the components from sums of weights: correct rows per bin, (bins, B), and runners-up, (B,)."""
        gaps = hits - self.predicted
        runner_up = self.runner_up_scale * (seconds - self.runner_up_mean)
        error = np.abs(gaps).sum(axis=0, keepdims=True) / self.weights.sum()
        return error, self.top_scale * gaps.sum(axis=0, keepdims=True), runner_up[None]


def runners_up(predictions: Predictions) -> IntArray:
    """Return the second most probable class of each row; the lowest index wins a tie."""
    second = np.empty(predictions.n_samples, dtype=np.int64)
    width = max(1, BLOCK_CELLS // predictions.n_classes)
    for start in range(0, predictions.n_samples, width):
        others = predictions.probs[start : start + width].copy()
        others[np.arange(len(others)), predictions.predicted[start : start + width]] = -1.0
        second[start : start + width] = others.argmax(axis=1)
    return second


def _scale(weights: FloatArray, probs: FloatArray) -> float:
    return float(inverse_deviation((weights**2 * probs * (1 - probs)).sum()))
