"""A kernel as the compiled code knows it: how distances are summed, the power of them that follows, and the profile."""

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from calibrant._core.kernel import Kernel
from calibrant._core.library import Points, Problem


class Distance(IntEnum):
    """How distances are summed; the compiled code knows the numbers."""

    OVERLAP = 0
    DIFFERENCE = 1
    SQUARED = 2


class Power(IntEnum):
    """What is done to a summed distance; the compiled code knows the numbers."""

    AS_IT_IS = 0
    ROOT = 1
    SQUARE = 2


class Profile(IntEnum):
    """The function of the scaled distance; the compiled code knows the numbers."""

    EXPONENTIAL = 0
    MATERN32 = 1
    MATERN52 = 2
    GAMMA = 3
    RATIONAL = 4


_PROFILES = {
    "exponential": Profile.EXPONENTIAL,
    "gaussian": Profile.EXPONENTIAL,
    "gamma-exponential": Profile.GAMMA,
    "matern32": Profile.MATERN32,
    "matern52": Profile.MATERN52,
    "rational-quadratic": Profile.RATIONAL,
}
# Radial functions of the squared distance, and one that takes either with its own exponent; the others are of the
# distance.
_OF_SQUARE = {"gaussian", "rational-quadratic"}
_OF_EITHER = {"gamma-exponential"}


class _Scaling(NamedTuple):
    """The power of the summed distance, the factor that follows it, and the shape, for the profile."""

    power: Power
    scale: float
    shape: float


def problem_of(kernel: Kernel, points: Points, residuals: Points) -> Problem:
    """Return all that H depends on."""
    distance = _distance(kernel, points)
    scaling = _scaling(kernel, squared=distance == Distance.SQUARED)
    profile = _PROFILES[kernel.radial]
    return Problem.of(points=points, residuals=residuals, distance=distance, profile=profile, **scaling._asdict())


def _distance(kernel: Kernel, points: Points) -> Distance:
    if kernel.distance == "euclidean":
        return Distance.SQUARED
    # The sum of minima takes two instructions per class instead of three, but its rounding error is absolute.
    # Where a lengthscale is small or the slope at 0 infinite, the differences are summed.
    largest = max(np.abs(points.kept[name]).max(initial=0.0) for name in ("row_sums", "column_sums"))
    steep = kernel.radial == "gamma-exponential" and kernel.shape < 1
    return Distance.DIFFERENCE if steep or largest > 1000 * kernel.lengthscale else Distance.OVERLAP


def _scaling(kernel: Kernel, *, squared: bool) -> _Scaling:
    # Total variation comes as twice itself, the Euclidean distance as its square.
    unit = kernel.lengthscale if squared else 2 * kernel.lengthscale
    if kernel.radial in _OF_EITHER:
        scale, shape = (unit**-2, kernel.shape / 2) if squared else (1 / unit, kernel.shape)
        return _Scaling(Power.AS_IT_IS, scale, shape)
    if kernel.radial in _OF_SQUARE:
        factor = -0.5 if kernel.radial == "gaussian" else 0.5 / kernel.shape
        return _Scaling(Power.AS_IT_IS if squared else Power.SQUARE, factor * unit**-2, kernel.shape)
    factor = {"exponential": -1.0, "matern32": -math.sqrt(3), "matern52": -math.sqrt(5)}[kernel.radial]
    return _Scaling(Power.ROOT if squared else Power.AS_IT_IS, factor / unit, kernel.shape)
