"""Rules for equal predictions and negligible weights, shared by bins, pools and running sums."""

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant._core.line.boxes import Line
from calibrant.predictions import Predictions


def line_of(view: Predictions) -> Line:
    """Return the predicted probabilities of class 1 in ascending order, cached with the predictions.

    Examples
    --------
    >>> line = line_of(Predictions([0.9, 0.2, 0.4], labels=[1, 0, 0]))
    >>> line.order.tolist(), line.x.tolist()
    ([1, 2, 0], [0.2, 0.4, 0.9])
    """
    return view.once("line", lambda: Line.of(view.positive), of_labels=False)


def at_equal_ranks(view: Predictions, n: int) -> IntArray:
    """Return the cells of n rows at equal ranks in ascending order of the predictions, counting copies as rows.

    Examples
    --------
    >>> at_equal_ranks(Predictions([0.2, 0.9, 0.5, 0.4], labels=[0, 1, 1, 0]), 2).tolist()
    [3, 1]
    """
    order = line_of(view).order
    copies = np.ones(len(order)) if view.copies is None else view.copies[order]
    until = np.cumsum(copies)
    return np.asarray(order[np.searchsorted(until, (np.arange(n) + 0.5) * until[-1] / n, side="right")])


NEGLIGIBLE = 1e-100
"""Rows with less than this share of the largest weight are left out: their share could underflow."""

DECIMALS = 12
"""Decimals to which predictions are compared: 0.1 + 0.2 and 0.3 are equal."""


def comparable(values: FloatArray) -> FloatArray:
    """Return predictions rounded for comparison: those that count as equal are equal.

    Examples
    --------
    >>> bool(0.1 + 0.2 == 0.3), bool(comparable(0.1 + 0.2) == comparable(0.3))
    (False, True)
    """
    return np.round(values, DECIMALS)


def pooled(values: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the distinct predictions, ascending, and the index into them of each row.

    Examples
    --------
    >>> distinct, index = pooled(np.array([0.3, 0.1, 0.1 + 0.2]))
    >>> distinct.tolist(), index.tolist()
    ([0.1, 0.3], [1, 0, 1])
    """
    return np.unique(comparable(values), return_inverse=True)


def starts_of_ties(ascending: FloatArray | IntArray) -> IntArray:
    """Return where each run of equal numbers begins.

    Examples
    --------
    >>> starts_of_ties(np.array([0.1, 0.1, 0.3, 0.3, 0.4])).tolist()
    [0, 2, 4]
    """
    begins = np.empty(len(ascending), dtype=bool)
    begins[:1] = True
    np.not_equal(ascending[1:], ascending[:-1], out=begins[1:])
    return begins.nonzero()[0]
