r"""Densities and mean absolute values of sums of independent, centred normal and Laplace variables.

Up to a constant, the target kernels are themselves such densities: the Gaussian one with lengthscale l is
sqrt(2 pi) l times the density of N(0, l), the exponential one 2 l times that of Laplace(0, l). An expected kernel
between any two of normals, Laplace laws and points is therefore the density of one normal and at most three Laplace
variables. Textbook forms of these densities are differences that cancel where two scales agree; here each is a sum of
positive terms, or a divided difference taken by quadrature where its terms are close, so that the relative error
stays near rounding for all scales.
"""

from collections.abc import Callable, Sequence
from typing import Literal, get_args

import numpy as np

from calibrant._border.settings import check_option
from calibrant._border.types import FloatArray
from calibrant._core.laws import exp_in_place
from calibrant.exceptions import InputError
from calibrant.forecasts.checks import LARGEST, SMALLEST

Profile = Literal["gaussian", "exponential"]
"""Shape of a target kernel: exp(-d^2 / (2 l^2)) or exp(-d / l), for a distance d and a lengthscale l."""

CLOSE = 0.7
"""If the smaller term of a divided difference exceeds this share of the larger, quadrature replaces the difference."""

NODES, NODE_WEIGHTS = (0.5 * part for part in np.polynomial.legendre.leggauss(14))
NODES += 0.5


def check_kernel(profile: str, lengthscale: float) -> None:
    """Refuse an unknown profile or a lengthscale that is not positive."""
    check_option(profile, "profile", *get_args(Profile))
    if not SMALLEST <= lengthscale <= LARGEST:
        raise InputError(f"lengthscale must be positive and finite (1e-75 to 1e75), but is {lengthscale!r}.")


@np.errstate(all="ignore")
def kernel_value(profile: Profile, lengthscale: float, distance: FloatArray) -> FloatArray:
    """Return the target kernel at these distances."""
    ratio = distance / lengthscale
    return exp_in_place(np.asarray(-0.5 * ratio * ratio if profile == "gaussian" else -ratio))


@np.errstate(all="ignore")  # Underflow is right in the tails; branches that are not chosen may overflow.
def expected_kernel(
    profile: Profile, lengthscale: float, offset: FloatArray, normals: Sequence[FloatArray], laplaces: list[FloatArray]
) -> FloatArray:
    """Return E k(offset + noise), where the noise is a sum of normals and Laplace variables with these scales."""
    kernel_scale = np.asarray(lengthscale, dtype=np.float64)
    if profile == "gaussian":
        normals, constant = [kernel_scale, *normals], np.sqrt(2 * np.pi) * lengthscale
    else:
        laplaces, constant = [kernel_scale, *laplaces], 2 * lengthscale
    distance = np.abs(offset)
    if not normals:
        return constant * LAPLACE_SUMS[len(laplaces)](distance, *laplaces)
    sd = normals[0] if len(normals) == 1 else np.sqrt(sum(np.square(scale) for scale in normals))
    return constant * NORMAL_SUMS[len(laplaces)](distance, sd, *laplaces)


def _normal(z: FloatArray, sd: FloatArray) -> FloatArray:
    return exp_in_place(np.asarray(-0.5 * np.square(z / sd))) / (np.sqrt(2 * np.pi) * sd)


def _normal_laplace(z: FloatArray, sd: FloatArray, t: FloatArray) -> FloatArray:
    near, far = _tails(z, sd, t)
    return (near + far) / (4 * t)


def _normal_two_laplaces(z: FloatArray, sd: FloatArray, t1: FloatArray, t2: FloatArray) -> FloatArray:
    """Return the divided difference of F over x = t^2, where F is t^2 times the density with one Laplace(t) variable.

    F increases in x, and its derivative is the density for two equal scales.
    """
    z, sd, t1, t2 = np.broadcast_arrays(z, sd, t1, t2)
    a, b = np.minimum(t1, t2), np.maximum(t1, t2)
    low, high = (t * t * _normal_laplace(z, sd, t) for t in (a, b))
    density = (high - low) / ((b - a) * (b + a))
    close = low >= CLOSE * high
    z, sd, a, b = z[close], sd[close], a[close], b[close]
    middle = np.zeros(z.shape)
    for node, weight in zip(NODES, NODE_WEIGHTS, strict=True):
        middle += weight * _normal_laplace_twice(z, sd, np.sqrt(a * a + node * (b - a) * (b + a)))
    density[close] = middle
    return density


def _normal_laplace_twice(z: FloatArray, sd: FloatArray, t: FloatArray) -> FloatArray:
    """Return the density with two Laplace variables of the same scale."""
    s, u = sd / t, z / sd
    near, far = _tails(z, sd, t)
    bell = np.exp(-0.5 * u * u)
    low, high = (s - u) / np.sqrt(2), (s + u) / np.sqrt(2)
    below = np.where(low < 0, bell / np.sqrt(np.pi) - low * near, bell * _scaled_ierfc(np.maximum(low, 0.0)))
    return ((near + far) / 2 + (s / np.sqrt(2)) * (below + bell * _scaled_ierfc(high))) / (4 * t)


def _tails(z: FloatArray, sd: FloatArray, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the two parts of 2 E exp(-|N(z, sd)| / t): from values on the side of z, and on the other side of 0."""
    from scipy.special import erfc, erfcx

    s, u = sd / t, z / sd
    low = (s - u) / np.sqrt(2)
    bell = np.exp(-0.5 * u * u)
    # Beyond s, erfcx would overflow where the bell underflows.
    near = np.where(low < 0, np.exp(0.5 * s * s - z / t) * erfc(low), bell * erfcx(np.maximum(low, 0.0)))
    return near, bell * erfcx((s + u) / np.sqrt(2))


def _scaled_ierfc(x: FloatArray) -> FloatArray:
    """Return exp(x^2) times the integral of erfc from x >= 0 on."""
    from scipy.special import erfcx

    direct = 1 / np.sqrt(np.pi) - x * erfcx(x)
    inverse = 0.5 / np.square(np.maximum(x, 8.0))
    series = np.zeros_like(x)
    for k in range(16, 0, -1):  # Asymptotic: 1/(2x^2) - 3/(2x^2)^2 + 15/(2x^2)^3 - ...
        series = inverse * (2 * k - 1) * (1 - series)
    return np.where(x < 8.0, direct, series / np.sqrt(np.pi))


def _laplace(z: FloatArray, t: FloatArray) -> FloatArray:
    return np.exp(-z / t) / (2 * t)


def _two_laplaces(z: FloatArray, t1: FloatArray, t2: FloatArray) -> FloatArray:
    a, b = np.minimum(t1, t2), np.maximum(t1, t2)
    return np.exp(-z / b) * (1 + z / b * _phi1(z * ((b - a) / a / b))) / (2 * (a + b))


def _three_laplaces(z: FloatArray, t1: FloatArray, t2: FloatArray, t3: FloatArray) -> FloatArray:
    """Condition on where the positive parts stand when the negative parts end.

    A Laplace variable is a difference of two exponentials. Let three exponentials with means a <= b <= c follow each
    other, and race an independent copy of them. When the copy ends, the first, second or third exponential is running
    with the probabilities below; by lack of memory, what remains is a sum of three, two or one exponentials.
    """
    t1, t2 = np.minimum(t1, t2), np.maximum(t1, t2)
    a, rest = np.minimum(t1, t3), np.maximum(t1, t3)
    b, c = np.minimum(rest, t2), np.maximum(rest, t2)
    first = 0.5 * (a / (a + b)) * (a / (a + c))
    later = 0.5 * (b + a * (c / (a + c))) / (a + b)
    x, y = z * ((c - b) / b / c), z * ((c - a) / a / c)
    remaining = (
        later * (c / (b + c)) + later * (b / (b + c)) * (z / b) * _phi1(x) + first * (z / a) * (z / b) * _phi2(x, y)
    )
    return np.exp(-z / c) / c * remaining


def _phi1(x: FloatArray) -> FloatArray:
    """Return (1 - exp(-x)) / x for x >= 0."""
    return np.where(x > 0, -np.expm1(-x) / np.where(x > 0, x, 1.0), 1.0)


def _phi2(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return the second divided difference of exp(-t) at 0, x and y, for 0 <= x <= y."""
    x, y = np.broadcast_arrays(x, y)
    values = (_phi1(x) - np.exp(-x) * _phi1(y - x)) / y
    small = y < 1
    x, y = x[small], y[small]
    power = np.ones_like(x)
    polynomial, total = power, power / 2  # Complete homogeneous polynomials of x and y, over factorials.
    factorial = 2.0
    for k in range(1, 19):
        power = -x * power
        polynomial = power - y * polynomial
        factorial *= k + 2
        total = total + polynomial / factorial
    values[small] = total
    return values


LAPLACE_SUMS: dict[int, Callable[..., FloatArray]] = {1: _laplace, 2: _two_laplaces, 3: _three_laplaces}
"""Density at z >= 0 of the sum of this number of Laplace variables: called with z and their scales."""

NORMAL_SUMS: dict[int, Callable[..., FloatArray]] = {0: _normal, 1: _normal_laplace, 2: _normal_two_laplaces}
"""Density at z >= 0 of the sum of a normal and this number of Laplace variables: called with z, the standard deviation
and the scales."""


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
