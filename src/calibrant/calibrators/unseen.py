"""What calibrators say of rows that they were not fitted to."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from calibrant._typing import FloatArray, IntArray
from calibrant.calibrators.folds import fold_masses
from calibrant.calibrators.shared_stages import SharedStages

ENOUGH_ROWS = 5000
"""Number of rows, not used to fit the members, that suffices to learn a few weights and a map."""


class Unseen(NamedTuple):
    """What members say of rows that they were not fitted to, (r, K) each, and labels and weights of the rows."""

    log_probs: Sequence[FloatArray]
    labels: IntArray
    masses: FloatArray


def out_of_fold(
    whole: SharedStages, log_probs: FloatArray, labels: IntArray, weights: FloatArray, n_folds: int
) -> Unseen:
    """Return what members say of rows that they were not fitted to.

    Parameters
    ----------
    whole : SharedStages
        The members, fitted to all rows.
    log_probs, labels, weights : arrays with n rows
    n_folds : int
    """
    found: list[list[FloatArray]] = [[np.empty((0, log_probs.shape[1]))] for _ in whole.members]
    owners, masses = [np.empty(0, dtype=labels.dtype)], [np.empty(0)]
    for held_out in fold_masses(log_probs, labels, weights, n_folds):
        rest = weights - held_out
        rows, others = held_out > 0, rest > 0
        if sum(map(len, owners)) >= ENOUGH_ROWS or not rows.any() or not others.any():
            continue
        part = SharedStages(whole.members, near=whole)
        part.learn(log_probs[others], labels[others], rest[others])
        for outputs, result in zip(found, part.transform(log_probs[rows]), strict=True):
            outputs.append(result)
        owners.append(labels[rows])
        masses.append(held_out[rows])
    return Unseen([np.concatenate(outputs) for outputs in found], np.concatenate(owners), np.concatenate(masses))
