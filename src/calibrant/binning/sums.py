"""Weight, prediction and frequency in bins: of binary predictions, and of every class against the rest."""

from collections.abc import Iterator

import numpy as np

from calibrant._core.bins import bin_columns, bin_index, bin_sums
from calibrant._core.threads import in_order
from calibrant._typing import FloatArray
from calibrant.binning.base import Binning, Bins
from calibrant.binning.interval import EqualWidth, largest_values
from calibrant.predictions import Predictions

CLASSES_PER_JOB = 64
"""Number of classes summed at a time if all have the same bins."""


def bin_sums_of(view: Predictions, bins: Binning) -> FloatArray:
    """Return the sums of weights, weighted predictions and weighted labels of class 1 in every bin, (3, n_bins).

    They are kept with the predictions. Rows that the bins leave out are in none.

    Examples
    --------
    >>> bin_sums_of(Predictions([0.25, 0.5, 0.75], labels=[0, 1, 1]), EqualWidth(2)).tolist()
    [[2.0, 1.0], [0.75, 0.75], [1.0, 1.0]]
    """
    return view.once(("bin sums", bins), lambda: _bin_sums(view, bins))


def _bin_sums(view: Predictions, bins: Binning) -> FloatArray:
    if isinstance(bins, EqualWidth) and bins.convention == "calibrant":
        return bin_sums(view.positive, view.weights, view.labels, largest_values(bins.n_bins))
    return _summed(bins.cut_view(view), view)


def _summed(cut: Bins, view: Predictions) -> FloatArray:
    kept = slice(None) if (cut.index >= 0).all() else cut.index >= 0
    parts = (view.weights, view.weights * view.positive, view.weights * view.labels)
    return np.array([np.bincount(cut.index[kept], weights=part[kept], minlength=cut.n_bins) for part in parts])


def class_bin_sums(predictions: Predictions, bins: Binning) -> Iterator[FloatArray]:
    """Yield the same sums, (3, n_bins), of every class against the rest.

    All classes of equal bins take one pass over the matrix, and labels one over the rows.

    Examples
    --------
    >>> p = Predictions([[0.5, 0.5], [0.25, 0.75]], labels=[0, 1])
    >>> [sums[:, 0].tolist() for sums in class_bin_sums(p, EqualWidth(1))]
    [[2.0, 0.75, 1.0], [2.0, 1.25, 1.0]]
    """
    if not isinstance(bins, EqualWidth) or bins.convention != "calibrant":
        views = (predictions.one_vs_rest(c) for c in range(predictions.n_classes))
        yield from (_summed(bins.cut_view(view), view) for view in views)
        return
    last, k = largest_values(bins.n_bins), predictions.n_classes

    def task(first: int) -> FloatArray:
        return bin_columns(predictions.probs[:, first : first + CLASSES_PER_JOB], predictions.weights, last)

    hits = _class_hits(predictions, last)
    for first, block in zip(range(0, k, CLASSES_PER_JOB), in_order(task, range(0, k, CLASSES_PER_JOB)), strict=True):
        for c, sums in enumerate(block, first):
            yield np.vstack([sums, hits[c]])


def _class_hits(predictions: Predictions, last: FloatArray) -> FloatArray:
    """Return the weight of the rows of each class, by the bin of its probability: (K, n_bins)."""
    n_bins, k, labels = len(last) + 1, predictions.n_classes, predictions.labels
    own = bin_index(predictions.probs[np.arange(len(labels)), labels], last)
    hits = np.bincount(labels * n_bins + own, weights=predictions.weights, minlength=k * n_bins)
    return np.asarray(hits, dtype=float).reshape(k, n_bins)
