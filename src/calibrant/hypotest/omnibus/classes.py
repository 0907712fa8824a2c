"""Evidence about more than two classes: from all at once, from each, and from the two most probable of each row."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant._core.threads import in_order
from calibrant.binning import EqualMass
from calibrant.hypotest.omnibus.statistic import BIAS, CONSTANT, SLOPE, SMALLEST, Evidence, Part, inverse_deviation
from calibrant.predictions import Predictions

BLOCK_CELLS = 2**17
"""Probabilities that are worked on at a time, so that they stay in the cache."""

BINS = 10
"""Groups of equal weight in which confidence is compared with accuracy."""

ROUNDING = 1e-13
"""A variance below this share of the mean square counts as 0."""

ROWS_TRIED = 64
"""Number of rows among which the origin of the log-odds is chosen."""


@dataclass(frozen=True, eq=False)
class ClassEvidence(Evidence):
    r"""Scores of the predictions of more than two classes.

    Notes
    -----
    With the indicators :math:`y_{ik}` of the labels, weights :math:`w_i` and coefficients :math:`x_{ik}`, each score is
    a sum of :math:`w_i x_{ik} (y_{ik} - p_{ik})` in units of its standard deviation under calibration:

    - "slope": :math:`x_{ik} = \log p_{ik}`, over all rows and classes. It is the derivative of the log-likelihood by
      the inverse temperature;
    - "class bias": :math:`x_{ik} = 1`, one per class. It is multiplied by the fourth root of the class's variance
      relative to the largest. In standard deviations alone, the many rare classes would hide an error of a frequent
      class, which matters more; without standardisation, the frequent classes would hide all others;
    - "class count": the same difference relative to what is expected, so that a rare class counts as much as a frequent
      one. With the observed sum of weights :math:`O_k`, the expected one :math:`E_k` and its variance :math:`V_k` it is
      the signed root of Poisson's deviance, :math:`2 (O_k \log(O_k / E_k) - O_k + E_k) \, E_k / V_k`. Standard
      deviations would not do: a single event of a class that is hardly expected amounts to many of them;
    - "class slope": :math:`x_{ik} = \log \frac{p_{ik}}{1 - p_{ik}}` minus its mean with weights
      :math:`w_i^2 p_{ik} (1 - p_{ik})`, one per class.

    The score of one class is divided by :math:`\sqrt{\sum_i w_i^2 x_{ik}^2 p_{ik} (1 - p_{ik})}`, that of all classes
    by the root of the summed variances of :math:`w_i x_{i y}`.
    """

    probs: FloatArray
    weights: FloatArray
    row_scale: float
    row_mean: float
    centres: FloatArray
    slope_means: FloatArray
    slope_scales: FloatArray
    bias_means: FloatArray
    bias_scales: FloatArray
    count_scales: FloatArray
    parts = (
        Part("slope", SLOPE),
        Part("class bias", BIAS, by_class=True),
        Part("class count", BIAS, by_class=True),
        Part("class slope", SLOPE, by_class=True, of_shape=True),
    )

    @classmethod
    def of(cls, predictions: Predictions, weights: FloatArray) -> Self:
        """Prepare everything that does not depend on the labels."""
        probs = predictions.probs
        origin = _origin(probs[:ROWS_TRIED], weights[:ROWS_TRIED])
        (variances, odds, squares, expected, expected_odds), (mean, variance) = _moments(probs, weights, origin)
        centres = odds / np.where(variances > 0, variances, 1.0)
        spread = squares - centres * odds
        spread = np.where(spread > ROUNDING * squares + CONSTANT**2 * variances, spread, 0.0)
        scale = float(inverse_deviation(variance))
        return cls(
            probs=probs,
            weights=weights,
            row_scale=scale,
            row_mean=scale * float(mean),
            centres=origin + centres,
            slope_means=expected_odds - centres * expected,
            slope_scales=inverse_deviation(spread),
            bias_means=expected,
            bias_scales=_bias_scales(variances),
            count_scales=np.sqrt(2 * expected) * inverse_deviation(variances),
        )

    def components(self, labels: IntArray) -> tuple[FloatArray, ...]:
        """Return the score of all classes together, and three scores of each class."""
        chosen = np.take_along_axis(self.probs, labels, axis=1)
        logs, odds = logs_and_odds(chosen)
        logs, odds = self.weights[:, None] * logs, self.weights[:, None] * odds
        bins = (labels + len(self.centres) * np.arange(labels.shape[1])).ravel()
        own = np.broadcast_to(self.weights[:, None], labels.shape).ravel()
        weights, odds = (self._totals(bins, values, labels.shape[1]) for values in (own, odds.ravel()))
        return self.of_sums(logs.sum(axis=0), weights, odds)

    def of_sums(self, logs: FloatArray, weights: FloatArray, odds: FloatArray) -> tuple[FloatArray, ...]:
        """Return the components from sums of logarithms, (B,), and of weights and log-odds per class, (K, B)."""
        rows = self.row_scale * logs[None] - self.row_mean
        biases = weights - self.bias_means[:, None]
        slopes = odds - self.centres[:, None] * weights - self.slope_means[:, None]
        counts = signed_root_deviance(weights, self.bias_means[:, None]) * self.count_scales[:, None]
        return rows, biases * self.bias_scales[:, None], counts, slopes * self.slope_scales[:, None]

    def _totals(self, bins: IntArray, values: FloatArray, n_columns: int) -> FloatArray:
        """Sum the values by class and column."""
        totals = np.bincount(bins, values, minlength=n_columns * len(self.centres))
        return totals.astype(float).reshape(n_columns, -1).T


def _moments(probs: FloatArray, weights: FloatArray, origin: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return sums over all rows, one block of rows at a time, without a copy of the matrix.

    For every class, (5, K): of the variances of weighted labels, of these times the log-odds minus the origin, and
    times their squares; of the expected weights, and of these times the log-odds. For the weighted logarithms of the
    labels' probabilities, (2,): of the means, and of the variances.
    """
    width = max(1, BLOCK_CELLS // probs.shape[1])

    def block(start: int) -> tuple[FloatArray, FloatArray]:
        p, own = probs[start : start + width], weights[start : start + width]
        logs, odds = logs_and_odds(p)
        odds -= origin
        expected = own[:, None] * p
        variances = (1 - p) * expected * own[:, None]
        terms = ((variances, 1.0), (variances, odds), (variances * odds, odds), (expected, 1.0), (expected, odds))
        sums = [np.einsum("ik->k", a) if np.isscalar(b) else np.einsum("ik,ik->k", a, b) for a, b in terms]
        means, squares = np.einsum("ik,ik->i", p, logs), np.einsum("ik,ik,ik->i", p, logs, logs)
        spread = np.maximum(squares - means**2, 0.0)
        return np.stack(sums), np.array([(own * means).sum(), (own**2 * spread).sum()])

    by_class, by_row = np.zeros((5, probs.shape[1])), np.zeros(2)
    for some, rows in in_order(block, range(0, len(probs), width)):
        by_class += some
        by_row += rows
    return by_class, by_row


def _origin(probs: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the log-odds of each class in the row of largest variance: near their mean, so that little cancels."""
    heaviest = np.argmax(weights[:, None] ** 2 * probs * (1 - probs), axis=0)
    return logs_and_odds(np.take_along_axis(probs, heaviest[None], axis=0)[0])[1]


def logs_and_odds(probs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return log(p) and log(p / (1 - p)) of clipped probabilities."""
    logs = np.log(np.maximum(probs, SMALLEST))
    return logs, logs - np.log(1 - np.minimum(probs, 1 - SMALLEST))


def signed_root_deviance(observed: FloatArray, expected: FloatArray) -> FloatArray:
    r"""Return :math:`\sqrt{O \log(O / E) - O + E}` with the sign of O - E, and 0 where nothing is expected.

    Examples
    --------
    >>> signed_root_deviance(np.array([0.0, 4.0]), np.array([4.0, 4.0])).tolist()
    [-2.0, 0.0]
    """
    ratio = np.where(expected > 0, observed / np.where(expected > 0, expected, 1.0), 1.0)
    gain = observed * np.log(np.where(ratio > 0, ratio, 1.0)) - expected * (ratio - 1)
    return np.copysign(np.sqrt(np.maximum(gain, 0.0)), ratio - 1)


def _bias_scales(variance: FloatArray) -> FloatArray:
    return inverse_deviation(variance) * np.sqrt(np.sqrt(variance / max(float(variance.max()), np.finfo(float).tiny)))


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
