"""Valid data that looks suspicious."""

import math
from collections.abc import Hashable, Iterator

import numpy as np
from numpy.typing import NDArray

from calibrant._border.checks import SUM_TOLERANCE
from calibrant._border.numerals import significant
from calibrant._border.types import BoolArray, FloatArray, IntArray

LEAST_ROWS = 50
"""With fewer rows, anything suspicious may well be chance."""

MANY_ROWS = 1000
"""With fewer rows, labels that look shuffled may come from a model that learnt nothing."""


def suspicions(
    probs: FloatArray, predicted: IntArray, labels: IntArray, weights: FloatArray, classes: tuple[Hashable, ...]
) -> Iterator[str]:
    """Yield warnings about valid data; rows of weight 0 count as absent."""
    if not weights.all():
        used = weights > 0
        probs, predicted, labels, weights = probs[used], predicted[used], labels[used], weights[used]
    n_samples, n_classes = probs.shape
    tops = np.maximum(probs[:, 0], probs[:, 1]) if n_classes == 2 else probs[np.arange(n_samples), predicted]
    if n_samples > 1 and tops.min() == 1 and np.all((probs == 0) | (probs == 1)):
        yield "every probability is exactly 0 or 1: these are decisions without information about probabilities."
    if n_samples < n_classes and n_classes > 2:
        yield f"there are fewer rows ({n_samples}) than classes ({n_classes}): every estimate is imprecise."
    elif n_samples >= LEAST_ROWS:
        hits = predicted == labels
        counts = np.bincount(labels, minlength=n_classes)
        yield from _about_labels(hits, counts, weights, classes)
        yield from _about_order(tops, hits, np.bincount(predicted, minlength=n_classes), counts)
        yield from _about_copies(probs, predicted, labels)


def _about_labels(
    hits: BoolArray, counts: IntArray, weights: FloatArray, classes: tuple[Hashable, ...]
) -> Iterator[str]:
    rare = np.flatnonzero(counts < 2)
    if len(rare):
        often = "never occurs" if counts[rare[0]] == 0 else "occurs once"
        others = f" ({len(rare)} of {len(counts)} classes occur less than twice)" if len(rare) > 1 else ""
        yield f"class {classes[rare[0]]!r} {often} among the labels{others}: little can be said about it."
    chance = 1 / len(counts)
    equal = weights.min() == weights.max()  # The weighted mean would take ten times as long.
    accuracy = float(hits.mean() if equal else np.average(hits, weights=weights))
    if hits.all():
        yield "every row is predicted correctly: make sure that the labels did not leak into the predictions."
    elif accuracy + 4 * np.sqrt(chance / len(hits)) < chance:
        yield (
            f"the accuracy {significant(accuracy)} is below chance ({significant(chance)}): "
            "make sure that the columns of probs are in the order of the classes."
        )


def _about_order(tops: FloatArray, hits: BoolArray, predicted: IntArray, observed: IntArray) -> Iterator[str]:
    """Warn if the labels fit no better than shuffled ones although the confidence is much higher."""
    n_samples = len(tops)
    if n_samples < MANY_ROWS:
        return
    shuffled = float((predicted / n_samples) @ (observed / n_samples))
    accuracy = float(np.mean(hits))
    promised = float(tops.mean())
    error = np.sqrt(shuffled * (1 - shuffled) / n_samples)
    several = (
        np.sort(predicted)[-2] > 0.1 * n_samples
    )  # With one predicted class, shuffling does not change the accuracy.
    if several and abs(accuracy - shuffled) < 2 * error and promised - accuracy > max(0.2, 4 * error):
        yield (
            f"the accuracy {significant(accuracy)} is what shuffled labels would give "
            f"({significant(shuffled)}), but the confidence is {significant(promised)} on average: make sure "
            "that the rows of probs and labels are in the same order."
        )


def _about_copies(probs: FloatArray, predicted: IntArray, labels: IntArray) -> Iterator[str]:
    """Warn if the counts of all distinct rows have a common factor; other copies may be discrete predictions."""
    times = 0
    for row in range(min(5, len(probs))):  # Nearly always enough to see that nothing was copied.
        top = predicted[row]
        alike = np.flatnonzero(probs[:, top] == probs[row, top])
        same = np.all(probs[alike] == probs[row], axis=1) & (labels[alike] == labels[row])
        times = math.gcd(times, int(same.sum()))
        if times == 1:
            return
    _, first, counts = np.unique(_as_bytes(np.column_stack([probs, labels])), return_index=True, return_counts=True)
    times = int(np.gcd.reduce(counts))
    # Counts of n independent draws of d distinct rows are all even with a probability of about 2**-d.
    if times > 1 and len(np.unique(_as_bytes(probs[first]))) >= 10:
        yield (
            f"every row occurs {times} times, or a multiple of it: copies are not independent, so intervals and "
            "p-values would be too small. Drop them, or pass how often each row occurs as weights."
        )


def _as_bytes(rows: FloatArray) -> NDArray[np.void]:
    """Return every row as one string of bytes, (n,), for fast comparison; -0.0 becomes 0.0."""
    positive = np.ascontiguousarray(rows + 0.0)
    return positive.view(f"V{positive.itemsize * positive.shape[1]}").ravel()


def look_like_probabilities(logits: NDArray[np.number]) -> bool:
    """Whether logits look so much like probabilities that they were probably confused."""
    if len(logits) < 2 or logits.min() < 0 or logits.max() > 1:
        return False
    if logits.ndim == 1 or logits.shape[1] == 1:
        return len(logits) >= LEAST_ROWS
    return bool(np.all(np.abs(logits.sum(axis=1, dtype=np.float64) - 1) < SUM_TOLERANCE))
