"""Cross-validation folds that depend on the content of the rows, not their order, and treat weights as copies."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._border.types import FloatArray, IntArray
from calibrant._core.progress import portion, tell
from calibrant.calibrators.combinations.shared_stages import SharedStages
from calibrant.calibrators.fitting.log_odds import finite

_FINE, _COARSE = 2.0**20, 2.0**10
"""Scores are rounded to multiples of the inverse, so that rounding errors do not change the folds."""

_ROUNDING = 1e-9
"""A share of a row below this counts as 0."""

RARE = 3
"""Classes with at most this many rows are dealt first, so that every training set contains each of them."""


def fold_masses(log_probs: FloatArray, labels: IntArray, weights: FloatArray, n_folds: int) -> FloatArray:
    """Return how much of the weight of each row, which is positive, belongs to each fold, (n_folds, n).

    The rows are sorted by a hash of their scores, which does not depend on the order of rows or classes, and dealt to
    the folds in turn. The order is as good as random, but a second fit has the same folds. Classes with at most three
    rows come first, class by class, so that their rows are in different folds and every training set knows the class.

    The order must not be by score or by class. Each fold would then be nearly a copy of the others, and would not
    show how much a map depends on its rows. If every fold had the same class frequencies, these would seem to be known
    exactly, and a map with a parameter per class would count chance in them as a gain.

    A row of weight w is dealt like w copies: with w = 2, it is in two folds with weight 1 each. If the mean weight is
    below 1, it is the unit of dealing.

    Examples
    --------
    >>> masses = fold_masses(np.log(np.full((4, 2), 0.5)), np.array([0, 1, 1, 1]), np.array([1.0, 1.0, 1.0, 2.0]), 5)
    >>> masses.sum(axis=1).tolist(), masses.sum(axis=0).tolist()
    ([1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 2.0])
    """
    unit = min(1.0, float(weights.mean()))
    order = _order(finite(log_probs), labels, weights / unit)
    masses = np.empty((n_folds, len(labels)))
    units = weights[order] / unit
    ends = np.cumsum(units)
    starts = np.append(0.0, ends[:-1])
    for fold in range(n_folds):
        dealt = _dealt(ends, fold, n_folds) - _dealt(starts, fold, n_folds)
        dealt[dealt < _ROUNDING * units] = 0.0
        whole = dealt > (1.0 - _ROUNDING) * units
        masses[fold, order] = np.where(whole, weights[order], unit * dealt)
    return masses


def _dealt(up_to: FloatArray, fold: int, n_folds: int) -> FloatArray:
    """Return the units that a fold receives when the first `up_to` units are dealt to the folds in turn."""
    rounds = np.floor(up_to / n_folds)
    return rounds + np.clip(up_to - n_folds * rounds - fold, 0.0, 1.0)


def _order(scores: FloatArray, labels: IntArray, units: FloatArray) -> IntArray:
    """Return the order of dealing: first rare classes, by their number of units, then all other rows, by hash."""
    n_classes = scores.shape[1]
    own = np.round(scores[np.arange(len(labels)), labels] * _FINE).astype(np.int64)
    total = np.round(scores.sum(axis=1) * _COARSE).astype(np.int64)
    hashes = _mixed(_mixed(own.view(np.uint64)) + total.view(np.uint64))
    first = np.full(n_classes, np.iinfo(np.uint64).max, dtype=np.uint64)
    np.minimum.at(first, labels, hashes)
    totals, ranks = np.bincount(labels, units, n_classes), np.empty(n_classes, dtype=np.int64)
    ranks[np.lexsort([first, totals])] = np.arange(n_classes)
    by_class = np.where(totals < RARE + 0.5, ranks, n_classes)
    # Rows whose scores are permutations of each other can have the same hash; this tells them apart.
    apart = scores @ np.sqrt(np.arange(2.0, n_classes + 2.0))
    return np.lexsort([apart, ranks[labels], hashes, by_class[labels]])


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return 64-bit hashes in which each bit depends on all bits of the input (the finaliser of SplitMix64)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


SUFFICIENT_ROWS = 5000
"""Number of rows, not used to fit the members, that suffices to learn a few weights and a map."""


class Unseen(NamedTuple):
    """Out-of-fold log-probabilities of each member, (r, K), and the labels and weights of their rows."""

    log_probs: Sequence[FloatArray]
    labels: IntArray
    masses: FloatArray


def out_of_fold(
    whole: SharedStages, log_probs: FloatArray, labels: IntArray, weights: FloatArray, n_folds: int
) -> Unseen:
    """Return the predictions, for rows that they were not fitted to, of members that are fitted to all rows."""
    found: list[list[FloatArray]] = [[np.empty((0, log_probs.shape[1]))] for _ in whole.members]
    owners, masses = [np.empty(0, dtype=labels.dtype)], [np.empty(0)]
    for done, held_out in enumerate(fold_masses(log_probs, labels, weights, n_folds)):
        rest = weights - held_out
        rows, others = held_out > 0, rest > 0
        if sum(map(len, owners)) >= SUFFICIENT_ROWS or not rows.any() or not others.any():
            continue
        part = SharedStages(whole.members, near=whole)
        with portion(done, n_folds):
            part.learn(log_probs[others], labels[others], rest[others])
        tell(done + 1, n_folds)
        for outputs, result in zip(found, part.transform(log_probs[rows]), strict=True):
            outputs.append(result)
        owners.append(labels[rows])
        masses.append(held_out[rows])
    return Unseen([np.concatenate(outputs) for outputs in found], np.concatenate(owners), np.concatenate(masses))
