"""Base class of metrics of binary predictions in ascending order, with equal predictions pooled."""

from abc import abstractmethod

import numpy as np

from calibrant._border.types import Evaluator, FloatArray
from calibrant.binning.ties import Pools, Ties, comparable, present, starts_of_ties
from calibrant.metrics.base.counted import CountedMetric, cells_of_copies
from calibrant.metrics.base.metric import Metric
from calibrant.predictions import Predictions


class PooledMetric(Metric):
    """A function of weight, prediction and frequency at every distinct prediction."""

    accepts = "binary"

    @abstractmethod
    def combine(self, pools: Pools) -> float:
        """Return the value for one column of weights."""

    def value(self, data: Predictions) -> float:
        """Return the value at the data's own weights, from pools that all such metrics share."""
        self.check(data)
        return self.combine(Pools.of(self.view(data)))

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Return the map from weights, (n, B), to B values; predictions are sorted once."""
        view = self.view(predictions)
        ties = Ties.of_view(view)
        p, y = view.positive[:, None], view.labels[:, None]

        def evaluate(weights: FloatArray) -> FloatArray:
            columns = zip(ties.sums(weights).T, ties.sums(weights * p).T, ties.sums(weights * y).T, strict=True)
            return np.array([self.combine(Pools.of_sums(mass, sums, hits, {})) for mass, sums, hits in columns])

        return evaluate

    def prepare_events(self, view: Predictions) -> Evaluator:
        """Return the map from events, (n, B), to B values: only the frequencies change."""
        ties, weights = Ties.of_view(view), view.weights[:, None]
        pools, kept = Pools.of(view), present(ties.sums(view.weights))
        return lambda events: self.combine_redraws(pools, ties.sums(weights * events)[kept])

    def prepare_counts(self, predictions: Predictions) -> CountedMetric | None:
        """Return the map from event counts in the cells of a sketch to values: only the hits of pools change."""
        if predictions.copies is None:
            return None
        cells = cells_of_copies(predictions)
        weights = predictions.row_weights[cells.order[cells.starts], None]
        starts = starts_of_ties(comparable(cells.probs[cells.starts]))
        pools, kept = Pools.of(predictions), present(Ties.of_view(predictions).sums(predictions.weights))
        return CountedMetric(
            cells, lambda counts: self.combine_redraws(pools, np.add.reduceat(weights * counts, starts)[kept])
        )

    def combine_redraws(self, pools: Pools, hits: FloatArray) -> FloatArray:
        """Return B values of the same pools with other hits, (m, B)."""
        return np.array([self.combine(pools.with_hits(column)) for column in hits.T])
