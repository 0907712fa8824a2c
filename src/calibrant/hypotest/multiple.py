"""Many tests at once: Holm's adjustment of p-values."""

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar, overload

import numpy as np

from calibrant._border.checks import as_floats
from calibrant._border.convert import convert
from calibrant._border.numerals import as_given
from calibrant._border.types import FloatArray
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
