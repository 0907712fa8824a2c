"""Evidence about two classes: the probability of class 1."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from calibrant._typing import BoolArray, FloatArray, IntArray
from calibrant.binning.ties import comparable
from calibrant.hypotest.evidence.base import (
    BIAS,
    SLOPE,
    Evidence,
    Part,
    centred,
    inverse_deviation,
    log_odds,
)
from calibrant.predictions import Predictions

PLACES = 256
"""The running sum is looked at after so many distinct predictions at most."""


@dataclass(frozen=True, eq=False)
class LineEvidence(Evidence):
    r"""Scores and running sums of the predicted probability p of the event y.

    Notes
    -----
    In units of the standard deviation that each has under calibration:

    - "bias": :math:`\sum_i w_i (y_i - p_i)`;
    - "slope": :math:`\sum_i w_i x_i (y_i - p_i)`, where :math:`x_i = \log \frac{p_i}{1 - p_i}` minus its mean with
      weights :math:`w_i^2 p_i (1 - p_i)`: Cox's score of the slope, uncorrelated with the bias;
    - "spiegelhalter": :math:`\sum_i w_i (1 - 2 p_i) (y_i - p_i)`;
    - "ecce": the range of the running sum of :math:`w_i (y_i - p_i)` in ascending order of p, equal predictions
      pooled, at 256 places at most, in standard deviations of its end.

    The variance of a sum with levers x is :math:`\sum_i w_i^2 x_i^2 p_i (1 - p_i)`.
    """

    levers: FloatArray
    means: FloatArray
    order: NDArray[np.intp]
    starts: NDArray[np.intp]
    steps: FloatArray
    expected: FloatArray
    parts: ClassVar[tuple[Part, ...]] = (
        Part("bias", BIAS),
        Part("slope", SLOPE),
        Part("spiegelhalter", {1: SLOPE[-1], -1: SLOPE[1]}),
        Part("ecce", {}),
    )

    @classmethod
    def of(cls, predictions: Predictions, weights: FloatArray) -> Self:
        """Prepare everything that does not depend on the labels."""
        positive = predictions.positive
        variances = weights**2 * positive * (1 - positive)
        slope = centred(log_odds(positive), variances)
        levers = np.stack([np.ones_like(positive), slope, 1 - 2 * positive])
        levers *= weights * inverse_deviation((levers**2) @ variances)[:, None]
        rounded = comparable(positive)
        order = np.argsort(rounded, kind="stable")
        starts = group_starts(rounded[order])
        steps = (weights * inverse_deviation(variances.sum()))[order]
        return cls(
            levers=levers,
            means=(levers @ positive)[:, None],
            order=order,
            starts=starts,
            steps=steps[:, None],
            expected=np.add.reduceat(steps * positive[order], starts)[:, None],
        )

    def components(self, labels: IntArray) -> tuple[FloatArray, ...]:
        """Return the three scores and the range of the running sum."""
        events = labels == 1
        bias, slope, spread = self.levers @ events.astype(float) - self.means
        return bias[None], slope[None], spread[None], self._range(events)[None]

    def _range(self, events: BoolArray) -> FloatArray:
        gaps = np.add.reduceat(self.steps * events[self.order], self.starts, axis=0) - self.expected
        path = np.cumsum(gaps, axis=0)
        return np.maximum(path.max(axis=0), 0.0) - np.minimum(path.min(axis=0), 0.0)


def group_starts(ascending: FloatArray) -> NDArray[np.intp]:
    """Return where the groups of a sorted array begin: one per distinct value, or `PLACES` of about equal size."""
    distinct = np.concatenate([[0], np.flatnonzero(ascending[1:] != ascending[:-1]) + 1])
    if len(distinct) <= PLACES:
        return distinct
    wanted = np.arange(PLACES) * len(ascending) / PLACES
    return np.unique(distinct[np.searchsorted(distinct, wanted, side="right") - 1])
