"""Monotone cubic interpolation in NumPy: importing `scipy.interpolate` would take longer than the use."""

import numpy as np

from calibrant._border.types import FloatArray


def monotone_cubic(x: FloatArray, y: FloatArray, at: FloatArray) -> FloatArray:
    r"""Interpolate values by cubics that rise and fall only where the values do.

    There are at least two points x, (n,), strictly ascending, and values y, (n,) or (n, B). Beyond the ends, the outer
    cubics are continued.

    Notes
    -----
    With the steps :math:`h_k = x_{k+1} - x_k` and slopes :math:`m_k = (y_{k+1} - y_k) / h_k`, the derivative at an
    inner point is 0 if the slopes on both sides have different signs, and otherwise their harmonic mean with the
    weights :math:`2 h_k + h_{k-1}` for :math:`m_{k-1}` and :math:`h_k + 2 h_{k-1}` for :math:`m_k`. At an end it is
    that of the parabola through three points, limited to the sign and to three times the size of the slope there.

    References
    ----------
    F. N. Fritsch, J. Butland, "A method for constructing local monotone piecewise cubic interpolants", SIAM Journal on
    Scientific and Statistical Computing 5 (1984).

    Examples
    --------
    >>> monotone_cubic(np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 1.0]), np.array([0.5, 1.5])).tolist()
    [0.6875, 1.0]
    """
    steps = np.diff(x).reshape(-1, *[1] * (y.ndim - 1))
    slopes = np.diff(y, axis=0) / steps
    d = _derivatives(steps, slopes)
    square = (3 * slopes - 2 * d[:-1] - d[1:]) / steps
    cube = (d[:-1] + d[1:] - 2 * slopes) / steps**2
    k = np.clip(np.searchsorted(x, at, side="right") - 1, 0, len(steps) - 1)
    t = (at - x[k]).reshape(-1, *[1] * (y.ndim - 1))
    return np.asarray(y[k] + t * (d[k] + t * (square[k] + t * cube[k])))


def _derivatives(steps: FloatArray, slopes: FloatArray) -> FloatArray:
    """Return the derivative at every point."""
    if len(slopes) == 1:
        return np.repeat(slopes, 2, axis=0)
    before, after = 2 * steps[1:] + steps[:-1], steps[1:] + 2 * steps[:-1]
    same = np.sign(slopes[1:]) * np.sign(slopes[:-1]) > 0
    left, right = np.where(same, slopes[:-1], 1.0), np.where(same, slopes[1:], 1.0)
    inner = np.where(same, (before + after) / (before / left + after / right), 0.0)
    ends = (_at_end(*steps[side], *slopes[side]) for side in (slice(0, 2), slice(-1, -3, -1)))
    first, last = (np.expand_dims(end, 0) for end in ends)
    return np.concatenate([first, inner, last])


def _at_end(step: FloatArray, next_step: FloatArray, slope: FloatArray, next_slope: FloatArray) -> FloatArray:
    d = ((2 * step + next_step) * slope - step * next_slope) / (step + next_step)
    steep = (slope * next_slope < 0) & (np.abs(d) > 3 * np.abs(slope))
    return np.where(np.sign(d) != np.sign(slope), 0.0, np.where(steep, 3 * slope, d))
