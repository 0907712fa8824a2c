"""When two predictions are the same: one rule for bins, pools and running sums."""

import numpy as np

from calibrant._typing import FloatArray

DECIMALS = 12
"""Decimals to which predictions are compared: 0.1 + 0.2 and 0.3 are equal."""


def comparable(values: FloatArray) -> FloatArray:
    """Return predictions for comparing: those that count as equal are equal.

    Examples
    --------
    >>> bool(0.1 + 0.2 == 0.3), bool(comparable(0.1 + 0.2) == comparable(0.3))
    (False, True)
    """
    return np.round(values, DECIMALS)
