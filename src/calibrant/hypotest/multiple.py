"""Many tests at once: Holm's adjustment of p-values, and one p-value from several statistics of a pool."""

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar, overload

import numpy as np

from calibrant._border.checks import as_floats
from calibrant._border.convert import convert
from calibrant._border.numerals import as_given
from calibrant._border.types import FloatArray, IntArray
from calibrant.exceptions import InputError

Key = TypeVar("Key", bound=Hashable)


@overload
def holm(pvalues: Mapping[Key, float]) -> dict[Key, float]: ...
@overload
def holm(pvalues: Sequence[float] | FloatArray) -> FloatArray: ...
def holm(
    pvalues: Mapping[Key, float] | Sequence[float] | FloatArray,
) -> dict[Key, float] | FloatArray:
    r"""Adjust p-values by Holm's method: rejecting those below a level makes any error with at most that probability.

    Parameters
    ----------
    pvalues : mapping of names to numbers, or array-like of shape (m,)

    Returns
    -------
    dict or ndarray of shape (m,)
        The adjusted p-values, under the same keys or in the same order.

    Notes
    -----
    With the p-values in ascending order, the k-th becomes :math:`\max_{j \le k} \min(1, (m - j + 1) \, p_{(j)})`. The
    guarantee holds however the tests depend on each other.

    References
    ----------
    S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979).

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(2).tolist()
    [0.03, 0.06, 0.06]
    >>> holm({"ecce": 0.5, "cox": 0.02})
    {'ecce': 0.5, 'cox': 0.04}
    """
    if isinstance(pvalues, Mapping):
        adjusted = _adjust(_checked(list(pvalues.values())))
        return dict(zip(pvalues, adjusted.tolist(), strict=True))
    return _adjust(_checked(pvalues))


def _checked(pvalues: object) -> FloatArray:
    values = as_floats(convert(pvalues, "pvalues"))
    if values.shape[1] != 1:
        raise InputError(
            f"pvalues must be one number per test, but have shape {values.shape}. Pass an array of shape (m,)."
        )
    bad = ~((values >= 0) & (values <= 1))  # NaN fails both.
    if bad.any():
        place = int(bad.argmax())
        raise InputError(
            f"pvalues must lie in [0, 1], but entry {place} is {as_given(values[place, 0])}. Leave out such tests."
        )
    return values[:, 0]


def _adjust(values: FloatArray) -> FloatArray:
    order = np.argsort(values, kind="stable")
    steps = values[order] * np.arange(len(values), 0, -1)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


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
