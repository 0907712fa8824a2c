"""Redraws: labels and targets drawn from the predictions, as if these were right."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from calibrant._border.types import BoolArray, Evaluator, FloatArray, IntArray, Progress
from calibrant.exceptions import InputError
from calibrant.forecasts import Forecasts
from calibrant.predictions import Predictions

BLOCK_CELLS = 2**19
"""Largest number of labels drawn at a time: few enough that memory is reused, not allocated anew."""

CACHED_LABELS, FEWEST_COLUMNS = 2**15, 64
"""Number of labels that stay in the cache until they are used; least number of columns drawn together."""

MANY_CLASSES = 16
"""With more classes than this a label is found by bisection, otherwise by comparison with every class."""

CACHED_CELLS = 2**16
"""Number of drawn row indices that stay in the cache until they are counted."""

LONG = 2**12
"""Least number of rows per block: with fewer, cutting takes longer than what the cache saves."""


def draw_counts(n: int, n_resamples: int, rng: np.random.Generator) -> FloatArray:
    """Draw multinomial counts, (n, B): how often each of n rows occurs in each bootstrap sample.

    Counting drawn row numbers is several times faster than drawing the counts themselves. The draws depend on the seed
    alone, and not on how many samples are drawn together.
    """
    counts = np.empty((n_resamples, n))
    together = max(1, CACHED_CELLS // n)
    for start in range(0, n_resamples, together):
        part = counts[start : start + together]
        rows = rng.integers(0, n, size=part.shape)
        rows += n * np.arange(len(part))[:, None]
        part[:] = np.bincount(rows.ravel(), minlength=part.size).reshape(part.shape)
    return counts.T


def in_blocks(evaluate: Evaluator, width: int) -> Evaluator:
    """Return the evaluator that takes its columns a block at a time, so that memory stays bounded."""

    def blocked(columns: NDArray[np.generic]) -> FloatArray:
        blocks = [evaluate(columns[:, b : b + width]) for b in range(0, columns.shape[1], width)]
        return np.concatenate(blocks)

    return blocked


def redraw_labels(
    predictions: Predictions, n_resamples: int, rng: np.random.Generator, *, progress: Progress | None = None
) -> Iterator[IntArray]:
    """Yield blocks of class indices, (n, block), each column drawn from the predictions.

    The draws depend on the seed alone, not on the size of the blocks.
    """
    cumulative = np.cumsum(predictions.probs, axis=1)
    draw = _bisect if predictions.n_classes > MANY_CLASSES else _invert
    for uniform in _uniform(predictions, n_resamples, rng, progress):
        yield draw(cumulative, uniform)


def redraw_events(
    view: Predictions, n_resamples: int, rng: np.random.Generator, *, progress: Progress | None = None
) -> Iterator[BoolArray]:
    """Yield the labels of `redraw_labels` for binary predictions, (n, block), as whether each is class 1."""
    others = view.probs[:, :1]
    for uniform in _uniform(view, n_resamples, rng, progress):
        yield uniform >= others


def _uniform(
    predictions: Predictions, n_resamples: int, rng: np.random.Generator, progress: Progress | None
) -> Iterator[FloatArray]:
    """Yield blocks of uniform numbers, (n, block), each of which is overwritten by the next."""
    if predictions.copies is not None:
        raise InputError(
            "labels of a sketch cannot be redrawn, because it does not hold single rows. Read the rows themselves, or "
            "use a metric that needs only the number of events in each cell."
        )
    n = predictions.n_samples
    block = max(1, min(BLOCK_CELLS // n, max(CACHED_LABELS // n, FEWEST_COLUMNS)))
    room = np.empty((min(block, n_resamples), n))
    for start in range(0, n_resamples, block):
        some = room[: n_resamples - start]
        rng.random(out=some)
        yield some.T
        if progress is not None:
            progress(start + len(some), n_resamples)


def redraw_targets(
    forecasts: Forecasts, n_resamples: int, rng: np.random.Generator, *, progress: Progress | None = None
) -> Iterator[FloatArray]:
    """Yield blocks of targets, (n, block) or (n, block, d), each column drawn from the forecasts."""
    block = max(1, min(n_resamples // 20, BLOCK_CELLS // forecasts.n_samples))
    for start in range(0, n_resamples, block):
        size = min(block, n_resamples - start)
        yield forecasts.distribution.sample(rng, size)
        if progress is not None:
            progress(start + size, n_resamples)


def redrawn_values(
    evaluate: Evaluator,
    data: Predictions | Forecasts,
    n_resamples: int,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> FloatArray:
    """Return B values of a function of labels, or of targets of forecasts, that are drawn from the predictions."""
    if isinstance(data, Forecasts):
        found = [evaluate(targets) for targets in redraw_targets(data, n_resamples, rng, progress=progress)]
    else:
        found = [evaluate(labels) for labels in redraw_labels(data, n_resamples, rng, progress=progress)]
    return np.concatenate(found)


def _invert(cumulative: FloatArray, uniform: FloatArray) -> IntArray:
    """Return the first class whose cumulative probability exceeds the uniform draw."""
    draws = uniform.T  # Contiguous in memory.
    labels = np.zeros(draws.shape, dtype=np.int8)
    together = max(LONG, CACHED_CELLS // len(draws))
    for start in range(0, len(cumulative), together):
        rows = slice(start, start + together)
        # The last class takes what rounding leaves above the cumulative sum.
        for ends in np.ascontiguousarray(cumulative[rows, :-1].T):
            labels[:, rows] += draws[:, rows] >= ends
    return labels.T.astype(np.int64)


def _bisect(cumulative: FloatArray, uniform: FloatArray) -> IntArray:
    """Return what `_invert` does, by bisection, in time O(log K) per label."""
    labels = np.empty(uniform.shape, dtype=np.int64)
    n, n_classes = cumulative.shape
    together = max(1, CACHED_CELLS // uniform.shape[1])
    for start in range(0, n, together):
        rows = slice(start, start + together)
        labels[rows] = _count_below(cumulative[rows, : n_classes - 1], np.ascontiguousarray(uniform[rows]))
    return labels


def _count_below(ascending: FloatArray, values: FloatArray) -> IntArray:
    """Return how many numbers of its row, (n, m), are at or below each value, (n, B)."""
    n, m = ascending.shape
    before = m * np.arange(n)[:, None] - 1
    flat, found = ascending.ravel(), np.zeros(values.shape, dtype=np.int64)
    step = 1 << (m.bit_length() - 1)
    while step:
        tried = found + step
        inside = tried <= m
        found = np.where(inside & (flat.take(np.minimum(tried, m) + before) <= values), tried, found)
        step >>= 1
    return found
