"""Mean distances: of normal and Laplace variables from a point, of ensembles from each other, of normal vectors."""

from collections.abc import Sequence

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.forecasts.convolution import LAPLACE_SUMS, NORMAL_SUMS

STEP, FIRST, LAST = 0.32, -22.0, 33.0
"""Trapezoidal rule of `mean_norm` in the logarithm of the frequency; both ends are summed on to infinity."""


@np.errstate(all="ignore")  # Underflow is right in the tails.
def mean_absolute(offset: FloatArray, normals: Sequence[FloatArray], laplaces: Sequence[FloatArray]) -> FloatArray:
    """Return E |offset + noise|, where the noise is a sum of normals and Laplace variables with these scales.

    A Laplace variable L of scale b adds b E exp(-|X| / b) to the mean absolute value of any independent X, and that is
    2 b^2 times the density of X + L at 0. All terms are positive.
    """
    distance = np.abs(offset)
    value = distance
    sd = np.sqrt(sum(np.square(scale) for scale in normals)) if normals else None
    if sd is not None:
        value = distance + 2 * sd * _mean_excess(distance / sd)
    for k, scale in enumerate(laplaces, start=1):
        if sd is None:
            density = LAPLACE_SUMS[k](distance, *laplaces[:k])
        else:
            density = NORMAL_SUMS[k](distance, sd, *laplaces[:k])
        value = value + 2 * scale * scale * density
    return value


def _mean_excess(z: FloatArray) -> FloatArray:
    """Return the mean of max(Z - z, 0) for a standard normal Z."""
    from scipy.special import ndtr

    return np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi) - z * ndtr(-z)


def mean_gap(draws: FloatArray) -> FloatArray:
    """Return the mean of |x - x'| over all pairs of draws of a row, a draw with itself included; draws are (n, m)."""
    m = draws.shape[1]
    share = np.arange(1, m) / m
    return np.diff(np.sort(draws, axis=1), axis=1) @ (2 * share * (1 - share))


def mean_gap_between(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the mean of |x - x'| over all pairs of a draw in `left`, (n, m), and one in `right`, (n, k), row by row.

    It is the integral of F (1 - G) + G (1 - F), where F and G are the two distribution functions.
    """
    m, k = left.shape[1], right.shape[1]
    both = np.concatenate([left, right], axis=1)
    order = np.argsort(both, axis=1)
    below = np.cumsum(order < m, axis=1)[:, :-1]
    f, g = below / m, (np.arange(1, m + k) - below) / k
    return (np.diff(np.take_along_axis(both, order, axis=1), axis=1) * (f * (1 - g) + g * (1 - f))).sum(axis=1)


@np.errstate(all="ignore")  # Underflow is right where a frequency is too high to matter.
def mean_norm(variances: FloatArray, squares: FloatArray) -> FloatArray:
    r"""Return E |X| for normal vectors X, given along principal axes: variances and squared means, of shape (..., d).

    .. math:: E |X| = \frac{1}{2 \sqrt\pi} \int_0^\infty (1 - E e^{-t |X|^2}) t^{-3/2} dt

    In log t the integrand is analytic and its ends are geometric, so the trapezoidal rule converges geometrically: the
    relative error is below 1e-12.
    """
    total = (variances + squares).sum(axis=-1)
    scale = np.where(total > 0, total, 1.0)
    variances, squares = variances / scale[..., None], squares / scale[..., None]
    value = np.zeros(total.shape)
    exponents = np.arange(FIRST, LAST, STEP)
    for t in np.exp(exponents):
        spread = 2 * t * variances
        log_transform = -(t * squares / (1 + spread)).sum(axis=-1) - 0.5 * np.log1p(spread).sum(axis=-1)
        value -= np.expm1(log_transform) / np.sqrt(t)
    ratio = np.exp(-STEP / 2)
    # Below the first frequency 1 - E exp(-t |X|^2) is t, since E |X|^2 is 1 here; beyond the last one it is 1.
    value += (np.exp(FIRST / 2) + np.exp(-exponents[-1] / 2)) * ratio / (1 - ratio)
    return np.sqrt(total) * value * STEP / (2 * np.sqrt(np.pi))
