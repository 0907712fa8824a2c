"""Reliability curves over bins."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from calibrant._border.settings import check_level
from calibrant._border.types import FloatArray, IntArray
from calibrant.binning import Binning, Bins, EqualWidth
from calibrant.binning.class_sums import class_bin_sums
from calibrant.curves.bands import wilson
from calibrant.curves.view import binary_view, class_histograms, outcome_histograms
from calibrant.predictions import Predictions
from calibrant.predictions.two_arrays import takes_two_arrays
from calibrant.results import Estimate, OutcomeHistogram, ReliabilityCurve

BLOCK_CELLS = 2**20
"""Number of predictions processed at a time, so that memory does not grow with the number of classes."""


@dataclass(frozen=True, eq=False)
class Columns:
    """Predicted probabilities of m events, whether they happened, and the bin of each."""

    positions: FloatArray  # (n, m)
    events: NDArray[np.bool_]  # (n, m)
    weights: FloatArray  # (n,)
    cuts: list[Bins]
    copies: FloatArray | None = None  # (n,): how many rows each stands for, if not one.

    @classmethod
    def of(cls, positions: FloatArray, events: NDArray[np.bool_], weights: FloatArray, bins: Binning) -> "Columns":
        """Cut every column."""
        return cls(positions, events, weights, bins.cut_columns(positions, weights))

    def totals(self, *values: NDArray[np.generic]) -> list[FloatArray]:
        """Return the sums in the bins of all columns in sequence, for each of the values, which broadcast to (n, m)."""
        starts = _starts(self.cuts)
        index = np.column_stack([cut.index for cut in self.cuts])
        kept = index >= 0
        flat, size = (index + starts[:-1])[kept], int(starts[-1])
        columns = (np.broadcast_to(value, index.shape)[kept] for value in values)
        return [np.asarray(np.bincount(flat, weights=column, minlength=size), dtype=float) for column in columns]


def class_blocks(predictions: Predictions, bins: Binning) -> Iterator[Columns]:
    """Yield every class against the rest, in order, a block of classes at a time."""
    step = max(1, BLOCK_CELLS // predictions.n_samples)
    for first in range(0, predictions.n_classes, step):
        positions = predictions.probs[:, first : first + step]
        events = predictions.labels[:, None] == np.arange(first, first + positions.shape[1])
        yield Columns.of(positions, events, predictions.weights, bins)


@takes_two_arrays
def reliability_curve(
    predictions: Predictions, bins: Binning | None = None, *, level: float = 0.95
) -> ReliabilityCurve:
    r"""Binned reliability curve with a Wilson confidence interval at every bin.

    Parameters
    ----------
    predictions : Predictions
        Two classes: the probability of class 1 against its frequency. More classes: confidence against correctness.
    bins : Binning, default=EqualWidth(15)
    level : float, default=0.95
        Confidence level of each interval, taken alone.

    Returns
    -------
    ReliabilityCurve
        One point for each bin that holds weight. Its error is the weighted mean of :math:`|\bar p - \bar y|`, the ECE.

    Notes
    -----
    With the weights :math:`w_i` of the rows in a bin, the point is :math:`(\bar p, \bar y)` with
    :math:`\bar p = \sum w_i p_i / \sum w_i` and likewise :math:`\bar y`. The interval is Wilson's for a frequency
    :math:`\bar y` in :math:`(\sum w_i)^2 / \sum w_i^2` trials (Kish's effective number).

    References
    ----------
    E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927).

    Examples
    --------
    >>> curve = reliability_curve(Predictions([0.2, 0.4, 0.9], labels=[0, 1, 1]), EqualWidth(2))
    >>> curve.predicted.round(2).tolist(), curve.observed.tolist()
    ([0.3, 0.9], [0.5, 1.0])
    """
    check_level(level)
    view, name = binary_view(predictions)
    bins = bins or EqualWidth()
    columns = Columns.of(view.positive[:, None], (view.labels == 1)[:, None], view.weights, bins)
    columns = replace(columns, copies=view.copies)
    return _drawn(columns, bins, level, name)[0]


def one_vs_rest_curves(predictions: Predictions) -> list[ReliabilityCurve]:
    """Return `reliability_curve` of every class against the rest, without a pass over the rows for each class."""
    bins = EqualWidth()
    if predictions.is_weighted:
        return [curve for block in class_blocks(predictions, bins) for curve in _drawn(block, bins, 0.95, "class")]
    mass, predicted, hits = np.array([*class_bin_sums(predictions, bins)]).swapaxes(0, 1).reshape(3, -1)
    totals = _Totals(
        cuts=[bins.cut(np.empty(0), np.empty(0))] * predictions.n_classes,
        sums=(mass, mass, mass, mass, predicted, hits),
        histograms=class_histograms(predictions),
        largest=1.0,
        relative=predictions.n_samples,
    )
    return _curves(totals, bins, 0.95, "class")


def _drawn(
    columns: Columns, bins: Binning, level: float, view: Literal["class", "top-label"]
) -> list[ReliabilityCurve]:
    """Return the curve of each column."""
    weights = columns.weights[:, None]
    relative = weights / weights.max()  # So that the squares of huge weights do not overflow.
    copies = 1.0 if columns.copies is None else columns.copies[:, None]
    sums = columns.totals(
        weights,
        (weights > 0) * copies,
        relative,
        relative**2 / copies,
        columns.positions * weights,
        columns.events * weights,
    )
    histograms = outcome_histograms(columns.positions, columns.events, columns.weights)
    totals = _Totals(columns.cuts, (*sums,), histograms, float(weights.max()), float(relative.sum()))
    return _curves(totals, bins, level, view)


@dataclass(frozen=True, eq=False)
class _Totals:
    """The sums from which the curves of several columns are made."""

    cuts: list[Bins]
    sums: tuple[FloatArray, ...]
    """In the bins of all columns: weights, rows, relative weights, their squares, weighted predictions and events."""
    histograms: list[OutcomeHistogram]
    largest: float  # The largest weight.
    relative: float  # The sum of the weights divided by it.


def _curves(
    totals: _Totals, bins: Binning, level: float, view: Literal["class", "top-label"]
) -> list[ReliabilityCurve]:
    """Return the curve of each column."""
    used = totals.sums[0] > 0
    mass, count, once, twice, predicted, hits = (total[used] for total in totals.sums)
    predicted, observed = predicted / mass, hits / mass
    low, high = wilson(observed, once**2 / twice, level)
    starts = _starts(totals.cuts)
    ends = np.concatenate([[0], np.cumsum(used)])[starts]
    parts = [slice(*pair) for pair in pairwise(ends.tolist())]
    occupied = [np.flatnonzero(used[slice(*pair)]) for pair in pairwise(starts.tolist())]
    shares, gaps = mass / totals.largest, np.abs(predicted - observed)
    return [
        ReliabilityCurve(
            predicted=predicted[part],
            observed=observed[part],
            low=low[part],
            high=high[part],
            lower=cut.lower[cells],
            upper=cut.upper[cells],
            count=count[part],
            weight=mass[part],
            level=level,
            kind=repr(bins),
            view=view,
            error=Estimate(name="ECE", value=float(shares[part] @ gaps[part] / totals.relative)),
            histogram=histogram,
        )
        for part, cells, cut, histogram in zip(parts, occupied, totals.cuts, totals.histograms, strict=True)
    ]


def _starts(cuts: list[Bins]) -> IntArray:
    """Return the index of the first bin of each column among all bins, and the number of all bins: (m + 1,)."""
    return np.concatenate([[0], np.cumsum([cut.n_bins for cut in cuts])])
