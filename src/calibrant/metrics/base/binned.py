"""Base class of metrics that compare predictions and frequencies in bins."""

from abc import abstractmethod
from collections.abc import Mapping, Sized
from typing import ClassVar

import numpy as np

from calibrant._border.types import Evaluator, FloatArray
from calibrant._core.threads import in_order
from calibrant.binning import Binning, EqualMass, EqualWidth
from calibrant.binning.class_sums import ClassEvents, class_bin_sums
from calibrant.binning.sums import bin_sums_of, bin_totals, joint_bin_totals
from calibrant.metrics.base.counted import BinnedCells, CountedMetric
from calibrant.metrics.base.metric import Measured, Metric
from calibrant.predictions import Predictions

LEAST_PAIRS = 1e-12
"""A bin counts as one row if its pairs of different rows have less than this share of the weight of all pairs."""


class BinnedMetric(Metric):
    """A function of weight, mean prediction and frequency in every bin."""

    family = "binned"
    accepts = "binary"
    measures: ClassVar[Measured] = "calibration"
    bins: Binning

    def __post_init__(self) -> None:
        object.__setattr__(self, "bins", as_binning(self.bins, EqualWidth))

    @abstractmethod
    def combine(self, total: FloatArray, mass: FloatArray, predicted: FloatArray, hits: FloatArray) -> FloatArray:
        """Return B values from the weight of all rows, (B,), and the sums in each bin, (n_bins, B).

        The sums are those of the weights, of the weighted predictions and of the weighted labels.
        """

    def value(self, data: Predictions) -> float:
        """Return the value at the data's own weights, from sums that all metrics of these bins share."""
        self.check(data)
        view = self.view(data)
        mass, predicted, hits = (part[:, None] for part in bin_sums_of(view, self.bins))
        return float(self.combine(self._total(view, mass), mass, predicted, hits)[0])

    def _total(self, view: Predictions, mass: FloatArray) -> FloatArray:
        """Return the weight of all rows, including rows outside every bin."""
        return mass.sum(axis=0) if self.bins.leaves_none_out else view.weights.sum(keepdims=True)

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Return the map from weights, (n, B), to B values; the bins are cut once, at the data's own weights."""
        view = self.view(predictions)
        cut = self.bins.cut_view(view)
        sums = joint_bin_totals(cut, np.column_stack([np.ones(view.n_samples), view.positive, view.labels]))
        complete = bool((cut.index >= 0).all())

        def evaluate(weights: FloatArray) -> FloatArray:
            mass, predicted, hits = sums(weights)
            total = mass.sum(axis=0) if complete else weights.sum(axis=0)
            return self.combine(total, mass, predicted, hits)

        return evaluate

    def prepare_events(self, view: Predictions) -> Evaluator:
        """Return the map from events, (n, B), to B values: only the frequencies change."""
        of_hits, hits = self._of_hits(view), bin_totals(self.bins.cut_view(view), view.weights)
        return lambda events: of_hits(hits(events))

    def prepare_classes(self, predictions: Predictions) -> Evaluator | None:
        """Return the map from class indices, (n, B), to values of every class against the rest, (K, B)."""
        views = [predictions.one_vs_rest(c) for c in range(predictions.n_classes)]
        events = ClassEvents.of([*in_order(self.bins.cut_view, views)], [predictions.weights[:, None]])
        parts = [self._of_hits(view) for view in views]
        return lambda labels: np.array([part(*hits) for part, hits in zip(parts, events.sums(labels), strict=True)])

    def _of_hits(self, view: Predictions) -> Evaluator:
        """Return the map from the weights of events in each bin, (n_bins, B), to B values."""
        mass, predicted, _ = (part[:, None] for part in bin_sums_of(view, self.bins))
        total = view.weights.sum(keepdims=True)
        return lambda hits: self.combine(total, mass, predicted, hits)

    def prepare_counts(self, predictions: Predictions) -> CountedMetric | None:
        """Return the map from event counts in cells of rows, (C, B), to B values."""
        rows = BinnedCells.of(predictions, self.bins.cut_view(predictions))
        if rows is None:
            return None
        mass, predicted = rows.totals(rows.weights), rows.totals(rows.weights * rows.cells.probs)
        hits, total = rows.sums(rows.weights), np.array(rows.total)
        return CountedMetric(rows.cells, lambda counts: self.combine(total, mass, predicted, hits(counts)))

    def class_values(self, predictions: Predictions) -> FloatArray:
        """Return the value of every class against the rest, (K,), without a pass over the rows for each class."""
        return predictions.once(("class values", self), lambda: self._class_values(predictions))

    def _class_values(self, predictions: Predictions) -> FloatArray:
        total, values = predictions.weights.sum(keepdims=True), []
        for sums in class_bin_sums(predictions, self.bins):
            mass, predicted, hits = (part[:, None] for part in sums)
            values.append(self.combine(mass.sum(axis=0) if self.bins.leaves_none_out else total, mass, predicted, hits))
        return np.concatenate(values)

    def details(self, predictions: Predictions) -> Mapping[str, object]:
        """Say how many bins hold weight."""
        return {"bins_used": bins_used(self.view(predictions), self.bins)}


def as_binning(bins: object, kind: type[EqualWidth] | type[EqualMass]) -> Binning:
    """Return a binning as it is, and a number as that many bins of the given kind; refuse anything else."""
    if isinstance(bins, (int, np.integer)) and not isinstance(bins, bool):
        return kind(int(bins))
    if not isinstance(bins, Binning):
        required = "bins must be a Binning such as EqualWidth(15) or EqualMass(15), or a number of bins"
        if isinstance(bins, Sized) and not isinstance(bins, str):
            raise TypeError(f"{required}. Settings come first, data when called: ECE(bins=15)(y_true, y_prob).")
        raise TypeError(f"{required}, but is {bins!r}.")
    return bins


def bins_used(view: Predictions, bins: Binning) -> int:
    """Return the number of bins that hold weight."""
    return int((bin_sums_of(view, bins)[0] > 0).sum())


def rooted(squared: FloatArray | float) -> FloatArray:
    """Return the root of an estimate of a square, which chance may make negative: then 0."""
    return np.sqrt(np.maximum(squared, 0.0))


def bin_ratio(numerator: FloatArray, mass: FloatArray) -> FloatArray:
    """Divide by the weight of the bin; empty bins give 0."""
    return np.divide(numerator, mass, out=np.zeros_like(numerator), where=mass > 0)
