"""Non-negative least squares in NumPy, without the import of `scipy.optimize`, which takes longer than its uses."""

import numpy as np

from calibrant._border.types import BoolArray, FloatArray

_EPS = float(np.finfo(float).eps)


def nnls(factor: FloatArray, target: FloatArray, near: FloatArray | None = None) -> FloatArray:
    """Return the x of smallest :math:`|A x - b|` without a negative entry, by the active sets of Lawson and Hanson.

    Parameters
    ----------
    factor : ndarray of shape (m, n)
        A, of full column rank.
    target : ndarray of shape (m,)
        b.
    near : ndarray of shape (n,), optional
        Which entries are tried as zeros first: those that are not positive here, as in the solution without limits.

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
        # From the face where the free solution is positive: mostly it differs from that of x in few entries.
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
            positive[new], slopes[new] = False, -np.inf  # Only rounding said that it rises.
        x = _moved(factor, target, x, best, positive)
    return x


def _rounding(factor: FloatArray, target: FloatArray) -> float:
    """Return how large a slope may be by rounding alone."""
    return float(10 * _EPS * factor.shape[1] * np.abs(factor).sum(axis=0).max() * np.abs(target).max())


def _moved(factor: FloatArray, target: FloatArray, x: FloatArray, best: FloatArray, positive: BoolArray) -> FloatArray:
    """Go from x towards the best point of its face, on to smaller faces wherever an entry would become negative."""
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
