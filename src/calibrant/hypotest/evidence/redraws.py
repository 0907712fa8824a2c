"""The statistics of many redraws of the labels, in the way that costs least."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from calibrant._border.types import FloatArray, Progress
from calibrant._core.library import library
from calibrant._core.redraws import Rows
from calibrant._core.twin_draws import draw_labels
from calibrant.hypotest.evidence.classes import ClassEvidence
from calibrant.hypotest.evidence.kernel import KernelEvidence
from calibrant.hypotest.evidence.line import LineEvidence
from calibrant.hypotest.evidence.parts import Evidence
from calibrant.hypotest.evidence.ranked import RankedEvidence
from calibrant.predictions import Predictions

CELLS = 500_000
"""Approximate number of labels per block."""

KEYS = 2**16
"""Redraws that are planned at a time."""


def redrawn_statistics(
    view: Predictions,
    evidence: Sequence[Evidence],
    n_resamples: int,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> Iterator[FloatArray]:
    """Yield blocks of statistics, (parts, block), of labels drawn from the predictions."""
    blocks, done = _ways(view, evidence, n_resamples, rng), 0
    for block in blocks:
        yield block
        done += block.shape[1]
        if progress is not None:
            progress(done, n_resamples)


def _ways(
    view: Predictions, evidence: Sequence[Evidence], n_resamples: int, rng: np.random.Generator
) -> Iterator[FloatArray]:
    match evidence:
        case (LineEvidence() as line, _) if line.is_fine:
            return _by_counts(line, n_resamples, rng)
        case (ClassEvidence() as classes, RankedEvidence() as ranked, KernelEvidence() as kernel, _) if library():
            return _by_sums(classes, ranked, kernel, _keys(n_resamples, rng))
        case _:
            return _by_labels(view, evidence, _keys(n_resamples, rng))


def _keys(n_resamples: int, rng: np.random.Generator) -> Iterator[NDArray[np.uint64]]:
    """Yield a number per redraw, some at a time: all at once would take long if there are millions."""
    for start in range(0, n_resamples, KEYS):
        yield rng.integers(0, 2**64, size=min(KEYS, n_resamples - start), dtype=np.uint64)


def _by_counts(line: LineEvidence, n_resamples: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Draw how many events each cell has."""
    return (_largest(line.of_counts(counts)) for counts in line.cells.draw(n_resamples, rng))


def _by_sums(
    classes: ClassEvidence, ranked: RankedEvidence, kernel: KernelEvidence, keys: Iterator[NDArray[np.uint64]]
) -> Iterator[FloatArray]:
    """Draw labels and add up all that the statistics are made of in one pass over the rows."""
    rows = Rows(classes.probs, classes.weights, ranked.top, ranked.second, ranked.bins, kernel.features, kernel.means)
    for sums in (found for some in keys for found in rows.redraw(some)):
        of_classes = classes.of_sums(sums.logs, sums.weights, sums.odds)
        yield _largest([*of_classes, *ranked.of_sums(sums.hits, sums.seconds), *kernel.of_errors(sums.errors)])


def _largest(components: Sequence[FloatArray]) -> FloatArray:
    """Return the value of each part, and that of impossible labels, which are never drawn."""
    values = [np.abs(found).max(axis=0) for found in components]
    return np.stack([*values, np.zeros_like(values[0])])


def _by_labels(
    view: Predictions, evidence: Sequence[Evidence], keys: Iterator[NDArray[np.uint64]]
) -> Iterator[FloatArray]:
    """Draw the labels themselves."""
    width = max(1, CELLS // max(view.n_samples, view.n_classes))
    for block in (some[start : start + width] for some in keys for start in range(0, len(some), width)):
        labels = draw_labels(view.probs, block).astype(np.int64)
        yield np.concatenate([one.statistics(labels) for one in evidence])
