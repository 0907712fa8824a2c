"""Draws of bootstrap samples and labels in plain NumPy: the oracle of the compiled code, and its replacement."""

import numpy as np
from numpy.typing import NDArray

from calibrant._border.types import FloatArray

_CACHED = 2**14
"""Number of random numbers drawn at a time: few enough to stay in the cache until they are counted."""

_SUMS, _CELLS = 2**15, 2**20
"""Largest numbers of sums of features and of labels at a time: the sums stay in the cache."""

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def mix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return 64 random bits from a state of 64 bits."""
    bits = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def row_of(bits: NDArray[np.uint64], n: int) -> NDArray[np.uint64]:
    """Return n times the fraction that the bits are of 2**64, rounded down: one of fewer than 2**32 rows."""
    half, size = np.uint64(32), np.uint64(n)
    upper, lower = bits >> half, bits & np.uint64(0xFFFFFFFF)
    return (upper * size + ((lower * size) >> half)) >> half


def count_draws(keys: NDArray[np.uint64], n: int) -> NDArray[np.float64]:
    """Return how often each of n rows occurs in a sample of n, (n, B), for each of B keys."""
    steps = np.arange(1, n + 1, dtype=np.uint64) * GOLDEN
    counts = np.empty((n, len(keys)))
    together = max(1, _CACHED // n)
    for first in range(0, len(keys), together):
        some = keys[first : first + together, None]
        rows = row_of(mix(some + steps), n).astype(np.int64) + n * np.arange(len(some))[:, None]
        counts[:, first : first + together] = np.bincount(rows.ravel(), minlength=rows.size).reshape(-1, n).T
    return counts


IMPOSSIBLE = 1e-30
"""Counts at either end with a probability below this are left out."""


def count_sums(probs: FloatArray, ends: NDArray[np.int64], values: FloatArray, keys: NDArray[np.uint64]) -> FloatArray:
    """Return sums over groups of values of their numbers of events, (B,); see `redraws.count_sums`."""
    sums, start = np.zeros(len(keys)), 0
    for g, (end, uniform) in enumerate(zip(ends.tolist(), draw_uniform(keys, len(ends)), strict=True)):
        first, law = event_law(probs[start:end])
        # The last count takes what rounding leaves above the sum.
        counts = first + np.searchsorted(np.cumsum(law)[:-1], uniform, side="right")
        sums += values[start + g + counts]
        start = end
    return sums


def event_law(probs: FloatArray) -> tuple[int, FloatArray]:
    """Return the least possible number of events, and the probabilities of this and larger numbers.

    Examples
    --------
    >>> first, law = event_law(np.array([1.0, 0.5, 0.5]))
    >>> first, law.tolist()
    (1, [0.25, 0.5, 0.25])
    """
    first, law = 0, np.ones(1)
    for event in probs.tolist():
        law = np.append(law * (1.0 - event), 0.0) + np.append(0.0, law * event)
        possible = np.flatnonzero(law >= IMPOSSIBLE)
        first, law = first + int(possible[0]), law[possible[0] : possible[-1] + 1]
    return first, law


FEW_CLASSES = 16
"""Up to this many classes, a label is found by comparison with each class."""


def draw_uniform(keys: NDArray[np.uint64], n: int) -> FloatArray:
    """Return a uniform number in [0, 1) for each of n rows and each key, (n, B)."""
    steps = np.arange(1, n + 1, dtype=np.uint64) * GOLDEN
    bits = mix(keys + steps[:, None]) >> np.uint64(11)
    return bits.astype(np.float64) * 2.0**-53


def draw_labels(probs: FloatArray, keys: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Return a class for each row and key, (n, B): the first whose cumulative probability exceeds a uniform number.

    The last class that is possible takes what rounding leaves above the cumulative sum.
    """
    uniform, labels = draw_uniform(keys, len(probs)), np.zeros((len(probs), len(keys)), dtype=np.int32)
    cumulative = np.cumsum(probs, axis=1)
    if probs.shape[1] <= FEW_CLASSES:
        for k in range(probs.shape[1] - 1):
            labels += uniform >= cumulative[:, k : k + 1]
    else:
        for row, ascending, own in zip(labels, cumulative, uniform, strict=True):
            row[:] = np.searchsorted(ascending, own, side="right")
    last = probs.shape[1] - 1 - (probs[:, ::-1] > 0).argmax(axis=1)
    return np.minimum(labels, last[:, None], dtype=np.int32)


def feature_errors(labels: NDArray[np.integer], features: FloatArray, means: FloatArray) -> FloatArray:
    """Return the squared distance between the sums of features by class and their means, for labels (n, B)."""
    from scipy.sparse import csc_array

    (n, n_keys), n_classes = labels.shape, len(means)
    together, errors = max(1, min(_SUMS // means.size, _CELLS // n)), np.empty(n_keys)
    for first in range(0, n_keys, together):
        own = labels[:, first : first + together]
        width = own.shape[1]
        # A column for each row of the data, with a one for its class in each redraw.
        classes, starts = (own + n_classes * np.arange(width)).ravel(), np.arange(0, n * width + 1, width)
        chosen = csc_array((np.ones(n * width), classes, starts), shape=(width * n_classes, n))
        gaps = (chosen @ features).reshape(width, -1) - means.ravel()
        errors[first : first + width] = np.einsum("bk,bk->b", gaps, gaps)
    return errors
