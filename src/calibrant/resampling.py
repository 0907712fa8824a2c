"""Redraws: what the data would look like if the predictions were right."""

from collections.abc import Iterator

import numpy as np

from calibrant._typing import FloatArray, IntArray, Progress
from calibrant.predictions import Predictions

BLOCK_CELLS = 4_000_000
"""Replicates are drawn in blocks of at most this many labels, so memory does not grow with their number."""


def redraw_labels(
    predictions: Predictions, n_resamples: int, rng: np.random.Generator, *, progress: Progress | None = None
) -> Iterator[IntArray]:
    """Yield blocks of class indices, (n, block), each column drawn from the predictions.

    The draws depend on the seed alone, not on the size of the blocks.
    """
    cumulative = np.cumsum(predictions.probs, axis=1)
    block = max(1, BLOCK_CELLS // predictions.n_samples)
    done = 0
    while done < n_resamples:
        size = min(block, n_resamples - done)
        uniform = rng.random((size, predictions.n_samples)).T
        yield _invert(cumulative, uniform)
        done += size
        if progress is not None:
            progress(done, n_resamples)


def _invert(cumulative: FloatArray, uniform: FloatArray) -> IntArray:
    """Return the first class whose cumulative probability exceeds the uniform draw."""
    labels = np.zeros(uniform.shape, dtype=np.int64)
    # The last class takes what rounding leaves above the cumulative sum.
    for k in range(cumulative.shape[1] - 1):
        labels += uniform >= cumulative[:, k : k + 1]
    return labels
