"""The one meaning of `norm=`: the root of the mean power of the gaps."""

from numbers import Real

import numpy as np

from calibrant._typing import FloatArray
from calibrant.exceptions import InputError


def check_norm(norm: object, *, largest: bool) -> None:
    """Refuse what is no exponent of a norm; infinity only where the `largest` gap is offered.

    Examples
    --------
    >>> check_norm(2, largest=False)
    """
    is_number = isinstance(norm, Real) and not isinstance(norm, bool)
    if is_number and 1 <= norm <= np.inf and (largest or norm < np.inf):  # type: ignore[operator]
        return
    needed = "a number of at least 1 (inf for the maximum)" if largest else "a finite number of at least 1"
    raise InputError(f"norm must be {needed}, but is {norm!r}.")


def root(means: FloatArray, norm: float) -> FloatArray:
    """Return the norm of gaps whose powers have these means.

    Examples
    --------
    >>> root(np.array([0.25]), 2)
    array([0.5])
    """
    return means if norm == 1 else means ** (1 / norm)
