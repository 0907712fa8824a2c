"""Levels of quantiles and intervals, as settings of metrics."""

import numpy as np

from calibrant._border.checks import check_count
from calibrant._typing import FloatArray
from calibrant.curves.forecasts import check_nominal
from calibrant.exceptions import InputError

__all__ = ["central_levels", "check_levels", "level_array"]


def check_levels(levels: object, *, closed: bool = False) -> None:
    """Refuse what is neither a number of levels nor a tuple of ascending ones; `closed` admits 0 and 1."""
    if not isinstance(levels, tuple):
        check_count(levels, "levels, if not a tuple,")
        return
    values = np.asarray(levels, dtype=np.float64)
    check_nominal(values)
    if not closed and (values[0] <= 0 or values[-1] >= 1):
        raise InputError(f"levels must lie between 0 and 1, but reach from {values[0]:g} to {values[-1]:g}.")


def level_array(levels: int | tuple[float, ...]) -> FloatArray:
    """Return the levels, ascending."""
    if isinstance(levels, tuple):
        return np.asarray(levels, dtype=np.float64)
    return np.arange(1, levels + 1) / (levels + 1)


def central_levels(level: float) -> FloatArray:
    """Return the levels of the two ends of the central interval."""
    return np.array([(1 - level) / 2, (1 + level) / 2])
