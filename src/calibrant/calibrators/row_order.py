"""Rows whose entries keep their order."""

import numpy as np

from calibrant._typing import FloatArray

SMALLEST_GAP = 2.0**-21
"""Classes that differ stay this far apart in log-probability: four steps of single precision."""


def keep_order(values: FloatArray, originals: FloatArray) -> FloatArray:
    """Raise values, row by row and as little as possible, until they are ordered as the originals are.

    Examples
    --------
    >>> (keep_order(np.array([[2.0, 2.0, 1.0]]), np.array([[3.0, 5.0, 5.0]])) - 2 > 0).tolist()
    [[False, True, True]]
    """
    order = np.argsort(originals, axis=1)
    ascending = np.take_along_axis(originals, order, axis=1)
    larger = np.zeros(order.shape)
    larger[:, 1:] = ascending[:, 1:] > ascending[:, :-1]
    climb = SMALLEST_GAP * np.cumsum(larger, axis=1)
    # Ties are adjacent and share their climb; the last of them has seen all of them.
    raised = np.maximum.accumulate(np.take_along_axis(values, order, axis=1) - climb, axis=1)
    last_of_ties = np.minimum.accumulate(
        np.where(np.roll(larger, -1, axis=1) > 0, np.arange(order.shape[1]), order.shape[1] - 1)[:, ::-1], axis=1
    )[:, ::-1]
    result = np.empty(order.shape)
    np.put_along_axis(result, order, np.take_along_axis(raised, last_of_ties, axis=1) + climb, axis=1)
    return result
