"""What is worth a second look in data that is valid."""

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import SUM_TOLERANCE
from calibrant._typing import BoolArray, FloatArray, IntArray

ENOUGH_ROWS = 50
"""Below this many rows, what `suspicions` would remark on may well be chance."""


def suspicions(
    probs: FloatArray, predicted: IntArray, labels: IntArray, weights: FloatArray, classes: tuple[Hashable, ...]
) -> Iterator[str]:
    """Yield what is worth a warning in valid data; rows of weight 0 count as absent."""
    used = weights > 0
    if not used.all():
        probs, predicted, labels, weights = probs[used], predicted[used], labels[used], weights[used]
    n_samples, n_classes = probs.shape
    if n_samples > 1 and np.all(probs[np.arange(n_samples), predicted] == 1) and np.all((probs == 0) | (probs == 1)):
        yield "every probability is exactly 0 or 1: these are decisions, they hold no probability information."
    if n_samples < n_classes and n_classes > 2:
        yield f"there are fewer rows ({n_samples}) than classes ({n_classes}): every estimate is rough."
    elif n_samples >= ENOUGH_ROWS:
        yield from _about_labels(predicted == labels, np.bincount(labels, minlength=n_classes), weights, classes)


def _about_labels(
    hits: BoolArray, counts: IntArray, weights: FloatArray, classes: tuple[Hashable, ...]
) -> Iterator[str]:
    rare = np.flatnonzero(counts < 2)
    if len(rare):
        often = "never occurs" if counts[rare[0]] == 0 else "occurs once"
        others = f" ({len(rare)} of {len(counts)} classes occur less than twice)" if len(rare) > 1 else ""
        yield f"class {classes[rare[0]]!r} {often} among the labels{others}: little can be said about it."
    chance = 1 / len(counts)
    accuracy = float(np.average(hits, weights=weights))
    if hits.all():
        yield "every row is predicted correctly: make sure that the labels did not leak into the predictions."
    elif accuracy + 4 * np.sqrt(chance / len(hits)) < chance:
        yield (
            f"the accuracy {accuracy:.3g} is below chance ({chance:.3g}): "
            "make sure that the columns of probs are in the order of the classes."
        )


def look_like_probabilities(logits: NDArray[Any]) -> bool:
    """Whether logits are so much like probabilities that somebody may have mixed them up."""
    if len(logits) < 2 or logits.min() < 0 or logits.max() > 1:
        return False
    if logits.ndim == 1 or logits.shape[1] == 1:
        return len(logits) >= ENOUGH_ROWS
    return bool(np.all(np.abs(logits.sum(axis=1, dtype=np.float64) - 1) < SUM_TOLERANCE))
