"""Evidence from all classes at once and from each of them: the bias and the slope."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from calibrant._typing import FloatArray, IntArray
from calibrant.hypotest.evidence.base import (
    BIAS,
    SLOPE,
    SMALLEST,
    Evidence,
    Part,
    centred,
    inverse_deviation,
    log_odds,
)
from calibrant.predictions import Predictions


@dataclass(frozen=True, eq=False)
class ClassEvidence(Evidence):
    r"""Scores of the predictions of more than two classes.

    Notes
    -----
    With the indicators :math:`y_{ik}` of the labels, weights :math:`w_i` and levers :math:`x_{ik}`, each score is a sum
    of :math:`w_i x_{ik} (y_{ik} - p_{ik})` in units of its standard deviation under calibration:

    - "slope": :math:`x_{ik} = \log p_{ik}`, over all rows and classes. It is the derivative of the log-likelihood by
      the inverse temperature;
    - "class bias": :math:`x_{ik} = 1`, one per class. It is multiplied by the fourth root of the class's variance
      relative to the largest: in full standard deviations the many rare classes would hide a frequent one, whose
      error weighs more, and without any standardisation the frequent ones all others;
    - "class slope": :math:`x_{ik} = \log \frac{p_{ik}}{1 - p_{ik}}` minus its mean with weights
      :math:`w_i^2 p_{ik} (1 - p_{ik})`, one per class.

    Of a class the score is divided by :math:`\sqrt{\sum_i w_i^2 x_{ik}^2 p_{ik} (1 - p_{ik})}`, over all classes by the
    root of the summed variances of :math:`w_i x_{i y}`.
    """

    weights: FloatArray
    rows: FloatArray
    row_mean: float
    slopes: FloatArray
    slope_means: FloatArray
    slope_scales: FloatArray
    bias_means: FloatArray
    bias_scales: FloatArray
    parts: ClassVar[tuple[Part, ...]] = (
        Part("slope", SLOPE),
        Part("class bias", BIAS, by_class=True),
        Part("class slope", SLOPE, by_class=True),
    )

    @classmethod
    def of(cls, predictions: Predictions, weights: FloatArray) -> Self:
        """Prepare everything that does not depend on the labels."""
        probs, own = predictions.probs, weights[:, None]
        variances = own**2 * probs * (1 - probs)
        levers = centred(log_odds(probs), variances)
        log_probs = np.log(np.maximum(probs, SMALLEST))
        means = (probs * log_probs).sum(axis=1)
        spread = weights**2 * ((probs * log_probs**2).sum(axis=1) - means**2)
        scale = inverse_deviation(np.maximum(spread, 0.0).sum())
        return cls(
            weights=weights,
            rows=scale * own * log_probs,
            row_mean=float(scale * (weights @ means)),
            slopes=own * levers,
            slope_means=(own * levers * probs).sum(axis=0),
            slope_scales=inverse_deviation((variances * levers**2).sum(axis=0)),
            bias_means=weights @ probs,
            bias_scales=_bias_scales(variances.sum(axis=0)),
        )

    def components(self, labels: IntArray) -> tuple[FloatArray, ...]:
        """Return the score of all classes, and those of each class."""
        n_classes = self.slopes.shape[1]
        cells = labels + n_classes * np.arange(len(labels))[:, None]
        rows = self.rows.take(cells).sum(axis=0, keepdims=True) - self.row_mean
        bins = (labels + n_classes * np.arange(labels.shape[1])).ravel()
        weights = np.broadcast_to(self.weights[:, None], labels.shape).ravel()
        biases = self._totals(bins, weights, labels.shape[1]) - self.bias_means[:, None]
        slopes = self._totals(bins, self.slopes.take(cells).ravel(), labels.shape[1]) - self.slope_means[:, None]
        return rows, biases * self.bias_scales[:, None], slopes * self.slope_scales[:, None]

    def _totals(self, bins: IntArray, values: FloatArray, n_columns: int) -> FloatArray:
        """Sum the values by class and column."""
        size = n_columns * self.slopes.shape[1]
        totals: FloatArray = np.bincount(bins, values, minlength=size).astype(float)
        return totals.reshape(n_columns, -1).T


def _bias_scales(variance: FloatArray) -> FloatArray:
    return inverse_deviation(variance) * np.sqrt(np.sqrt(variance / max(float(variance.max()), np.finfo(float).tiny)))
