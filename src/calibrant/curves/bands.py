"""Limits of frequencies, and bands around curves: at each point, or for all points at once."""

import numpy as np

from calibrant._border.types import FloatArray
from calibrant._core.laws import normal_quantile

SHAPE_LEVEL = 0.95
"""Level of the pointwise band that a simultaneous band widens by one factor."""

ROUNDING = 1e-9


def wilson(frequency: FloatArray, trials: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Return Wilson's confidence limits for frequencies, given the numbers of trials."""
    z = normal_quantile((1 + level) / 2)
    centre = (frequency + z**2 / (2 * trials)) / (1 + z**2 / trials)
    half = z * np.sqrt(frequency * (1 - frequency) / trials + (z / (2 * trials)) ** 2) / (1 + z**2 / trials)
    # At frequency 0 the limit is exactly 0, and at 1 exactly 1, regardless of rounding.
    low = np.where(frequency <= 0, 0.0, np.maximum(centre - half, 0.0))
    return low, np.where(frequency >= 1, 1.0, np.minimum(centre + half, 1.0))


def least_resamples(level: float, *, simultaneous: bool) -> int:
    """Return the smallest number of redraws from which limits of this level can be taken."""
    if simultaneous:
        return 2 * int(np.ceil(level / (1 - level) - ROUNDING))
    return int(np.ceil(2 / (1 - level) - ROUNDING)) - 1


def pointwise_limits(curves: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    r"""Return limits that contain one more curve of the same law with this probability, at each point by itself.

    Parameters
    ----------
    curves : ndarray of shape (B, m)
        Independent curves, at least `least_resamples`.
    level : float

    Notes
    -----
    The limits are the k-th smallest and k-th largest value, :math:`k = \lfloor (B + 1) (1 - level) / 2 \rfloor`. The
    rank of another value among these is uniform, so no interpolation between them is needed and the level is exact
    for any B; ties make it larger.
    """
    k = int((1 - level) / 2 * (len(curves) + 1) + ROUNDING)
    ordered = np.partition(curves, [k - 1, len(curves) - k], axis=0)
    return ordered[k - 1], ordered[len(curves) - k]


def simultaneous_limits(curves: FloatArray, centre: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    r"""Return limits that contain one more curve of the same law with this probability, at all points together.

    Parameters
    ----------
    curves : ndarray of shape (B, m)
        Independent curves with values from 0 to 1, non-decreasing along each; at least `least_resamples`.
    centre : ndarray of shape (m,)
        The non-decreasing centre of the band. Where it is 0 or 1, so are all curves.
    level : float

    Notes
    -----
    The first half of the curves gives the shape of the band: widths :math:`a_j` below and :math:`b_j` above the centre,
    from pointwise limits. The second half, of :math:`B_2` curves, gives its size: the smallest t such that
    :math:`[c - t a, c + t b]` contains a share of :math:`\lceil level (B_2 + 1) \rceil / B_2` of them entirely. Given
    the shape, the size that a further curve needs is exchangeable with theirs, so the level is exact for any B and any
    shape.
    """
    half = len(curves) // 2
    below, above = _widths(curves[:half], centre)
    sizes = np.sort([max(_size(centre - one, below), _size(one - centre, above)) for one in curves[half:]])
    size = sizes[int(np.ceil(level * (len(sizes) + 1) - ROUNDING)) - 1]
    return np.maximum(centre - size * below, 0.0), np.minimum(centre + size * above, 1.0)


def _widths(curves: FloatArray, centre: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return widths below and above the centre: 0 on both sides where it is 0 or 1, positive elsewhere."""
    level = min(SHAPE_LEVEL, 1 - 2 / (len(curves) + 1))
    low, high = pointwise_limits(curves, level)
    # Where nearly all curves are on one side of the centre, as at its ends, the limit on the other side is taken from
    # the next point with curves on both sides. Because curves are monotone, this widens the band.
    low = np.maximum.accumulate(np.where(low < centre, low, 0.0))
    high = np.minimum.accumulate(np.where(high > centre, high, 1.0)[::-1])[::-1]
    return np.where(centre < 1, centre - low, 0.0), np.where(centre > 0, high - centre, 0.0)


def _size(deviation: FloatArray, width: FloatArray) -> float:
    """Return the factor by which the width must grow to hold the deviation everywhere."""
    out = deviation > 0
    return float(np.max(deviation[out] / width[out], initial=0.0))
