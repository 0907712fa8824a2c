"""Bins of equal mass of every class against the rest, for rows of equal weight: each class is sorted, nothing more."""

from collections.abc import Iterator

import numpy as np

from calibrant._core.threads import in_order
from calibrant._typing import FloatArray, IntArray
from calibrant.binning.interval import ROUNDING
from calibrant.binning.ties import comparable
from calibrant.predictions import Predictions

BLOCK_CELLS = 2**18
"""Probabilities that are sorted at a time: few enough to stay in the cache."""


def class_sums(predictions: Predictions, n_bins: int) -> Iterator[FloatArray]:
    r"""Yield five sums in the bins of some classes after the other, (5, n_bins, m), at rows of weight 1.

    They are those of 1, p and :math:`p^2` over the rows of the bin, and those of 1 and :math:`1 - 2 p` over the rows of
    the class among them. Bins are those of `EqualMass`; where ties merge some, the others are empty.

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
    """Return the rows in ascending order on both sides of every inner edge, as `EqualMass` has them."""
    share, target = np.arange(1, n + 1) / n, np.arange(1, n_bins) / n_bins
    below = np.searchsorted(share, target - ROUNDING, side="left")
    return below, np.searchsorted(share, target + ROUNDING, side="right").clip(max=n - 1)


def _sums(ascending: FloatArray, own: FloatArray, classes: IntArray, ranks: tuple[IntArray, IntArray]) -> FloatArray:
    """Return the sums of m classes from their probabilities in order, (m, n), and those of rows of each class."""
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
    for b in range(n_bins - 1):  # How many edges of its class a row is above.
        bins += comparable(own) > edges[classes, b]
    at = classes * n_bins + bins
    sums[3] = np.bincount(at, minlength=m * n_bins).reshape(m, n_bins)
    sums[4] = np.bincount(at, weights=1 - 2 * own, minlength=m * n_bins).reshape(m, n_bins)
    return sums.transpose(0, 2, 1)
