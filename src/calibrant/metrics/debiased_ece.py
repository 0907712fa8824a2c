"""The root-mean-square error over bins without the bias that chance adds."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from calibrant._border.types import Evaluator, FloatArray
from calibrant.binning import Binning, EqualMass, EqualWidth
from calibrant.binning.sums import bin_totals, joint_bin_totals
from calibrant.metrics.base.binned import LEAST_PAIRS, as_binning, bin_ratio, bins_used, rooted
from calibrant.metrics.base.counted import BinnedCells, CountedMetric
from calibrant.metrics.base.metric import Metric, relative
from calibrant.predictions import Predictions


@dataclass(frozen=True)
class DebiasedECE(Metric):
    r"""Root-mean-square calibration error with the bias of chance removed.

    Parameters
    ----------
    bins : Binning, default=EqualWidth(15)

    Notes
    -----
    The square root of :math:`\max(D, 0)`, where

    .. math:: D = \sum_b \frac{W_b}{W} \Big[(\bar p_b - \bar y_b)^2 - \frac{\bar y_b (1 - \bar y_b)}{n_b - 1}\Big],
        \qquad n_b = \frac{\big(\sum_{i \in b} w_i\big)^2}{\sum_{i \in b} w_i^2},

    over bins with more than one row, :math:`n_b > 1`. The variance that is taken away is the mean of
    :math:`(y_i - y_j)^2 / 2` over pairs :math:`i \ne j`, each with weight :math:`w_i w_j`, divided by :math:`n_b`.
    :math:`D` is an unbiased estimate of the squared binned error up to the bins that hold one row; it is kept, with its
    sign, in the estimate's details as ``squared``.

    References
    ----------
    A. Kumar, P. Liang, T. Ma, "Verified uncertainty calibration", NeurIPS 2019; J. Bröcker, "Estimating reliability
    and resolution of probability forecasts through decomposition of the empirical score", Climate Dynamics 39 (2012).

    Examples
    --------
    >>> p = Predictions([0.8, 0.8, 0.8, 0.8], labels=[0, 0, 0, 0])
    >>> round(DebiasedECE()(p), 4)  # no variance to remove
    0.8
    """

    label = "ECE, debiased"
    meaning = "The root-mean-square error without the part that chance adds; 0 if chance explains all."
    family = "binned"
    accepts = "binary"
    measures = "calibration"
    weights = "pairs"
    bins: Binning = EqualWidth(15)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bins", as_binning(self.bins, EqualMass))

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Return the map from weights, (n, B), to B values; the bins are cut once, at the data's own weights."""
        squared = self._prepare_squared(predictions)
        return lambda weights: rooted(squared(weights))

    def value(self, data: Predictions) -> float:
        """Return the value at the data's own weights."""
        self.check(data)
        return float(rooted(self._squared(data)))

    def prepare_events(self, view: Predictions) -> Evaluator:
        """Return the map from events, (n, B), to B values: only the frequencies change."""
        cut = self.bins.cut_view(view)
        weights = relative(view.weights)[:, None]
        mass, squares = (bin_totals(cut, np.ones(view.n_samples))(w) for w in (weights, weights**2))
        predicted = bin_totals(cut, view.positive)(weights)
        hits = bin_totals(cut, weights[:, 0])
        total = weights.sum(axis=0)
        return lambda events: rooted(_squared(total, mass, squares, predicted, hits(events)))

    def prepare_counts(self, predictions: Predictions) -> CountedMetric | None:
        """Return the map from event counts in cells of rows, (C, B), to B values."""
        rows = BinnedCells.of(predictions, self.bins.cut_view(predictions))
        if rows is None:
            return None
        weights, hits, total = rows.weights, rows.sums(rows.weights), np.array(rows.total)
        mass, squares, predicted = (rows.totals(part) for part in (weights, weights**2, weights * rows.cells.probs))
        return CountedMetric(rows.cells, lambda counts: rooted(_squared(total, mass, squares, predicted, hits(counts))))

    def details(self, predictions: Predictions) -> Mapping[str, object]:
        """Give the number of bins that hold weight, and D with its sign."""
        return {"bins_used": bins_used(self.view(predictions), self.bins), "squared": float(self._squared(predictions))}

    def _squared(self, predictions: Predictions) -> FloatArray:
        """Return D at the data's own weights."""
        view = self.view(predictions)

        def compute() -> FloatArray:
            return self._prepare_squared(view)(view.weights[:, None])[0]

        return view.once(("squared", self), compute)

    def _prepare_squared(self, predictions: Predictions) -> Evaluator:
        view = self.view(predictions)
        cut = self.bins.cut_view(view)
        sums = joint_bin_totals(cut, np.column_stack([np.ones(view.n_samples), view.positive, view.labels]))
        count = bin_totals(cut, np.ones(view.n_samples))

        def evaluate(weights: FloatArray) -> FloatArray:
            weights = relative(weights)
            mass, predicted, hits = sums(weights)
            return _squared(weights.sum(axis=0), mass, count(view.squares(weights)), predicted, hits)

        return evaluate


def _squared(
    total: FloatArray, mass: FloatArray, squares: FloatArray, predicted: FloatArray, hits: FloatArray
) -> FloatArray:
    """Return D from the sums of the weights, of their squares, and of the weighted predictions and labels."""
    gaps, frequency = bin_ratio(predicted - hits, mass), bin_ratio(hits, mass)
    pairs = mass**2 - squares  # The weight of pairs of different rows: 0 up to rounding for a single row.
    several = pairs > LEAST_PAIRS * mass**2
    bias = np.divide(frequency * (1 - frequency) * squares, pairs, out=np.zeros_like(gaps), where=several)
    return np.where(several, mass * (gaps**2 - bias), 0.0).sum(axis=0) / total
