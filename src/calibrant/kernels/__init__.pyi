from calibrant.kernels.algebra import (
    JointKernel as JointKernel,
    JointSum as JointSum,
    Kernel as Kernel,
    ProductKernel as ProductKernel,
    ScaledKernel as ScaledKernel,
    SumKernel as SumKernel,
    TensorProduct as TensorProduct,
)
from calibrant.kernels.distances import (
    Distance as Distance,
    Euclidean as Euclidean,
    median_distance as median_distance,
    MixtureWasserstein as MixtureWasserstein,
    TotalVariation as TotalVariation,
    Wasserstein as Wasserstein,
)
from calibrant.kernels.general import SampledKernel as SampledKernel
from calibrant.kernels.radial import (
    ExponentialKernel as ExponentialKernel,
    GammaExponentialKernel as GammaExponentialKernel,
    GaussianKernel as GaussianKernel,
    Matern32Kernel as Matern32Kernel,
    Matern52Kernel as Matern52Kernel,
    RadialKernel as RadialKernel,
    RationalQuadraticKernel as RationalQuadraticKernel,
)
from calibrant.kernels.table import KERNELS as KERNELS
from calibrant.kernels.targets import GramKernel as GramKernel, WhiteKernel as WhiteKernel
