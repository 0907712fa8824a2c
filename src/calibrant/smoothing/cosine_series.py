"""Smoothed residuals as cosine series: the error at a bandwidth, and the bandwidth that equals its error."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from calibrant._border.types import FloatArray

NARROWEST = 2.0**-16
"""Bandwidths below this are not resolved."""

ROUGHLY, EXACTLY = 0.01, 1e-12
"""Relative error of a bandwidth when the number of points is chosen by it, and of the result."""

POINTS_PER_WIDTH = 32
"""Number of points per bandwidth at which the smoothed residuals are computed."""

FEWEST, MOST = 2**10, 2**15
"""Limits of the number of such points in [0, 1]."""

AT_FIRST = 2**8
"""Number of points for the rough search."""

MOST_STEPS = 60
"""About six steps are needed; the limit stops a search whose last digits alternate by rounding."""


def cosine_sums(gridded: FloatArray) -> FloatArray:
    r"""Return the sums of cos(pi k j / N) for k = 0 to N, weighted by values at the points j / N: (B, N + 1).

    Notes
    -----
    For even k the cosines at j and N - j are equal, and :math:`\cos((2k + 1) t) - \cos((2k - 1) t) = -2 \sin(2kt)
    \sin t` leads from one odd k to the next. So one Fourier transform of N real numbers gives both, in its real and its
    imaginary part.

    Examples
    --------
    >>> cosine_sums(np.array([[0.0, 1.0, 0.0, 0.0, 0.0]])).round(4).tolist()  # cos(k pi / 4)
    [[1.0, 0.7071, 0.0, -0.7071, -1.0]]
    """
    factors, cosines = _circle(gridded.shape[1] - 1)
    folded = gridded[:, :-1] - gridded[:, :0:-1]
    folded *= factors
    np.subtract(gridded[:, :-1], folded, out=folded)
    folded[:, 0] = gridded[:, 0] + gridded[:, -1]
    parts = np.fft.rfft(folded)
    found = np.empty_like(gridded)
    found[:, ::2] = parts.real
    odd = -parts.imag[:, :-1]
    odd[:, 0] = gridded @ cosines
    np.cumsum(odd, axis=1, out=found[:, 1::2])
    return found


@cache
def _circle(n: int) -> tuple[FloatArray, FloatArray]:
    """Return 1/2 plus the sine of pi j / n for j = 0 to n - 1, and the cosine for j = 0 to n."""
    angles = np.pi * np.arange(n + 1) / n
    return 0.5 + np.sin(angles[:-1]), np.cos(angles)


def fixed_points(waves: FloatArray, gaps: FloatArray) -> FloatArray:
    """Return the bandwidths that equal their error, (B,); no error exceeds its mean absolute residual in `gaps`."""
    low = np.maximum(np.abs(waves[:, 0]), NARROWEST)
    values = np.minimum(gaps, low)
    rows = np.flatnonzero(gaps > low)
    values[rows] = _crossings(waves[rows, :AT_FIRST], low[rows], AT_FIRST, ROUGHLY)
    points = np.zeros(len(gaps), dtype=int)
    while len(rows):
        needed = resolution(np.maximum(values, low))
        now = rows[needed[rows] == needed[rows].max()]
        points[now] = needed[now]
        values[now] = _crossings(waves[now], np.maximum(values, low)[now], int(needed[now[0]]), EXACTLY)
        rows = rows[points[rows] < resolution(np.maximum(values, low))[rows]]
    return np.minimum(values, gaps)


def _crossings(waves: FloatArray, start: FloatArray, points: int, rtol: float) -> FloatArray:
    """Return the bandwidths that equal their error, to a relative error of `rtol`.

    As errors decrease with the bandwidth, the solution lies between a bandwidth and its error. It is found by the
    Illinois variant of regula falsi: if one end of the bracket stays, the difference there is halved.
    """
    a, at_a = start.copy(), errors(waves, start, points) - start
    b = a + at_a
    if np.all(np.abs(at_a) <= rtol * b):
        return b
    waves = waves[:, : _terms(np.minimum(a, b))]
    at_b = errors(waves, b, points) - b
    # Below the narrowest bandwidth the error there is the value; equal signs are left by rounding only.
    rows = np.flatnonzero(~((start <= NARROWEST) & (b <= start)) & (at_a * at_b < 0))
    for _ in range(MOST_STEPS):
        rows = rows[np.abs(at_b[rows]) > rtol * b[rows]]
        if not len(rows):
            break
        x = b[rows] - at_b[rows] * (b[rows] - a[rows]) / (at_b[rows] - at_a[rows])
        at_x = errors(waves[rows], x, points) - x
        passed = at_x * at_b[rows] < 0
        a[rows] = np.where(passed, b[rows], a[rows])
        at_a[rows] = np.where(passed, at_b[rows], at_a[rows] / 2)
        b[rows], at_b[rows] = x, at_x
    return b


def resolution(widths: FloatArray) -> NDArray[np.int64]:
    """Return the number of points that each bandwidth needs."""
    return np.clip(2.0 ** np.ceil(np.log2(POINTS_PER_WIDTH / widths)), FEWEST, MOST).astype(int)


def _terms(widths: FloatArray) -> int:
    """Return the number of terms of the series to use: all further factors are below 1e-18."""
    return int(3 / max(widths.min(initial=1.0), NARROWEST)) + 2  # It is 0 if residuals sum to exactly 0.


def errors(waves: FloatArray, widths: FloatArray, points: int) -> FloatArray:
    """Return the integrals of the absolute residuals smoothed with these bandwidths, (B,).

    One Fourier transform gives the sum of the smoothed residuals, which are even, and their integral, which is odd
    except for its linear part.
    """
    k = np.arange(min(points, waves.shape[1], _terms(widths)))
    smooth = waves[:, : len(k)] * np.exp(-((np.pi * widths[:, None] * k) ** 2) / 2)
    # Both are multiplied by the number of terms, by which the inverse transform divides.
    series = (smooth * (2 * points)).astype(complex)
    series[:, 1:].imag = smooth[:, 1:] * (-2 * points / np.pi) / k[1:]
    both = np.fft.irfft(series, 2 * points)
    there, back = both[:, : points + 1], both[:, -np.arange(points + 1)]
    integral = (there - back) / 2 + smooth[:, :1] * np.linspace(0, 1, points + 1)
    return _total_variation(integral, (there + back) / 2)


def _total_variation(integral: FloatArray, slope: FloatArray) -> FloatArray:
    """Return the total variation of functions, from their values and slopes at equidistant points of [0, 1].

    Where the slope changes sign, there is an extremum. It is located by linear interpolation of the slope, and its
    height is that of the cubic through values and slopes; the error is of fourth order in the distance of the points.
    """
    rises = np.diff(integral)
    row, at = np.nonzero(slope[:, :-1] * slope[:, 1:] < 0)
    a, b, rise = slope[row, at], slope[row, at + 1], rises[row, at]
    f = a / (a - b)
    step = 1 / rises.shape[1]
    turn = f**2 * (3 - 2 * f) * rise + f * (1 - f) * step * ((1 - f) * a - f * b)
    more = np.abs(turn) + np.abs(rise - turn) - np.abs(rise)
    return np.abs(rises).sum(axis=1) + np.bincount(row, weights=more, minlength=len(rises))
