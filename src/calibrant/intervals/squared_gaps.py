r"""Mean squared gaps over bins, as sums over pairs of different rows.

In a bin of weight :math:`W_b`, out of W, with residuals :math:`r_i = y_i - p_i`, the unbiased estimate of the squared
gap is :math:`\sum_{i \ne j} w_i w_j r_i r_j / (W_b^2 - \sum w_i^2)`. Weighted with the share of the bin it is
:math:`\sum_{i \ne j} h_{ij}` with :math:`h_{ij} = c_b w_i r_i w_j r_j` for two rows of bin b and 0 for others. Several
classes, and the difference of two models, are sums of such parts with bins of their own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from typing import NamedTuple

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant._core.threads import in_order
from calibrant.binning import Binning
from calibrant.exceptions import InputError
from calibrant.metrics import Classwise, DebiasedSquaredGap, Metric, PerPredictedClass, Root, TopLabel
from calibrant.metrics.base.binned import LEAST_PAIRS
from calibrant.metrics.base.lift import Lift
from calibrant.predictions import Predictions


@dataclass(frozen=True, eq=False)
class Part:
    """The rows of one event in bins.

    Attributes
    ----------
    index : ndarray of shape (n,)
        Bin of each row.
    coefficient : ndarray of shape (n_bins,)
        The :math:`c_b` above, times the share of the part; 0 in bins without two rows.
    weights, probs, residuals : ndarray of shape (n,)
        The weights in units of the largest, the predicted probability of the event, and outcome minus prediction.
    event : ndarray of shape (n,)
        The class that is the event in each row.
    copies : ndarray of shape (n,) or None
        Number of rows that each stands for, if not one; the weight is that of one of them.
    """

    index: IntArray
    coefficient: FloatArray
    weights: FloatArray
    probs: FloatArray
    residuals: FloatArray
    event: IntArray
    copies: FloatArray | None = None

    def over_rows(self, values: FloatArray) -> FloatArray:
        """Multiply values by the copies of their rows, so that their sum is over all rows."""
        return values if self.copies is None else self.copies * values

    def totals(self, values: FloatArray) -> FloatArray:
        """Return the sum of the values in each bin."""
        return np.bincount(self.index, self.over_rows(values), minlength=len(self.coefficient)).astype(float)

    def row_sums(self) -> FloatArray:
        """Return the sum of h_ij over all other rows j, for every row i."""
        own = self.weights * self.residuals
        return self.coefficient[self.index] * own * (self.totals(own)[self.index] - own)

    def noise(self) -> FloatArray:
        """Return weighted residuals minus the mean of their bin, scaled so that their squares are unbiased."""
        mass, squares = self.totals(self.weights), self.totals(self.weights**2)
        several = self.coefficient != 0
        mean = np.divide(self.totals(self.weights * self.residuals), mass, out=np.zeros_like(mass), where=several)
        # Kish's effective number of rows m, in m / (m - 1).
        factor = np.divide(mass**2, mass**2 - squares, out=np.zeros_like(mass), where=several)
        return self.weights * (self.residuals - mean[self.index]) * np.sqrt(factor)[self.index]


MOST_KEPT = 2 * 10**6
"""Rows times classes up to which the parts are kept with the predictions."""


def parts_of(metric: Metric, predictions: Predictions) -> list[Part]:
    """Return the parts of a mean squared gap, or of a lift or root of one; kept with predictions that are not large."""
    if predictions.n_samples * predictions.n_classes > MOST_KEPT:
        return _parts(metric, predictions)
    return predictions.once(("parts of squared gaps", metric), lambda: _parts(metric, predictions))


def _parts(metric: Metric, predictions: Predictions) -> list[Part]:
    gap = squared_gap(metric)
    if gap is None:
        raise InputError(
            f"metric must be a debiased squared gap, which is a sum over pairs in bins, but is {metric!r}."
        )
    bins = gap.bins
    metric = metric.metric if isinstance(metric, Root) else metric
    if isinstance(metric, Classwise):
        n_classes = predictions.n_classes
        views = [(predictions.one_vs_rest(c), np.full(predictions.n_samples, c)) for c in range(n_classes)]
        return [_part(view, event, _cut(view, bins), 1.0 / n_classes) for view, event in views]
    if isinstance(metric, (TopLabel, PerPredictedClass)) or predictions.n_classes > 2:
        view, event = predictions.top_label(), predictions.predicted
        index = _cut_by_class(view, event, bins) if isinstance(metric, PerPredictedClass) else _cut(view, bins)
        return [_part(view, event, index, 1.0)]
    return [_part(predictions, np.ones(predictions.n_samples, dtype=np.int64), _cut(predictions, bins), 1.0)]


def squared_gap(metric: Metric) -> DebiasedSquaredGap | None:
    """Return the debiased squared gap that a metric is, lifts, or takes the root of; None for other metrics."""
    while isinstance(metric, Lift):
        metric = metric.metric
    return metric if isinstance(metric, DebiasedSquaredGap) else None


def _cut(view: Predictions, bins: Binning) -> IntArray:
    return bins.cut_view(view).index


def _cut_by_class(view: Predictions, predicted: IntArray, bins: Binning) -> IntArray:
    """Cut the rows of each predicted class separately, and number the bins consecutively."""
    index, used = np.full(view.n_samples, -1), 0
    for c in np.unique(predicted[view.weights > 0]).tolist():
        rows = np.flatnonzero(predicted == c)
        cut = bins.cut(view.positive[rows], view.weights[rows])
        index[rows] = np.where(cut.index < 0, -1, cut.index + used)
        used += cut.n_bins
    return index


def _part(view: Predictions, event: IntArray, index: IntArray, share: float) -> Part:
    # Huge weights would overflow when squared. Rows that a convention puts in no bin still count in the total.
    weights = view.row_weights / view.row_weights.max()
    copies = np.ones(len(weights)) if view.copies is None else view.copies
    total, weights = float(copies @ weights), np.where(index < 0, 0.0, weights)
    index = np.maximum(index, 0)
    mass, squares = (np.bincount(index, copies * power) for power in (weights, weights**2))
    pairs = mass**2 - squares
    several = pairs > LEAST_PAIRS * mass**2  # A bin of one row says nothing about its variance.
    coefficient = np.divide(share * mass / total, pairs, out=np.zeros_like(mass), where=several)
    return Part(index, coefficient, weights, view.positive, view.labels - view.positive, event, view.copies)


class Squares(NamedTuple):
    r"""Two estimates of :math:`\sum_{i \ne j} \operatorname{E} h_{ij}^2` if no bin has a gap."""

    observed: float
    expected: float


def square_sums(parts: Sequence[Part]) -> Squares:
    """Return the sums of squares of the observed residuals, and of those expected under calibration."""
    noise = list(in_order(Part.noise, parts))

    def of_pair(pair: tuple[int, int]) -> list[float]:
        p, q = pair
        return _sums_over_pairs(parts[p], parts[q], (noise[p] * noise[q], _covariance(parts[p], parts[q])))

    pairs = list(combinations_with_replacement(range(len(parts)), 2))
    observed = expected = 0.0
    for (p, q), (seen, right) in zip(pairs, in_order(of_pair, pairs), strict=True):
        times = 1 if p == q else 2
        observed += times * seen
        expected += times * right
    return Squares(max(observed, 0.0), max(expected, 0.0))


def cross_sums(first: Sequence[Part], second: Sequence[Part]) -> Squares:
    """Return the observed and the expected sum of the products of h_ij of the parts of two models."""
    noise = [part.noise() for part in first], [part.noise() for part in second]
    observed = expected = 0.0
    for (p, of_p), (q, of_q) in product(zip(first, noise[0], strict=True), zip(second, noise[1], strict=True)):
        seen, right = _sums_over_pairs(p, q, (of_p * of_q, _covariance(p, q)))
        observed += seen
        expected += right
    return Squares(observed, expected)


def are_filled(parts: Sequence[Part]) -> bool:
    """Return whether at least two thirds of what chance adds to the gaps come from bins with an uncertain row or more.

    A row of probability p counts as p (1 - p) uncertain rows. Every bin adds the mean of this over its rows, however
    few they are. In a bin with hardly any uncertain row, an error shows in few samples, but is large in those.
    """
    filled = everything = 0.0
    for part in parts:
        # With weights, rows are counted in units of Kish's effective number.
        scale = float(part.over_rows(part.weights).sum() / part.over_rows(part.weights**2).sum())
        mass, uncertain = part.totals(part.weights), part.totals(part.weights * part.probs * (1 - part.probs))
        added = np.divide(uncertain, mass, out=np.zeros_like(mass), where=mass > 0)
        filled += float(added[scale * uncertain >= 1].sum())
        everything += float(added.sum())
    return 3 * filled >= 2 * everything > 0


def diagonal_sum(parts: Sequence[Part]) -> float:
    """Return the sum over all rows of the expected h_ii under calibration."""
    return float(sum(part.coefficient @ part.totals(_covariance(part, part)) for part in parts))


def _covariance(p: Part, q: Part) -> FloatArray:
    """Return the covariance of the weighted events of each row under calibration."""
    if p is q:
        return p.probs * (1 - p.probs) * p.weights**2
    covariance, alike = -p.probs * q.probs, p.event == q.event
    if alike.any():
        covariance = np.where(alike, np.sqrt(p.probs * (1 - p.probs) * q.probs * (1 - q.probs)), covariance)
    return covariance * p.weights * q.weights


def _sums_over_pairs(p: Part, q: Part, products: Sequence[FloatArray]) -> list[float]:
    """Return the sum of c_p x_i c_q x_j over different rows that share a bin in both parts, for each x of products."""
    n_bins = len(q.coefficient)
    cells, n_cells = p.index * n_bins + q.index, len(p.coefficient) * n_bins
    occupied = np.arange(n_cells)
    if n_cells > len(cells):  # Most of them are empty.
        occupied, cells = np.unique(cells, return_inverse=True)
    coefficients = p.coefficient[occupied // n_bins] * q.coefficient[occupied % n_bins]

    def totals(values: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(cells, p.over_rows(values), minlength=len(occupied)), dtype=float)

    return [float(coefficients @ (totals(x) ** 2 - totals(x**2))) for x in products]
