"""Scores: weighted means of per-row scores."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calibrant._border.types import Evaluator, FloatArray
from calibrant._core.threads import run_all
from calibrant.metrics.base.metric import SCORES, Metric, infinite_rows
from calibrant.predictions import Predictions, row_blocks


class Score(Metric):
    """The weighted mean of a per-row score."""

    group = SCORES
    family = "score"
    methods: ClassVar[tuple[str, ...]] = ("hall", "bootstrap-t")

    @abstractmethod
    def per_row(self, predictions: Predictions) -> FloatArray:
        """Return the score of every row."""

    def total(self, predictions: Predictions) -> float:
        """Return the weighted sum of the row scores, SE(S) in the notation of the squared error."""
        return self(predictions) * float(predictions.weights.sum())

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Return the map from weights, (n, B), to B weighted means."""
        return weighted_means(self.per_row(predictions))


def weighted_means(rows: FloatArray) -> Evaluator:
    """Return the map from weights, (n, B), to the weighted means of these scores, some of which may be infinite."""
    infinite = np.isinf(rows)
    if not infinite.any():
        return lambda weights: rows @ weights / weights.sum(axis=0)
    finite = np.where(infinite, 0.0, rows)

    def evaluate(weights: FloatArray) -> FloatArray:
        means = finite @ weights / weights.sum(axis=0)
        # An infinite row counts only where it has weight: 0 times infinity would be NaN.
        return np.where(infinite @ weights > 0, np.inf, means)

    return evaluate


@dataclass(frozen=True)
class Accuracy(Score):
    """Share of rows whose most probable class is the label; the lowest class index wins a tie.

    Examples
    --------
    >>> Accuracy()(Predictions([0.2, 0.9, 0.6, 0.7], labels=[0, 1, 0, 1]))
    0.75
    """

    label = "Accuracy"
    meaning = "Share of rows whose most probable class is the observed one."
    principal = True
    better = "higher"
    measures = "accuracy"
    methods = ("wilson", "hall", "bootstrap-t")

    def per_row(self, predictions: Predictions) -> FloatArray:
        """Return 1 where the prediction is right, 0 elsewhere."""
        return (predictions.predicted == predictions.labels).astype(float)


@dataclass(frozen=True)
class NLL(Score):
    r"""Negative log-likelihood, or log loss: the mean of :math:`-\ln p_{i, y_i}`.

    It is infinite if a label was given probability 0; `details` then counts such rows.

    Examples
    --------
    >>> round(NLL()(Predictions([0.5, 0.5], labels=[0, 1])), 4)  # ln 2
    0.6931
    """

    label = "Log loss (NLL)"
    meaning = "Mean of minus the logarithm of the probability given to the observed class; infinite if one got 0."
    principal = True
    measures = "both"

    def per_row(self, predictions: Predictions) -> FloatArray:
        """Return minus the log-probability of the label."""
        return -predictions.observed_log_probs

    def details(self, predictions: Predictions) -> Mapping[str, object]:
        """Give the number of rows whose label was given probability 0, and the first of them."""
        return infinite_rows(self.per_row(predictions), predictions.weights)


@dataclass(frozen=True)
class Brier(Score):
    r"""Brier score over all classes: the mean of :math:`\sum_k (p_{ik} - y_{ik})^2`, between 0 and 2.

    Examples
    --------
    >>> round(Brier()(Predictions([[0.8, 0.2], [0.4, 0.6]], labels=[0, 0])), 4)  # (0.08 + 0.72) / 2
    0.4
    """

    label = "Brier score"
    meaning = "Mean squared distance between the probabilities and the outcome, summed over classes; from 0 to 2."
    caution = "is summed over the classes: for two classes it is twice the score of scikit-learn"
    principal = True
    measures = "both"

    def per_row(self, predictions: Predictions) -> FloatArray:
        """Return the squared distance between the probabilities and the one-hot label; read-only, because cached."""
        return predictions.once("squared distances", lambda: _squared_distances(predictions))


def _squared_distances(predictions: Predictions) -> FloatArray:
    scores = np.empty(predictions.n_samples)
    blocks = list(row_blocks(predictions.probs.shape))

    def fill(rows: slice) -> None:
        residuals = (predictions if len(blocks) == 1 else predictions.take(rows)).residuals
        np.einsum("ik,ik->i", residuals, residuals, out=scores[rows])

    run_all(fill, blocks)
    scores.flags.writeable = False
    return scores


@dataclass(frozen=True)
class SquaredError(Score):
    r"""Half the Brier score, between 0 and 1: the mean of :math:`\mathrm{SE}(x) = \frac12 \sum_k (p_k - y_k)^2`.

    For two classes this is :math:`(p_1 - y)^2`, what scikit-learn calls the Brier score. `per_row` gives SE(x),
    `total` gives SE(S).

    Examples
    --------
    >>> p = Predictions([0.7, 0.7], labels=[0, 1])
    >>> round(SquaredError()(p), 4), SquaredError().per_row(p).round(2).tolist()
    (0.29, [0.49, 0.09])
    """

    label = "Squared error"
    meaning = "Half the Brier score, from 0 to 1."
    measures = "both"

    def per_row(self, predictions: Predictions) -> FloatArray:
        """Return half the squared distance between the probabilities and the one-hot label."""
        return Brier().per_row(predictions) / 2
