"""Non-negative least squares in NumPy, without the import of `scipy.optimize`, which takes longer than its uses."""

import numpy as np

from calibrant._border.types import BoolArray, FloatArray


def nnls(factor: FloatArray, target: FloatArray) -> FloatArray:
    """Return the x of smallest :math:`|A x - b|` without a negative entry, by the active sets of Lawson and Hanson.

    Parameters
    ----------
    factor : ndarray of shape (m, n)
        A, of full column rank.
    target : ndarray of shape (m,)
        b.

    Examples
    --------
    >>> nnls(np.eye(2), np.array([3.0, -1.0])).tolist()
    [3.0, 0.0]
    """
    free = _least_squares(factor, target, np.ones(factor.shape[1], dtype=bool))
    if free.min() >= 0:
        return free
    # From the face where the free solution is positive: mostly it differs from that of x in few entries.
    positive = free > 0
    x = _moved(factor, target, np.maximum(free, 0.0), _least_squares(factor, target, positive), positive)
    small = 10 * np.finfo(float).eps * len(free) * float(np.abs(factor).sum(axis=0).max()) * np.abs(target).max()
    for _ in range(10 * len(free)):
        slopes = np.where(positive, -np.inf, factor.T @ (target - factor @ x))
        while True:
            new = int(slopes.argmax())
            if not slopes[new] > small:
                return x
            positive[new] = True
            best = _least_squares(factor, target, positive)
            if best[new] > 0:
                break
            positive[new], slopes[new] = False, -np.inf  # Only rounding said that it rises.
        x = _moved(factor, target, x, best, positive)
    return x


def _moved(factor: FloatArray, target: FloatArray, x: FloatArray, best: FloatArray, positive: BoolArray) -> FloatArray:
    """Go from x towards the best point of its face, on to smaller faces wherever an entry would become negative."""
    while positive.any() and best[positive].min() <= 0:
        falling = positive & (best <= 0)
        step = float((x[falling] / (x[falling] - best[falling])).min())
        x = x + step * (best - x)
        positive &= x > np.finfo(float).eps * np.abs(x).max()
        x[~positive] = 0.0
        best = _least_squares(factor, target, positive)
    return best


def _least_squares(factor: FloatArray, target: FloatArray, positive: BoolArray) -> FloatArray:
    result = np.zeros(factor.shape[1])
    result[positive] = np.linalg.lstsq(factor[:, positive], target, rcond=None)[0]
    return result
