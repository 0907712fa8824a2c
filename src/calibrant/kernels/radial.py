"""Radial kernels: functions of the distance between two points."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from calibrant._border.settings import check_positive
from calibrant._border.types import FloatArray
from calibrant._core.distances import Radial, radial_value
from calibrant.exceptions import InputError
from calibrant.kernels.algebra import Kernel
from calibrant.kernels.distances import Distance, Euclidean, TotalVariation

Lengthscale = float | Literal["median"]


class RadialKernel(Kernel):
    """A function of the distance between two points in units of the lengthscale."""

    distance: Distance
    lengthscale: Lengthscale
    profile: ClassVar[Radial]

    def __post_init__(self) -> None:
        if not isinstance(self.distance, Distance):
            raise TypeError(f"distance must be a Distance such as TotalVariation(), but is {self.distance!r}.")
        if self.lengthscale == "median":
            return
        if isinstance(self.lengthscale, bool) or not isinstance(self.lengthscale, (int, float, np.number)):
            raise TypeError(f'lengthscale must be a number or "median", but is {self.lengthscale!r}.')
        if not 0 < self.lengthscale < np.inf:
            raise InputError(f'lengthscale must be positive and finite, or "median", but is {self.lengthscale!r}.')

    @property
    def bound(self) -> float:
        """Largest absolute value of the kernel."""
        return 1.0

    @property
    def shape(self) -> float:
        """The parameter other than the lengthscale, if the profile has one."""
        return 0.0

    def values(self, scaled: FloatArray) -> FloatArray:
        """Return the kernel at distances given in units of the lengthscale."""
        return radial_value(self.profile, scaled, self.shape)

    def tuned(self, median: Callable[[Distance], float]) -> Kernel:
        """Return the kernel with a number for its lengthscale."""
        if self.lengthscale != "median":
            return self
        return replace(self, lengthscale=median(self.distance))  # type: ignore[type-var]  # every leaf is a dataclass

    def matrix(self, x: object, y: object) -> FloatArray:
        """Return the values at all pairs of points."""
        if self.lengthscale == "median":
            raise InputError('lengthscale must be a number here, but is "median", which needs predictions.')
        return self.values(self.distance.pairwise(x, y) / self.lengthscale)


@dataclass(frozen=True)
class ExponentialKernel(RadialKernel):
    r"""The exponential (Laplacian) kernel :math:`\exp(-d / \ell)`.

    Parameters
    ----------
    distance : Distance, default=TotalVariation()
    lengthscale : float or "median", default=1.0
        "median" is the median distance between different predictions; see `median_distance`.
    """

    distance: Distance = TotalVariation()
    lengthscale: Lengthscale = 1.0
    profile = "exponential"


@dataclass(frozen=True)
class GaussianKernel(RadialKernel):
    r"""The Gaussian (squared exponential) kernel :math:`\exp(-d^2 / (2 \ell^2))`.

    Parameters
    ----------
    distance : Distance, default=Euclidean()
    lengthscale : float or "median", default=1.0
    """

    distance: Distance = Euclidean()
    lengthscale: Lengthscale = 1.0
    profile = "gaussian"


@dataclass(frozen=True)
class GammaExponentialKernel(RadialKernel):
    r"""The kernel :math:`\exp(-(d / \ell)^\gamma)`.

    Parameters
    ----------
    gamma : float, default=1.0
        Above 0 and at most 2.
    distance : Distance, default=Euclidean()
    lengthscale : float or "median", default=1.0
    """

    gamma: float = 1.0
    distance: Distance = Euclidean()
    lengthscale: Lengthscale = 1.0
    profile = "gamma-exponential"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self.gamma, "gamma")
        if self.gamma > 2:
            raise InputError(f"gamma must be above 0 and at most 2, but is {self.gamma!r}.")

    @property
    def shape(self) -> float:
        """The exponent."""
        return self.gamma


@dataclass(frozen=True)
class Matern32Kernel(RadialKernel):
    r"""The Matérn kernel of smoothness 3/2, :math:`(1 + \sqrt3 u) e^{-\sqrt3 u}` with :math:`u = d / \ell`.

    Parameters
    ----------
    distance : Distance, default=Euclidean()
    lengthscale : float or "median", default=1.0
    """

    distance: Distance = Euclidean()
    lengthscale: Lengthscale = 1.0
    profile = "matern32"


@dataclass(frozen=True)
class Matern52Kernel(RadialKernel):
    r"""The Matérn kernel of smoothness 5/2, :math:`(1 + \sqrt5 u + 5 u^2 / 3) e^{-\sqrt5 u}` with :math:`u = d / \ell`.

    Parameters
    ----------
    distance : Distance, default=Euclidean()
    lengthscale : float or "median", default=1.0
    """

    distance: Distance = Euclidean()
    lengthscale: Lengthscale = 1.0
    profile = "matern52"


@dataclass(frozen=True)
class RationalQuadraticKernel(RadialKernel):
    r"""The rational quadratic kernel :math:`(1 + u^2 / (2 \alpha))^{-\alpha}` with :math:`u = d / \ell`.

    Parameters
    ----------
    alpha : float, default=1.0
    distance : Distance, default=Euclidean()
    lengthscale : float or "median", default=1.0
    """

    alpha: float = 1.0
    distance: Distance = Euclidean()
    lengthscale: Lengthscale = 1.0
    profile = "rational-quadratic"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self.alpha, "alpha")

    @property
    def shape(self) -> float:
        """The exponent."""
        return self.alpha
