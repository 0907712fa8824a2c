"""Bootstrap samples and labels drawn by compiled code, and sums over many redraws in one pass over the rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._border.types import FloatArray, IntArray
from calibrant._core import twin_draws
from calibrant._core.library import RedrawnSums, RowsRecord, RowWork, library, required
from calibrant._core.packing import zeros
from calibrant._core.threads import available_threads, in_order

_TOGETHER = 32
"""Number of samples that are counted before they are written as columns."""


def count_draws(keys: NDArray[np.uint64], n: int) -> NDArray[np.float64]:
    """Return how often each of n rows occurs in a sample of n, (n, B), for each of B keys."""
    core = library()
    if core is None:
        return twin_draws.count_draws(keys, n)
    counts = np.empty((n, len(keys)))
    # At least eight: a library built before these sources, as in an editable install, clears that many.
    room = np.empty(n * max(8, min(_TOGETHER, len(keys))), dtype=np.uint16)
    core.draw_counts(np.ascontiguousarray(keys), len(keys), n, room, counts)
    return counts


def count_sums(
    probs: NDArray[np.float64], ends: NDArray[np.int64], values: NDArray[np.float64], keys: NDArray[np.uint64]
) -> NDArray[np.float64]:
    """Return sums over groups of a value that depends on the drawn number of events of the group, (B,), for each key.

    The number of events is drawn directly, by inverting the law of a sum of independent events. Counts with a
    probability below 1e-30 may never be drawn. Probabilities (n,) are in the order of the groups, which end at `ends`,
    (G,). The values, (n + G,), are those of 0, 1, ... events of the first group, then those of the second, and so on.

    Examples
    --------
    >>> sure = np.array([0.0, 1.0, 1.0]), np.array([2, 3]), np.array([0.5, 1.0, 1.5, 20.0, 40.0])
    >>> count_sums(*sure, np.arange(2, dtype=np.uint64)).tolist()  # 1 event of the first group and 1 of the second
    [41.0, 41.0]
    """
    core = library()
    if core is None:
        return twin_draws.count_sums(probs, ends, values, keys)
    sums = np.empty(len(keys))
    core.count_sums(probs, ends, len(ends), values, keys, len(keys), np.empty(len(values)), sums)
    return sums


DEPTH = 8
"""Features are padded to a multiple of this, so that every processor loads them in whole registers."""

_LABELS, _MOST_LABELS = 2**22, 2**24
"""Labels drawn per job, in a tenth of a second; with many classes up to the second number, because a job prepares the
probabilities of each row once."""

_MANY = 128
"""Redraws per job for the same reason, for any number of rows, if they can be drawn in blocks of rows."""

_MOST_SUMS = 2**22
"""Up to this many sums of features, 32 MB, redraws are drawn in blocks of rows: the sums are kept between blocks."""

_BLOCK = 2**17
"""Labels per block: few enough to stay in the cache until their features are added."""

_CACHED = 2**15
"""Sums of features updated at a time: few enough to stay in the cache."""


class Redrawn(NamedTuple):
    """Sums over the labels of B redraws.

    Attributes
    ----------
    logs : ndarray of shape (B,)
        Sums of the weighted logarithms of the labels' probabilities.
    weights, odds : ndarray of shape (K, B)
        Sums of the weights, and of the weighted log-odds, of the labels of each class.
    hits : ndarray of shape (n_bins, B)
        Sums of the weights of rows whose label is the most probable class, by the bin of the row.
    seconds : ndarray of shape (B,)
        Sums of the weights of rows whose label is the second most probable class.
    errors : ndarray of shape (B,)
        Squared distance between the sums of features by class and their means.
    """

    logs: FloatArray
    weights: FloatArray
    odds: FloatArray
    hits: FloatArray
    seconds: FloatArray
    errors: FloatArray


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows from which labels are redrawn.

    Parameters
    ----------
    probs : ndarray of shape (n, K)
    weights : ndarray of shape (n,)
    top, second, bins : ndarray of int of shape (n,)
        The two most probable classes, and a bin.
    features : ndarray of shape (n, D)
        With D a multiple of `DEPTH`.
    means : ndarray of shape (K, D)
    """

    probs: FloatArray
    weights: FloatArray
    top: IntArray
    second: IntArray
    bins: IntArray
    features: FloatArray
    means: FloatArray

    def redraw(self, keys: NDArray[np.uint64]) -> Iterator[Redrawn]:
        """Yield the sums of several redraws at a time, one redraw per key.

        They do not depend on how many redraws are drawn together, nor on the number of threads.
        """
        n_threads = available_threads()
        width = max(1, min(self._together(), -(-len(keys) // n_threads)))
        # So that a progress bar moves and every thread has work until the end.
        width = min(width, max(16, len(keys) // 8))
        yield from in_order(self._redraw, [keys[b : b + width] for b in range(0, len(keys), width)])

    def _together(self) -> int:
        """Return the largest number of redraws per job."""
        n, n_classes = self.probs.shape
        return max(_LABELS // n, min(_MOST_LABELS // n, n_classes), min(_MANY, _MOST_SUMS // self.means.size))

    def _redraw(self, keys: NDArray[np.uint64]) -> Redrawn:
        (n, n_classes), size, core = self.probs.shape, len(keys), required()
        in_blocks = size * self.means.size <= _MOST_SUMS
        height = max(1, _BLOCK // size) if in_blocks else n
        labels, work = np.empty((min(n, height), size), dtype=np.int32), _work(n_classes, size)
        logs, classes = np.zeros(size), np.zeros((size, n_classes, 2))
        hits, seconds = np.zeros((int(self.bins.max()) + 1, size)), np.zeros(size)
        sums = RedrawnSums.of(logs=logs, classes=classes, hits=hits, seconds=seconds)
        of_features = zeros(size * self.means.size if in_blocks else 0)
        named = {k: np.ascontiguousarray(getattr(self, k)) for k in ("probs", "weights", "top", "second", "bins")}
        for start in range(0, n, height):  # Sums run over the rows in order, for any size of the blocks.
            rows = slice(start, start + height)
            own = labels[: n - start]
            record = RowsRecord.of(n=len(own), n_classes=n_classes, **{k: v[rows] for k, v in named.items()})
            # The label of a row depends on the key plus its number times a constant, and a block counts from 0.
            core.redraw(record, keys + np.uint64(start * int(twin_draws.GOLDEN) % 2**64), size, work, sums, own)
            if in_blocks:
                _add_features(own, self.features[rows], self.means, of_features)
        weights, odds = classes.transpose(2, 1, 0)
        errors = _errors(of_features, self.means) if in_blocks else feature_errors(labels, self.features, self.means)
        return Redrawn(logs, weights, odds, hits, seconds, errors)


def _work(n_classes: int, n_keys: int) -> RowWork:
    padded, n_guides = n_classes + DEPTH, 1 << max(6, n_classes.bit_length())
    tables: dict[str, object] = {name: np.empty(padded) for name in ("cumulative", "logs", "odds")}
    guides = np.empty(n_guides, dtype=np.int64)
    return RowWork.of(n_guides=n_guides, uniform=np.empty(n_keys), guides=guides, **tables)


def feature_errors(labels: NDArray[np.integer], features: FloatArray, means: FloatArray) -> FloatArray:
    """Return the squared distance between the sums of features by class and their means, for labels (n, B)."""
    if library() is None:
        return twin_draws.feature_errors(labels, features, means)
    own = np.ascontiguousarray(labels, dtype=np.int32)
    n_keys, together = labels.shape[1], max(1, _CACHED // means.size)
    room, found = zeros(min(together, n_keys) * means.size), []
    for first in range(0, n_keys, together):
        sums = room[: (n_keys - first) * means.size]
        sums[:] = 0.0
        _add_features(own, features, means, sums, first)
        found.append(_errors(sums, means))
    return np.concatenate(found)


def _add_features(
    labels: NDArray[np.int32], features: FloatArray, means: FloatArray, sums: FloatArray, first: int = 0
) -> None:
    """Add features to the sums of the redraws from `first` on, few redraws at a time so that sums stay in the cache."""
    n_keys, together = sums.size // means.size, max(1, _CACHED // means.size)
    for start in range(0, n_keys, together):
        width, own = min(together, n_keys - start), sums[start * means.size :]
        required().feature_sums(
            labels, labels.shape[1], first + start, width, features, len(features), *means.shape, own
        )


def _errors(sums: FloatArray, means: FloatArray) -> FloatArray:
    errors = np.empty(sums.size // means.size)
    required().squared_gaps(sums, len(errors), means, means.size, errors)
    return errors
