"""One p-value from several statistics of a pool of redraws."""

from typing import NamedTuple

import numpy as np

from calibrant._border.types import FloatArray, IntArray

TIE = 1e-10
"""Statistics that differ by less than this share of the largest are equal: sums of the same terms round differently."""


class Combined(NamedTuple):
    """Combined p-value of the first member of a pool.

    Attributes
    ----------
    pvalue : float
        Share of the pool whose harmonic mean is at most that of the first member.
    means : ndarray of shape (N,)
        Harmonic mean of the p-values of every member.
    part : int
        Index of the statistic by which the first member is most extreme.
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
    The rank p-value of member j by statistic s is :math:`p_{sj} = \#\{k : s_k \ge s_j\} / N`, itself included. If one
    member leads by a statistic, its 1 / N is divided by :math:`(1 + g)^2`, where g is its lead over the next, in
    standard deviations of the pool: otherwise members that lead by one statistic each could not be told apart, and
    1 / N would hardly ever be reached. With :math:`q_j = m / \sum_s 1 / p_{sj}` the p-value is
    :math:`\#\{k : q_k \le q_0\} / N`. All members are treated alike, so the p-value is valid if they are exchangeable;
    ties count against rejection.

    If one statistic stands out, the harmonic mean is close to m times its p-value; if several do, it is smaller. So an
    error that several statistics see is found about as well as by each of them alone.

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
    most_extreme = np.lexsort([_standardised(statistics)[:, 0], inverse[:, 0]])[-1]
    as_extreme = totals >= (1 - TIE) * totals[0]
    return Combined(float(as_extreme.mean()), len(statistics) / totals, int(most_extreme))


def at_or_above(statistics: FloatArray) -> IntArray:
    """Count the entries of a row that are at or above each of its entries, up to rounding.

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


def _standardised(statistics: FloatArray) -> FloatArray:
    """Return how many standard deviations of its row each entry lies above the mean; 0 if all are equal."""
    centred = statistics - statistics.mean(axis=1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(axis=1, keepdims=True))
    least = TIE * np.abs(statistics).max(axis=1, keepdims=True)
    return np.where(deviation > least, centred / np.where(deviation > 0, deviation, 1.0), 0.0)


def _leads(statistics: FloatArray) -> FloatArray:
    """Return the lead of the largest entry of each row over the next, in standard deviations of the row."""
    largest = np.partition(_standardised(statistics), -2, axis=1)[:, -2:]
    return np.asarray(largest[:, 1] - largest[:, 0])
