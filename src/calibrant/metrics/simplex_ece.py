"""Binned calibration error on the whole simplex."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from calibrant._border.types import Evaluator, FloatArray, IntArray
from calibrant.binning import Cells, EqualWidth, MedianVariance, SimplexBinning
from calibrant.binning.sums import bin_totals
from calibrant.kernels.distances import Distance, TotalVariation
from calibrant.metrics.base.metric import Metric, Weights
from calibrant.predictions import Predictions
from calibrant.results import Description

MOST_CELLS = 5 * 10**6
"""Number of probabilities that are cut into cells in a second or two."""


@dataclass(frozen=True)
class SimplexECE(Metric):
    r"""Expected calibration error of whole probability vectors, not only of the largest probability.

    Parameters
    ----------
    bins : EqualWidth or MedianVariance, default=EqualWidth(10)
        How the simplex is cut into cells.
    distance : Distance or callable, default=TotalVariation()
        Distance between mean prediction and frequencies in a cell; a callable is given these two vectors, in this
        order.

    Notes
    -----
    With the weight :math:`W_b` of cell b out of :math:`W`, the weighted mean :math:`\bar p_b` of its predictions and
    the frequencies :math:`\bar y_b` of its labels,

    .. math:: \sum_b \frac{W_b}{W} d(\bar p_b, \bar y_b).

    It is biased upwards, the more so the more classes there are: most cells then hold one row.

    References
    ----------
    J. Vaicenavicius et al., "Evaluating model calibration in classification", AISTATS 2019.

    Examples
    --------
    >>> p = Predictions([[0.9, 0.1], [0.9, 0.1], [0.2, 0.8]], labels=[0, 0, 0])
    >>> round(SimplexECE()(p), 4)  # 2/3 * 0.1 + 1/3 * 0.8
    0.3333
    """

    label = "ECE, all classes"
    meaning = "As ECE, for whole probability vectors in the cells of a grid; rough with more than a few classes."
    cells = False
    redraws_quickly = False
    family = "binned"
    measures = "calibration"
    bins: SimplexBinning = EqualWidth(10)
    distance: Distance | Callable[[FloatArray, FloatArray], float] = TotalVariation()

    def about(self) -> Description:
        """Return the description that readers see."""
        if not isinstance(self.bins, MedianVariance):
            return super().about()
        meaning = "As ECE for whole probability vectors, in cells of at least ten rows."
        return replace(super().about(), label="ECE, all classes, adaptive", meaning=meaning)

    def __post_init__(self) -> None:
        if not isinstance(self.bins, SimplexBinning):
            raise TypeError(f"bins must be EqualWidth(...) or MedianVariance(...), but is {self.bins!r}.")
        if not isinstance(self.distance, Distance) and not callable(self.distance):
            raise TypeError(f"distance must be a Distance or a function, but is {self.distance!r}.")

    @property
    def weights(self) -> Weights:  # type: ignore[override]  # depends on a setting
        """Cells of a least size count effective rows: copies of a row count as more rows, a larger weight does not."""
        return "pairs" if isinstance(self.bins, MedianVariance) else "frequency"

    def is_affordable(self, data: Predictions) -> bool:
        """Return whether there are at most 5e6 probabilities: cells are found by sorting or repeated splitting."""
        return bool(data.n_samples * data.n_classes <= MOST_CELLS)

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Return the map from weights, (n, B), to B values; the cells are cut once, at the data's own weights."""
        cells = self._cells(predictions)
        totals = bin_totals(cells, np.ones(predictions.n_samples))
        observed = predictions.residuals + predictions.probs

        def value(weights: FloatArray) -> float:
            mass = totals(weights[:, None])[:, 0]
            used = mass > 0
            scale = mass[used, None]
            predicted = totals(predictions.probs * weights[:, None])[used] / scale
            frequency = totals(observed * weights[:, None])[used] / scale
            return float(mass[used] @ self._distances(predicted, frequency) / weights.sum())

        return lambda columns: np.array([value(column) for column in columns.T])

    def prepare_labels(self, predictions: Predictions) -> Evaluator:
        """Return the map from labels, (n, B), to B values: only the frequencies change."""
        cells, k = self._cells(predictions), predictions.n_classes
        rows = np.flatnonzero((cells.index >= 0) & (predictions.weights > 0))
        weights = predictions.weights[rows] / predictions.weights.max()
        used, cell = np.unique(cells.index[rows], return_inverse=True)
        mass = np.bincount(cell, weights)
        predicted = bin_totals(Cells(cell, len(used)), weights)(predictions.probs[rows]) / mass[:, None]

        def value(labels: IntArray) -> float:
            hits = np.bincount(cell * k + labels[rows], weights, minlength=len(used) * k).reshape(-1, k)
            return float(mass @ self._distances(predicted, hits / mass[:, None]) / total)

        total = predictions.weights.sum() / predictions.weights.max()
        return lambda columns: np.array([value(column) for column in columns.T])

    def _cells(self, predictions: Predictions) -> Cells:
        """Return the cells of the simplex, cached with the predictions."""

        def cut() -> Cells:
            return self.bins.cells(predictions.probs, predictions.weights)

        return predictions.once(("cells", self.bins), cut, of_labels=False)

    def details(self, predictions: Predictions) -> Mapping[str, object]:
        """Give the number of cells that hold weight."""
        cells = self._cells(predictions)
        return {"bins_used": len({*cells.index[predictions.weights > 0].tolist()})}

    def _distances(self, predicted: FloatArray, frequency: FloatArray) -> FloatArray:
        if isinstance(self.distance, Distance):
            return self.distance.paired(predicted, frequency)
        return np.array([self.distance(p, y) for p, y in zip(predicted, frequency, strict=True)])
