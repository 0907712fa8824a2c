"""Weights of rows in integer units, so that sums of weights and of their squares do not depend on the order."""

from typing import NamedTuple

import numpy as np

from calibrant._border.numerals import as_given
from calibrant._border.types import FloatArray, IntArray
from calibrant.exceptions import InputError

BITS = 20
"""A weight is rounded to a multiple of 2^-20; the largest is 2^20."""

ONE = 2**BITS
"""A weight of 1 in units."""

LIMB = 2 * BITS
"""Sums of products have a high and a low part, the latter in [0, 2^40)."""

COLUMNS = 8
"""Units without the event and with it; squares of either, high and low; units times offsets, high and low."""

MOST_UNITS = 2**62
"""The sum of all weights of a sketch is below this, so that no sum overflows."""

_MASK = ONE - 1
_HIGH = (2, 4, 6)
"""Columns of the high parts; each low part follows its high part."""


def as_units(weights: FloatArray) -> IntArray:
    """Return weights, finite and not negative, in units of 2^-20.

    Examples
    --------
    >>> as_units(np.array([1.0, 0.5, 0.0])).tolist()
    [1048576, 524288, 0]
    """
    units = np.rint(weights * ONE)
    bad = (weights > ONE) | ((units == 0) & (weights > 0))
    if bad.any():
        row = int(bad.argmax())
        raise InputError(
            f"weights of a sketch must be 0 or lie between 2^-20 and 2^20, but row {row} has "
            f"{as_given(weights[row])}: they are summed as multiples of 2^-20. Multiply all weights by one number, "
            "which changes no result."
        )
    return units.astype(np.int64)


def products(units: IntArray, factors: IntArray) -> tuple[IntArray, IntArray]:
    """Return products of units with numbers below 2^40, in high parts and low ones below 2^41.

    Examples
    --------
    >>> [part.tolist() for part in products(np.array([2**40]), np.array([2**40]))]
    [[1099511627776], [0]]
    """
    high, low = units >> BITS, units & _MASK
    above, below = factors >> BITS, factors & _MASK
    # (high 2^20 + low) (above 2^20 + below), whose middle terms are split between the parts.
    middle = high * below + low * above
    return high * above + (middle >> BITS), ((middle & _MASK) << BITS) + low * below


def normalised(table: IntArray) -> IntArray:
    """Carry the excess of low parts over 2^40 into the high parts, in place, so that equal sums are equal numbers."""
    for column in _HIGH:
        table[:, column] += table[:, column + 1] >> LIMB
        table[:, column + 1] &= 2**LIMB - 1
    return table


def of_ones(counted: IntArray) -> IntArray:
    """Return the table for rows of weight 1, given their columns: rows without the event, with it, and offsets."""
    table = np.zeros((len(counted), COLUMNS), dtype=np.int64)
    table[:, :2] = counted[:, :2] << BITS
    table[:, 2], table[:, 4] = counted[:, 0], counted[:, 1]  # The square of one unit is 2^40.
    table[:, 6], table[:, 7] = counted[:, 2] >> BITS, (counted[:, 2] & _MASK) << BITS
    return table


def weighted_sum(units: IntArray, values: IntArray) -> int:
    """Return the exact sum of products of at most 2^20 units with integers below 2^42."""
    high, low = units >> BITS, units & _MASK
    above, below = values >> 22, values & (2**22 - 1)
    parts = [int(a @ b) for a in (high, low) for b in (above, below)]  # Each at most 2^62.
    return (parts[0] << (BITS + 22)) + (parts[1] << BITS) + (parts[2] << 22) + parts[3]


class Masses(NamedTuple):
    """Sums over the rows of C cells, in two columns, (C, 2): rows without the event and rows with it."""

    weights: FloatArray
    squares: FloatArray

    @classmethod
    def of(cls, table: IntArray) -> "Masses":
        """Return the sums that a table holds."""
        squares = table[:, [2, 4]] + table[:, [3, 5]] * 2.0**-LIMB
        return cls(table[:, :2] / ONE, squares)


def stand_in(weights: FloatArray, squares: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    r"""Return the fewest rows with given sums W of weights and S of squares: how many of one weight, it, and one other.

    Notes
    -----
    These are :math:`m = \lceil W^2 / S \rceil` rows, the effective number rounded up: :math:`m - 1` of weight a and one
    of weight b with :math:`(m - 1) a + b = W` and :math:`(m - 1) a^2 + b^2 = S`. Rows of equal weight are recovered;
    then there is no other row, and b is 0.

    Examples
    --------
    >>> [part.tolist() for part in stand_in(np.array([6.0, 3.0]), np.array([12.0, 5.0]))]  # 2 2 2; 2 1
    [[3.0, 1.0], [2.0, 2.0], [0.0, 1.0]]
    """
    effective = np.divide(weights**2, squares, out=np.zeros_like(weights), where=squares > 0)
    nearest = np.rint(effective)
    whole = np.abs(effective - nearest) <= 1e-9 * effective
    rows = np.where(whole, nearest, np.ceil(effective))
    divisor = np.maximum(rows, 1.0)
    spread = np.sqrt(np.maximum(rows * squares - weights**2, 0.0) / np.maximum(rows - 1, 1.0))
    each = np.where(whole, weights, weights + spread) / divisor
    many = np.where(whole, rows, rows - 1)
    last = np.where(whole, 0.0, weights - many * each)
    return many, each, np.where(last > 1e-9 * each, last, 0.0)
