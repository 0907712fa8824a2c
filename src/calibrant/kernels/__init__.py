"""Kernels: frozen choices that are combined with ``+``, ``*`` and ``@``."""

from calibrant.kernels.algebra import (
    JointKernel,
    JointSum,
    Kernel,
    ProductKernel,
    ScaledKernel,
    SumKernel,
    TensorProduct,
)
from calibrant.kernels.distances import (
    Distance,
    Euclidean,
    MixtureWasserstein,
    TotalVariation,
    Wasserstein,
    median_distance,
)
from calibrant.kernels.general import SampledKernel
from calibrant.kernels.radial import (
    ExponentialKernel,
    GammaExponentialKernel,
    GaussianKernel,
    Matern32Kernel,
    Matern52Kernel,
    RadialKernel,
    RationalQuadraticKernel,
)
from calibrant.kernels.targets import GramKernel, WhiteKernel

__all__ = [
    "KERNELS",
    "Distance",
    "Euclidean",
    "ExponentialKernel",
    "GammaExponentialKernel",
    "GaussianKernel",
    "GramKernel",
    "JointKernel",
    "JointSum",
    "Kernel",
    "Matern32Kernel",
    "Matern52Kernel",
    "MixtureWasserstein",
    "ProductKernel",
    "RadialKernel",
    "RationalQuadraticKernel",
    "SampledKernel",
    "ScaledKernel",
    "SumKernel",
    "TensorProduct",
    "TotalVariation",
    "Wasserstein",
    "WhiteKernel",
    "median_distance",
]

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
