"""Sums in bins, in one pass over the values: compiled, or in NumPy.

Bins are given by the largest value of each but the last, ascending, (n_bins - 1,). Both add in the order of the rows.
"""

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant._core.library import Matrix, library


def bin_index(values: FloatArray, last: FloatArray) -> IntArray:
    """Return the bin of every value, (n,).

    Examples
    --------
    >>> bin_index(np.array([0.0, 0.5, 0.6]), np.array([0.5])).tolist()
    [0, 0, 1]
    """
    core = library()
    if core is None:
        return np.searchsorted(last, values, side="left").astype(np.int64, copy=False)
    index = np.empty(len(values), dtype=np.int64)
    core.bin_index(Matrix.view(values[:, None]), last, len(values), len(last) + 1, index)
    return index


def bin_sums(values: FloatArray, weights: FloatArray, labels: IntArray, last: FloatArray) -> FloatArray:
    """Return the sums of weights, of weighted values and of weighted labels, 0 or 1, by bin: (3, n_bins).

    Examples
    --------
    >>> bin_sums(np.array([0.25, 0.5, 0.75]), np.ones(3), np.array([0, 1, 1]), np.array([0.5])).tolist()
    [[2.0, 1.0], [0.75, 0.75], [1.0, 1.0]]
    """
    core, n_bins = library(), len(last) + 1
    if core is None:
        index = bin_index(values, last)
        parts = (weights, weights * values, weights * labels)
        return np.array([np.bincount(index, weights=part, minlength=n_bins) for part in parts])
    sums = np.empty((3, n_bins))
    core.bin_sums(
        Matrix.view(values[:, None]),
        np.ascontiguousarray(weights),
        np.ascontiguousarray(labels),
        last,
        len(values),
        n_bins,
        sums,
    )
    return sums


def bin_columns(values: FloatArray, weights: FloatArray, last: FloatArray) -> FloatArray:
    """Return the sums of weights and of weighted values by bin, (m, 2, n_bins), for every column of values (n, m).

    Examples
    --------
    >>> bin_columns(np.array([[0.25, 0.75], [0.5, 0.5]]), np.ones(2), np.array([0.5])).tolist()
    [[[2.0, 0.0], [0.75, 0.0]], [[1.0, 1.0], [0.5, 0.75]]]
    """
    core, n_bins, columns = library(), len(last) + 1, values.shape[1]
    if core is None:
        labels = np.zeros(len(values), dtype=np.int64)
        found = [bin_sums(column, weights, labels, last)[:2] for column in values.T]
        return np.array(found).reshape(columns, 2, n_bins)
    sums = np.empty((columns, 2, n_bins))
    core.bin_columns(
        Matrix.view(values), np.ascontiguousarray(weights), last, len(values), columns, n_bins, sums.reshape(-1)
    )
    return sums
