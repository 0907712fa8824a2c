"""Kernels by name."""

from calibrant.kernels.algebra import Kernel
from calibrant.kernels.distances import Euclidean, TotalVariation
from calibrant.kernels.radial import (
    ExponentialKernel,
    GammaExponentialKernel,
    GaussianKernel,
    Matern32Kernel,
    Matern52Kernel,
    RationalQuadraticKernel,
)
from calibrant.kernels.targets import WhiteKernel

KERNELS: dict[str, Kernel] = {
    "exponential": ExponentialKernel(TotalVariation(), "median"),
    "exponential-euclidean": ExponentialKernel(Euclidean(), "median"),
    "gaussian": GaussianKernel(Euclidean(), "median"),
    "gamma-exponential": GammaExponentialKernel(1.5, Euclidean(), "median"),
    "matern32": Matern32Kernel(Euclidean(), "median"),
    "matern52": Matern52Kernel(Euclidean(), "median"),
    "rational-quadratic": RationalQuadraticKernel(1.0, Euclidean(), "median"),
    "white": WhiteKernel(),
}
"""Kernels by their name on the command line."""
