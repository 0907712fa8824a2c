"""Sums over the rows of every bin for all classes against the rest, without a pass over the rows for each class."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant._core.bins import bin_columns, bin_index
from calibrant._core.threads import in_order
from calibrant.binning.bins import Binning, Cells
from calibrant.binning.interval import ROUNDING, EqualWidth, largest_values
from calibrant.binning.sums import sums_in
from calibrant.binning.ties import comparable
from calibrant.predictions import Predictions

CLASSES_PER_JOB = 64
"""Number of classes summed at a time if all have the same bins."""


def class_bin_sums(predictions: Predictions, bins: Binning) -> Iterator[FloatArray]:
    """Yield the sums of `bin_sums_of`, (3, n_bins), for every class against the rest.

    With fixed bins this takes one pass over the matrix for all classes, and one over the labels.

    Examples
    --------
    >>> p = Predictions([[0.5, 0.5], [0.25, 0.75]], labels=[0, 1])
    >>> [sums[:, 0].tolist() for sums in class_bin_sums(p, EqualWidth(1))]
    [[2.0, 0.75, 1.0], [2.0, 1.25, 1.0]]
    """
    if not isinstance(bins, EqualWidth) or bins.convention != "calibrant":
        views = (predictions.one_vs_rest(c) for c in range(predictions.n_classes))
        yield from (sums_in(bins.cut_view(view), view) for view in views)
        return
    key = ("class bin sums", bins.n_bins)
    yield from predictions.once(key, lambda: class_sums_below(predictions, largest_values(bins.n_bins)))


def class_sums_below(predictions: Predictions, last: FloatArray) -> FloatArray:
    """Return the sums of `class_bin_sums`, (K, 3, n_bins), in bins given by the largest value of each but the last.

    Examples
    --------
    >>> p = Predictions([[0.5, 0.5], [0.25, 0.75]], labels=[0, 1])
    >>> class_sums_below(p, np.array([0.5]))[1].tolist()
    [[1.0, 1.0], [0.5, 0.75], [0.0, 1.0]]
    """
    n_bins, k, labels = len(last) + 1, predictions.n_classes, predictions.labels
    own = bin_index(predictions.probs[np.arange(len(labels)), labels], last)
    hits = np.bincount(labels * n_bins + own, weights=predictions.weights, minlength=k * n_bins)
    sums = column_sums(predictions.probs, predictions.weights, last)
    return np.concatenate([sums, hits.reshape(k, 1, n_bins)], axis=1)


def column_sums(values: FloatArray, weights: FloatArray, last: FloatArray) -> FloatArray:
    """Return the sums of weights and of weighted values, (m, 2, n_bins), of every column of values (n, m)."""
    jobs = range(0, values.shape[1], CLASSES_PER_JOB)
    return np.concatenate(
        [*in_order(lambda first: bin_columns(values[:, first : first + CLASSES_PER_JOB], weights, last), jobs)]
    )


BLOCK_CELLS = 2**18
"""Number of probabilities sorted at a time: few enough to stay in the cache."""


def class_sums(predictions: Predictions, n_bins: int) -> Iterator[FloatArray]:
    r"""Yield five sums in the bins of m classes at a time, (5, n_bins, m), for rows of weight 1.

    They are the sums of 1, p and :math:`p^2` over the rows of the bin, and the sums of 1 and :math:`1 - 2 p` over those
    with the label of the class. Bins are those of `EqualMass`; where ties merge bins, the remaining ones are empty.

    Examples
    --------
    >>> p = Predictions([[0.5, 0.5], [0.25, 0.75]], labels=[0, 1])
    >>> next(class_sums(p, 2))[:, :, 0].tolist()  # The first class: 0.25, then 0.5, which is its own.
    [[1.0, 1.0], [0.25, 0.5], [0.0625, 0.25], [0.0, 1.0], [0.0, 0.0]]
    """
    step = max(1, BLOCK_CELLS // predictions.n_samples)
    by_label = np.argsort(predictions.labels, kind="stable")
    starts = np.searchsorted(predictions.labels[by_label], np.arange(predictions.n_classes + 1))
    ranks = _ranks(predictions.n_samples, n_bins)

    def task(first: int) -> FloatArray:
        last = min(first + step, predictions.n_classes)
        ascending = np.sort(predictions.probs[:, first:last].T, axis=1)
        rows = by_label[starts[first] : starts[last]]
        labels = predictions.labels[rows]
        return _sums(ascending, predictions.probs[rows, labels], labels - first, ranks)

    return in_order(task, range(0, predictions.n_classes, step))


def _ranks(n: int, n_bins: int) -> tuple[IntArray, IntArray]:
    """Return the ranks of the rows below and above every inner edge, as in `EqualMass`."""
    share, target = np.arange(1, n + 1) / n, np.arange(1, n_bins) / n_bins
    below = np.searchsorted(share, target - ROUNDING, side="left")
    return below, np.searchsorted(share, target + ROUNDING, side="right").clip(max=n - 1)


def _sums(ascending: FloatArray, own: FloatArray, classes: IntArray, ranks: tuple[IntArray, IntArray]) -> FloatArray:
    """Return the sums for m classes, given their sorted probabilities, (m, n), and those of rows with their label."""
    m, n = ascending.shape
    rounded, n_bins = comparable(ascending), len(ranks[0]) + 1
    edges = (rounded[:, ranks[0]] + rounded[:, ranks[1]]) / 2
    ends = np.array([np.searchsorted(row, inner, side="right") for row, inner in zip(rounded, edges, strict=True)])
    starts = np.concatenate([np.zeros((m, 1), dtype=np.int64), ends.reshape(m, n_bins - 1)], axis=1)
    counts = np.diff(starts, axis=1, append=n)
    held = counts > 0
    sums = np.zeros((5, m, n_bins))
    sums[0] = counts
    where = (starts + n * np.arange(m)[:, None])[held]
    sums[1][held] = np.add.reduceat(ascending.ravel(), where)
    sums[2][held] = np.add.reduceat(np.square(ascending).ravel(), where)
    bins = np.zeros(len(own), dtype=np.int64)
    for b in range(n_bins - 1):  # The bin of a row is the number of edges below it.
        bins += comparable(own) > edges[classes, b]
    at = classes * n_bins + bins
    sums[3] = np.bincount(at, minlength=m * n_bins).reshape(m, n_bins)
    sums[4] = np.bincount(at, weights=1 - 2 * own, minlength=m * n_bins).reshape(m, n_bins)
    return sums.transpose(0, 2, 1)


TOGETHER = 2**16
"""Number of labels processed at a time: few enough to stay in the cache."""


@dataclass(frozen=True, eq=False)
class ClassEvents:
    """Sums over the events in the bins of every class, for given labels, in one pass over the rows for all classes."""

    cells: IntArray
    """The bin of each row for each class, (n, K), numbered in sequence over all classes; `starts[-1]` if in none."""
    starts: IntArray  # (K + 1,): where the bins of each class begin.
    values: Sequence[FloatArray]
    """For each of several sums, what a row adds to it if the class is its label, (n, K) or (n, 1)."""

    @classmethod
    def of(cls, cuts: Sequence[Cells], values: Sequence[FloatArray]) -> Self:
        """Return the events of all classes, given the bins of each class."""
        starts = np.concatenate([[0], np.cumsum([cut.n_bins for cut in cuts])])
        cells = np.empty((len(cuts[0].index), len(cuts)), dtype=np.int64)
        for c, cut in enumerate(cuts):
            np.add(cut.index, starts[c], out=cells[:, c])
            if cut.index.min() < 0:
                cells[cut.index < 0, c] = starts[-1]
        return cls(cells, starts, values)

    def sums(self, labels: IntArray) -> list[FloatArray]:
        """Return the sums for labels (n, B) in the bins of each class, (m, n_bins, B), added in the order of the rows.

        Examples
        --------
        >>> events = ClassEvents(np.array([[0, 1], [0, 2]]), np.array([0, 1, 3]), [np.ones((2, 1))])
        >>> [found[0].ravel().tolist() for found in events.sums(np.array([[0], [1]]))]  # One row of each class.
        [[1.0], [0.0, 1.0]]
        """
        n, width = len(labels), max(1, TOGETHER // len(labels))
        found = np.empty((len(self.values), int(self.starts[-1]), labels.shape[1]))
        for first in range(0, labels.shape[1], width):
            some = labels[:, first : first + width].T
            at = some + len(self.starts[:-1]) * np.arange(n)
            found[:, :, first : first + len(some)] = self._summed(at)
        return np.split(found, self.starts[1:-1], axis=1)

    def _summed(self, at: IntArray) -> FloatArray:
        """Return the sums, (m, n_bins, B), over the flat indices `at`, (B, n), into matrices of shape (n, K)."""
        size = int(self.starts[-1]) + 1
        cells = self.cells.ravel()[at]
        cells += size * np.arange(len(at))[:, None]
        sums = [np.bincount(cells.ravel(), self._chosen(some, at), size * len(at)) for some in self.values]
        return np.array(sums, dtype=float).reshape(len(sums), len(at), size)[:, :, :-1].transpose(0, 2, 1)

    @staticmethod
    def _chosen(values: FloatArray, at: IntArray) -> FloatArray | None:
        """Return what rows add at these indices; None stands for 1."""
        if values.shape[1] > 1:
            return values.ravel()[at].ravel()
        return None if (values == 1).all() else np.broadcast_to(values[:, 0], at.shape).ravel()
