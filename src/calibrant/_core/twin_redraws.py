"""Labels drawn from predictions, in plain NumPy: the twin of `redraws`.

Each redraw has a key, from which the random numbers of SplitMix64 follow, one per row.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.twin_draws import GOLDEN, mix

Floats = NDArray[np.float64]

FEW_CLASSES = 16
"""Up to this many classes, a number is compared with each of them."""


def draw_uniform(keys: NDArray[np.uint64], n: int) -> Floats:
    """Return a uniform number in [0, 1) for each of n rows and each key, (n, B)."""
    steps = np.arange(1, n + 1, dtype=np.uint64) * GOLDEN
    bits = mix(keys + steps[:, None]) >> np.uint64(11)
    return bits.astype(np.float64) * 2.0**-53


def draw_labels(probs: Floats, keys: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Return a class of each row, (n, B): the first whose cumulative probability exceeds the uniform number.

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


def feature_errors(labels: NDArray[Any], features: Floats, means: Floats) -> Floats:
    """Return the squared distance of the sums of features by class from their means, for labels of shape (n, B)."""
    errors = np.empty(labels.shape[1])
    for b, own in enumerate(labels.T):
        order = np.argsort(own, kind="stable")
        classes, starts = np.unique(own[order], return_index=True)
        gaps = -means
        gaps[classes] += np.add.reduceat(features[order], starts, axis=0)
        errors[b] = np.vdot(gaps, gaps)
    return errors
