"""Evidence about two classes: the probability of class 1."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from calibrant._border.types import FloatArray, IntArray
from calibrant.hypotest.omnibus.statistic import (
    BIAS,
    SLOPE,
    SPREAD,
    Evidence,
    Part,
    centred,
    inverse_deviation,
    log_odds,
)
from calibrant.metrics.ecce import reach
from calibrant.predictions import Predictions
from calibrant.resampling.event_counts import EventCells, fine_cells, thinned

PLACES = 256
"""The running sum is evaluated at no more than this many distinct predictions."""


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

    The variance of a sum with coefficients x is :math:`\sum_i w_i^2 x_i^2 p_i (1 - p_i)`.

    With more than 4096 rows the statistics depend only on the number of events in each of a few thousand cells of
    similar rows (`fine_cells`): :math:`x_i` and :math:`1 - 2 p_i` become their means over the cell with weights
    :math:`p_i (1 - p_i)`, and :math:`w_i` the mean weight. The test is exact with any statistics of the labels, so it
    remains exact. They hardly differ from those of the rows (docs/tests.md).
    """

    cells: EventCells
    is_fine: bool
    coefficients: FloatArray
    means: FloatArray
    places: NDArray[np.intp]
    steps: FloatArray
    expected: FloatArray
    parts = (
        Part("bias", BIAS),
        Part("slope", SLOPE, of_shape=True),
        Part(SPREAD, {1: SLOPE[-1], -1: SLOPE[1]}, of_shape=True),
        Part("ecce", {}),
    )

    @classmethod
    def of(cls, predictions: Predictions, weights: FloatArray) -> Self:
        """Prepare everything that does not depend on the labels."""
        fine = fine_cells(predictions)
        cells = fine or EventCells.of_rows(predictions.positive)
        each = weights if predictions.copies is None else weights / predictions.copies
        probs, own = cells.probs, cells.totals(each[cells.order]) / cells.sizes
        spread = probs * (1 - probs)
        expected, variances = cells.totals(probs), own**2 * cells.totals(spread)
        slope = centred(cells.means(log_odds(probs), spread), variances)
        coefficients = np.stack([np.ones_like(own), slope, cells.means(1 - 2 * probs, spread)])
        coefficients *= own * inverse_deviation((coefficients**2) @ variances)[:, None]
        places = np.searchsorted(cells.starts, thinned(cells.groups, len(probs), PLACES))
        steps = own * inverse_deviation(variances.sum())
        return cls(
            cells=cells,
            is_fine=fine is not None,
            coefficients=coefficients,
            means=(coefficients @ expected)[:, None],
            places=places,
            steps=steps[:, None],
            expected=np.add.reduceat(steps * expected, places)[:, None],
        )

    def components(self, labels: IntArray) -> tuple[FloatArray, ...]:
        """Return the three scores and the range of the running sum."""
        return self.of_counts(self.cells.count(labels == 1))

    def of_counts(self, counts: FloatArray) -> tuple[FloatArray, ...]:
        """Return the components from the number of events in each cell, (C, B)."""
        # By einsum, not @: the threads of BLAS would compete with our own.
        bias, slope, spread = np.einsum("sc,cb->sb", self.coefficients, counts) - self.means
        return bias[None], slope[None], spread[None], self._range(counts)[None]

    def _range(self, counts: FloatArray) -> FloatArray:
        path = np.cumsum(np.add.reduceat(self.steps * counts, self.places, axis=0) - self.expected, axis=0)
        return reach(path, "range")
