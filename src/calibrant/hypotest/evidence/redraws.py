"""The statistics of many redraws of the labels, in the way that costs least."""

from collections.abc import Iterator, Sequence

import numpy as np

from calibrant._typing import FloatArray, IntArray, Progress
from calibrant.hypotest.evidence.base import Evidence
from calibrant.hypotest.evidence.line import LineEvidence
from calibrant.predictions import Predictions
from calibrant.resampling import redraw_labels

CELLS = 500_000
"""Labels are worked on in blocks of about so many."""


def redrawn_statistics(
    view: Predictions,
    evidence: Sequence[Evidence],
    n_resamples: int,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> Iterator[FloatArray]:
    """Yield blocks of statistics, (parts, block), of labels drawn from the predictions."""
    line = evidence[0]
    if isinstance(line, LineEvidence) and line.is_fine:
        yield from _by_counts(line, n_resamples, rng, progress)
        return
    for labels in redraw_labels(view, n_resamples, rng, progress=progress):
        for block in _blocks(labels, view.n_classes):
            yield np.concatenate([one.statistics(block) for one in evidence])


def _by_counts(
    line: LineEvidence, n_resamples: int, rng: np.random.Generator, progress: Progress | None
) -> Iterator[FloatArray]:
    """Draw how many events each cell has; impossible labels are never drawn."""
    for counts in line.cells.draw(n_resamples, rng, progress):
        found = [np.abs(values).max(axis=0) for values in line.of_counts(counts)]
        yield np.stack([*found, np.zeros(counts.shape[1])])


def _blocks(labels: IntArray, n_classes: int) -> Iterator[IntArray]:
    """Split columns into blocks that need little memory beside the labels themselves."""
    width = max(1, CELLS // max(len(labels), n_classes))
    return (labels[:, b : b + width] for b in range(0, labels.shape[1], width))
