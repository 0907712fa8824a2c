"""Non-negative least squares in NumPy: importing `scipy.optimize` would take longer than most uses."""

from collections.abc import Iterator
from functools import cache
from itertools import combinations
from operator import mul

import numpy as np

from calibrant._border.types import BoolArray, FloatArray

_EPS = float(np.finfo(float).eps)

_FEW = 3
"""Up to this many entries, equations are solved in Python: calling NumPy would take longer than the computation."""

_CANCELLED = 1e-6
"""A pivot that elimination reduces below this share of itself has lost too many digits."""

_Numbers = list[float]


def nnls(factor: FloatArray, target: FloatArray, near: FloatArray | None = None) -> FloatArray:
    """Return the x without negative entries that minimises :math:`|A x - b|`, by Lawson and Hanson's active sets.

    The factor A, (m, n), has full column rank, and b is the target, (m,). Entries that are not positive in `near`, such
    as the unconstrained solution, are tried as zeros first.

    Examples
    --------
    >>> nnls(np.eye(2), np.array([3.0, -1.0])).tolist()
    [3.0, 0.0]
    """
    positive = np.ones(factor.shape[1], dtype=bool) if near is None else near > 0
    x = _least_squares(factor, target, positive)
    if positive.all():
        if x.min() >= 0:
            return x
        # Start from the face where the unconstrained solution is positive: it usually differs in few entries.
        positive = x > 0
        x = _moved(factor, target, np.maximum(x, 0.0), _least_squares(factor, target, positive), positive)
    elif not x[positive].min(initial=np.inf) > 0:
        return nnls(factor, target)
    for _ in range(10 * len(x)):
        slopes = np.where(positive, -np.inf, factor.T @ (target - factor @ x))
        while True:
            new = int(slopes.argmax())
            if not slopes[new] > 0 or slopes[new] <= _rounding(factor, target):
                return x
            positive[new] = True
            best = _least_squares(factor, target, positive)
            if best[new] > 0:
                break
            positive[new], slopes[new] = False, -np.inf  # The slope was positive by rounding only.
        x = _moved(factor, target, x, best, positive)
    return x


def _rounding(factor: FloatArray, target: FloatArray) -> float:
    """Return how large a slope may be by rounding alone."""
    return float(10 * _EPS * factor.shape[1] * np.abs(factor).sum(axis=0).max() * np.abs(target).max())


def _moved(factor: FloatArray, target: FloatArray, x: FloatArray, best: FloatArray, positive: BoolArray) -> FloatArray:
    """Move from x towards the best point of its face, and on to smaller faces when an entry would become negative."""
    while positive.any() and best[positive].min() <= 0:
        falling = positive & (best <= 0)
        step = float((x[falling] / (x[falling] - best[falling])).min())
        x = x + step * (best - x)
        positive &= x > _EPS * np.abs(x).max()
        x[~positive] = 0.0
        best = _least_squares(factor, target, positive)
    return best


def _least_squares(factor: FloatArray, target: FloatArray, positive: BoolArray) -> FloatArray:
    if positive.all():
        return np.asarray(np.linalg.lstsq(factor, target, rcond=None)[0])
    result = np.zeros(factor.shape[1])
    result[positive] = np.linalg.lstsq(factor[:, positive], target, rcond=None)[0]
    return result


def least_of_few(matrix: FloatArray, target: FloatArray, near: FloatArray) -> FloatArray | None:
    r"""Return the x of at most three non-negative entries that minimises :math:`x^\top H x / 2 - c^\top x`.

    H is symmetric, (n, n), and c the target, (n,). Each set of positive entries is tried, beginning with those that are
    positive in `near`. A set gives the minimum if the solution of its equations is positive, and increasing no other
    entry would lower the value. It is None if there are more than three entries, or rounding would decide.

    Examples
    --------
    >>> least_of_few(np.eye(2), np.array([3.0, -1.0]), near=np.ones(2)).tolist()
    [3.0, 0.0]
    """
    if len(target) > _FEW:
        return None
    rows, pulls = matrix.tolist(), target.tolist()
    for face in _faces_from(tuple(j for j, one in enumerate(near.tolist()) if one > 0), len(pulls)):
        x = _solved(rows, pulls, face)
        if x is None:
            return None
        if min(x) >= 0 and not any(
            pull > sum(map(mul, row, x)) for j, (row, pull) in enumerate(zip(rows, pulls, strict=True)) if j not in face
        ):
            return np.array(x)
    return None


@cache
def _faces(n: int) -> list[tuple[int, ...]]:
    return [face for size in range(n + 1) for face in combinations(range(n), size)]


def _faces_from(first: tuple[int, ...], n: int) -> Iterator[tuple[int, ...]]:
    yield first
    yield from _faces(n)


def _solved(rows: list[_Numbers], pulls: _Numbers, face: tuple[int, ...]) -> _Numbers | None:
    """Return the stationary point of a face, None if a pivot has lost too many digits."""
    left = [[*(rows[i][j] for j in face), pulls[i]] for i in face]
    for k, top in enumerate(left):
        if not top[k] > _CANCELLED * rows[face[k]][face[k]]:
            return None
        for row in left[k + 1 :]:
            share = row[k] / top[k]
            row[k + 1 :] = [one - share * other for one, other in zip(row[k + 1 :], top[k + 1 :], strict=True)]
    x = [0.0] * len(rows)
    for k in reversed(range(len(face))):
        found = left[k][-1] - sum(left[k][j] * x[face[j]] for j in range(k + 1, len(face)))
        x[face[k]] = found / left[k][k]
    return x
