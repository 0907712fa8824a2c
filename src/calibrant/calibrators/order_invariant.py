"""Segments between the ranks of a row: what order-invariant maps are made of."""

import numpy as np

from calibrant._typing import FloatArray, IntArray
from calibrant.calibrators.segments import Segments, roughness


def rank_segments(scores: FloatArray, ranks: IntArray) -> Segments:
    """Return segments that reach from the log-probability at one rank of a row to that at another.

    The slope of a segment goes from one learnt number to another as the confidence of the row, its largest probability,
    goes from 0 to 1.

    Parameters
    ----------
    scores : ndarray of shape (n, K)
        Finite log-probabilities.
    ranks : ndarray of shape (g + 1,)
        Where segments meet, from 0, the rank of the largest, to K - 1.
    """
    ascending = scores.shape[1] - 1 - ranks
    knots = np.partition(scores, ascending, axis=1)[:, ascending].T
    confidence = np.exp(knots[0])
    return Segments(scores, knots[:, :, None], np.stack([1.0 - confidence, confidence]))


def rank_knots(n_classes: int, n_segments: int) -> IntArray:
    """Return the ranks from 0 to K - 1 at which segments meet: single steps first, then longer and longer ones.

    Examples
    --------
    >>> rank_knots(10, 8).tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 9]
    >>> rank_knots(1000, 8).tolist()
    [0, 1, 4, 11, 28, 69, 169, 411, 999]
    """
    ends = [1]
    for left in range(min(n_segments, n_classes - 1), 0, -1):
        ends.append(max(ends[-1] + 1, round(ends[-1] * (n_classes / ends[-1]) ** (1 / left))))
    return np.array(ends) - 1


def rank_roughness(n_segments: int) -> FloatArray:
    """Return the matrix of the penalty: differences of neighbouring segments, and of the two ends of a slope."""
    between_ends = np.kron([[1.0, -1.0], [-1.0, 1.0]], np.eye(n_segments))
    return np.kron(np.eye(2), roughness(n_segments)) + between_ends
