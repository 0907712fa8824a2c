"""Valid data that looks suspicious."""

import math
from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._border.checks import SUM_TOLERANCE
from calibrant._typing import BoolArray, FloatArray, IntArray

ENOUGH_ROWS = 50
"""Below this many rows, what `suspicions` would warn of may well be chance."""

MANY_ROWS = 1000
"""Below this many rows, labels that look shuffled may belong to a model that learnt nothing."""


def suspicions(
    probs: FloatArray, predicted: IntArray, labels: IntArray, weights: FloatArray, classes: tuple[Hashable, ...]
) -> Iterator[str]:
    """Yield what is worth a warning in valid data; rows of weight 0 count as absent."""
    used = weights > 0
    if not used.all():
        probs, predicted, labels, weights = probs[used], predicted[used], labels[used], weights[used]
    n_samples, n_classes = probs.shape
    tops = probs[np.arange(n_samples), predicted]
    if n_samples > 1 and np.all(tops == 1) and np.all((probs == 0) | (probs == 1)):
        yield "every probability is exactly 0 or 1: these are decisions without information about probabilities."
    if n_samples < n_classes and n_classes > 2:
        yield f"there are fewer rows ({n_samples}) than classes ({n_classes}): every estimate is imprecise."
    elif n_samples >= ENOUGH_ROWS:
        yield from _about_labels(predicted == labels, np.bincount(labels, minlength=n_classes), weights, classes)
        yield from _about_order(tops, n_classes, predicted, labels)
        yield from _about_copies(probs, labels)


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


def _about_order(tops: FloatArray, n_classes: int, predicted: IntArray, labels: IntArray) -> Iterator[str]:
    """Warn of labels that fit the predictions no better than shuffled ones, although the confidence is much higher."""
    n_samples = len(tops)
    if n_samples < MANY_ROWS:
        return
    shares = [np.bincount(rows, minlength=n_classes) / n_samples for rows in (predicted, labels)]
    shuffled = float(shares[0] @ shares[1])
    accuracy = float(np.mean(predicted == labels))
    promised = float(tops.mean())
    error = np.sqrt(shuffled * (1 - shuffled) / n_samples)
    several = np.sort(shares[0])[-2] > 0.1  # With one predicted class, shuffling does not change the accuracy.
    if several and abs(accuracy - shuffled) < 2 * error and promised - accuracy > max(0.2, 4 * error):
        yield (
            f"the accuracy {accuracy:.3g} is what shuffled labels would give ({shuffled:.3g}), but the confidence is "
            f"{promised:.3g} on average: make sure that the rows of probs and labels are in the same order."
        )


def _about_copies(probs: FloatArray, labels: IntArray) -> Iterator[str]:
    """Warn if the counts of all distinct rows have a common factor; other copies may be discrete predictions."""
    times = 0
    for row in range(min(5, len(probs))):  # Nearly always this is enough to see that nothing was copied.
        times = math.gcd(times, int(np.sum((labels == labels[row]) & np.all(probs == probs[row], axis=1))))
        if times == 1:
            return
    distinct, counts = np.unique(np.column_stack([probs, labels]), axis=0, return_counts=True)
    times = int(np.gcd.reduce(counts))
    # Counts of n independent draws of d distinct rows are all even with a probability of about 2**-d.
    if times > 1 and len(np.unique(distinct[:, :-1], axis=0)) >= 10:
        yield (
            f"every row occurs {times} times, or a multiple of it: copies are not independent, so intervals and "
            "p-values would be too small. Drop them, or pass how often each row occurs as weights."
        )


def look_like_probabilities(logits: NDArray[Any]) -> bool:
    """Whether logits look so much like probabilities that they may have been confused."""
    if len(logits) < 2 or logits.min() < 0 or logits.max() > 1:
        return False
    if logits.ndim == 1 or logits.shape[1] == 1:
        return len(logits) >= ENOUGH_ROWS
    return bool(np.all(np.abs(logits.sum(axis=1, dtype=np.float64) - 1) < SUM_TOLERANCE))
