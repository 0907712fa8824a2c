"""The smallest of several p-values, compared with its own law: exact wherever the columns are exchangeable."""

from typing import NamedTuple

import numpy as np

from calibrant._typing import FloatArray, IntArray

TIE = 1e-10
"""Statistics that differ by less than this share of the largest are equal: sums of the same terms round differently."""


class Smallest(NamedTuple):
    """What the smallest p-values of a pool say about its first member.

    Attributes
    ----------
    pvalue : float
        Share of the pool whose smallest p-value is as extreme as that of the first.
    pvalues : ndarray of shape (m, N)
        Rank p-value of every member, by every statistic.
    part : int
        The statistic by which the first member is most extreme.
    """

    pvalue: float
    pvalues: FloatArray
    part: int


def smallest_pvalue(statistics: FloatArray) -> Smallest:
    r"""Compare the smallest rank p-value of the first column with that of every column.

    Parameters
    ----------
    statistics : ndarray of shape (m, N)
        m statistics of N members of a pool, the first of which was observed. Large values are extreme.

    Notes
    -----
    The rank p-value of member j by statistic s is :math:`p_{sj} = \#\{k : s_k \ge s_j\} / N`, itself included, and
    :math:`q_j = \min_s p_{sj}`. The p-value is :math:`\#\{k : q_k \le q_0\} / N`. Of members with the same q the one
    whose statistic stands out furthest, in standard deviations of the pool, is the more extreme: otherwise the
    smallest reachable p-value would be m / N instead of 1 / N. All of this treats the members alike, so that the
    p-value is valid if they are exchangeable; ties that are left count against rejection.

    References
    ----------
    P. H. Westfall, S. S. Young, "Resampling-based multiple testing", Wiley 1993.

    Examples
    --------
    >>> smallest_pvalue(np.array([[3.0, 1.0, 2.0, 0.0], [0.0, 1.0, 2.0, 9.0]])).pvalue  # 3 and 9 lead; 9 stands out
    0.5
    """
    counts, depths = at_or_above(statistics), depth(statistics)
    fewest = counts.min(axis=0)
    depths = np.where(counts == fewest, depths, -np.inf)
    deepest = depths.max(axis=0)
    as_extreme = (fewest < fewest[0]) | ((fewest == fewest[0]) & (deepest >= deepest[0] - TIE * abs(deepest[0])))
    n = statistics.shape[1]
    return Smallest(float(as_extreme.sum() / n), counts / n, int(depths[:, 0].argmax()))


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
