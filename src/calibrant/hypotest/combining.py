"""Several statistics of one pool, combined into one p-value."""

from typing import NamedTuple

import numpy as np

from calibrant._border.types import FloatArray, IntArray

TIE = 1e-10
"""Statistics that differ by less than this share of the largest are equal: sums of the same terms round differently."""


class Combined(NamedTuple):
    """What several statistics of a pool together say about its first member.

    Attributes
    ----------
    pvalue : float
        Share of the pool whose mean is as small as that of the first.
    means : ndarray of shape (N,)
        Harmonic mean of the p-values of every member.
    part : int
        The statistic by which the first member is most extreme.
    """

    pvalue: float
    means: FloatArray
    part: int


def combined_pvalue(statistics: FloatArray) -> Combined:
    r"""Compare the harmonic mean of the first column's rank p-values with that of every column.

    Parameters
    ----------
    statistics : ndarray of shape (m, N)
        m statistics of N members of a pool, the first of which was observed. Large values are extreme.

    Notes
    -----
    The rank p-value of member j by statistic s is :math:`p_{sj} = \#\{k : s_k \ge s_j\} / N`, itself included. That of
    the member that leads by a statistic, 1 / N, is divided by :math:`(1 + g)^2`, where g is how far it is ahead of the
    next, in standard deviations of the pool: otherwise members that lead by one statistic each could not be told apart,
    and 1 / N would hardly ever be reached. With :math:`q_j = m / \sum_s 1 / p_{sj}` the p-value is
    :math:`\#\{k : q_k \le q_0\} / N`. All of this treats the members alike, so that the p-value is valid if they are
    exchangeable; ties count against rejection.

    The harmonic mean is close to the smallest p-value, over m, where one statistic stands out, and smaller where
    several do. So it finds an error that several see about as well as each by itself.

    References
    ----------
    P. H. Westfall, S. S. Young, "Resampling-based multiple testing", Wiley 1993; D. J. Wilson, "The harmonic mean
    p-value for combining dependent tests", PNAS 116 (2019).

    Examples
    --------
    >>> combined_pvalue(np.array([[3.0, 1.0, 2.0, 0.0], [0.0, 1.0, 2.0, 9.0]])).pvalue  # 3 and 9 lead, 9 by far
    0.5
    """
    counts, n = at_or_above(statistics), statistics.shape[1]
    inverse = n / counts * np.where(counts == 1, (1 + _leads(statistics)[:, None]) ** 2, 1.0)
    totals = inverse.sum(axis=0)
    deepest = np.lexsort([depth(statistics)[:, 0], inverse[:, 0]])[-1]
    as_extreme = totals >= (1 - TIE) * totals[0]
    return Combined(float(as_extreme.mean()), len(statistics) / totals, int(deepest))


def at_or_above(statistics: FloatArray) -> IntArray:
    """Return how many of a row are at or above each entry, up to rounding.

    Examples
    --------
    >>> at_or_above(np.array([[0.5, 2.0, 0.5]])).tolist()
    [[3, 1, 3]]
    """
    counts = np.empty(statistics.shape, dtype=np.int64)
    for count, row in zip(counts, statistics, strict=True):
        below = np.searchsorted(np.sort(row), row - TIE * np.abs(row).max(), side="left")
        count[:] = len(row) - below
    return counts


def depth(statistics: FloatArray) -> FloatArray:
    """Return how many standard deviations of its row each entry lies above the mean; 0 where all are equal."""
    centred = statistics - statistics.mean(axis=1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(axis=1, keepdims=True))
    least = TIE * np.abs(statistics).max(axis=1, keepdims=True)
    return np.where(deviation > least, centred / np.where(deviation > 0, deviation, 1.0), 0.0)


def _leads(statistics: FloatArray) -> FloatArray:
    """Return how far the largest of every row is ahead of the next, in standard deviations of the row."""
    largest = np.partition(depth(statistics), -2, axis=1)[:, -2:]
    return np.asarray(largest[:, 1] - largest[:, 0])
