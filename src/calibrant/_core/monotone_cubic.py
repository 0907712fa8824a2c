"""Monotone cubic interpolation in NumPy, without the import of `scipy.interpolate`, which takes longer than its use."""

import numpy as np

from calibrant._border.types import FloatArray


def monotone_cubic(x: FloatArray, y: FloatArray, at: FloatArray) -> FloatArray:
    r"""Interpolate values at ascending places by cubics that rise and fall where the values do.

    Parameters
    ----------
    x, y : ndarray of shape (n,)
        Places, strictly ascending, and values; at least two.
    at : ndarray
        Where to interpolate. Beyond the ends, the outer cubics go on.

    Notes
    -----
    With the steps :math:`h_k = x_{k+1} - x_k` and slopes :math:`m_k = (y_{k+1} - y_k) / h_k` the derivative at an inner
    place is 0 where the slopes on both sides have different signs, and otherwise their harmonic mean with the weights
    :math:`2 h_k + h_{k-1}` of :math:`m_{k-1}` and :math:`h_k + 2 h_{k-1}` of :math:`m_k`. At an end it is that of the
    parabola through three points, limited to the sign and to three times the size of the slope there.

    References
    ----------
    F. N. Fritsch, J. Butland, "A method for constructing local monotone piecewise cubic interpolants", SIAM Journal on
    Scientific and Statistical Computing 5 (1984).

    Examples
    --------
    >>> monotone_cubic(np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 1.0]), np.array([0.5, 1.5])).tolist()
    [0.6875, 1.0]
    """
    steps = np.diff(x)
    slopes = np.diff(y) / steps
    d = _derivatives(steps, slopes)
    k = np.clip(np.searchsorted(x, at, side="right") - 1, 0, len(steps) - 1)
    t = at - x[k]
    square = (3 * slopes[k] - 2 * d[k] - d[k + 1]) / steps[k]
    cube = (d[k] + d[k + 1] - 2 * slopes[k]) / steps[k] ** 2
    return np.asarray(y[k] + t * (d[k] + t * (square + t * cube)))


def _derivatives(steps: FloatArray, slopes: FloatArray) -> FloatArray:
    """Return the derivative at every place."""
    if len(slopes) == 1:
        return np.repeat(slopes, 2)
    before, after = 2 * steps[1:] + steps[:-1], steps[1:] + 2 * steps[:-1]
    same = np.sign(slopes[1:]) * np.sign(slopes[:-1]) > 0
    left, right = np.where(same, slopes[:-1], 1.0), np.where(same, slopes[1:], 1.0)
    inner = np.where(same, (before + after) / (before / left + after / right), 0.0)
    first, last = (_at_end(*steps[side], *slopes[side]) for side in (slice(0, 2), slice(-1, -3, -1)))
    return np.concatenate([[first], inner, [last]])


def _at_end(step: float, next_step: float, slope: float, next_slope: float) -> float:
    d = ((2 * step + next_step) * slope - step * next_slope) / (step + next_step)
    if np.sign(d) != np.sign(slope):
        return 0.0
    return 3 * slope if slope * next_slope < 0 and abs(d) > 3 * abs(slope) else d
