"""The matrix H of `calibrant.kernels.pairs`, built from data and a kernel."""

import numpy as np

from calibrant._border.types import FloatArray
from calibrant._border.warn import warn
from calibrant._core.distances import Distance as CompiledDistance
from calibrant._core.distances import Kernel as CompiledKernel
from calibrant.exceptions import InputError
from calibrant.forecasts import Forecasts
from calibrant.forecasts.convolution import Profile
from calibrant.kernels.algebra import JointKernel, Kernel, TensorProduct, unscaled
from calibrant.kernels.distances import Euclidean, MixtureWasserstein, TotalVariation, Wasserstein
from calibrant.kernels.general import GeneralKernel, general_tile
from calibrant.kernels.pairs import PairMatrix, RadialPairs, SortedPairs, SummedPairs, TiledPairs
from calibrant.kernels.radial import ExponentialKernel, GammaExponentialKernel, GaussianKernel, RadialKernel
from calibrant.kernels.targets import ClassGram, WhiteKernel, gram_of
from calibrant.predictions import Predictions

Data = Predictions | Forecasts


def check_kernel(kernel: object) -> None:
    """Refuse anything but a tensor product of kernels, a function or None."""
    if kernel is not None and not isinstance(kernel, JointKernel) and not callable(kernel):
        raise TypeError(
            "kernel must be a tensor product such as ExponentialKernel() @ WhiteKernel(), or a function of two "
            f"pairs (prediction, target), but is {kernel!r}."
        )


def default_kernel(data: Data) -> JointKernel:
    """Return the kernel that is used if none is given: exponential in the predictions, with the median lengthscale.

    Classes: total variation, and equality of labels. Forecasts: 2-Wasserstein (of components for mixtures), and a
    Gaussian in the targets whose lengthscale is the median predicted spread.
    """
    if isinstance(data, Predictions):
        return ExponentialKernel(TotalVariation(), "median") @ WhiteKernel()
    from calibrant.forecasts import Mixture

    distance = MixtureWasserstein() if isinstance(data.distribution, Mixture) else Wasserstein()
    return ExponentialKernel(distance, "median") @ GaussianKernel(Euclidean(), "median")


def tune(kernel: JointKernel | GeneralKernel | None, data: Data) -> JointKernel | GeneralKernel:
    """Return the kernel to use on these data, with every lengthscale a number."""
    kernel = default_kernel(data) if kernel is None else kernel
    return kernel.tuned(data) if isinstance(kernel, JointKernel) else kernel


def pair_matrix(data: Data, kernel: JointKernel | GeneralKernel) -> PairMatrix:
    """Return the matrix H of the data under a tuned kernel, by the fastest way that is exact."""
    if not isinstance(kernel, JointKernel):
        return TiledPairs(data.n_samples, general_tile(data, kernel))
    if isinstance(data, Predictions):
        parts = tuple(_class_pairs(data, term) for term in kernel.terms)
    else:
        parts = tuple(_forecast_pairs(data, term) for term in kernel.terms)
    return parts[0] if len(parts) == 1 else SummedPairs(parts)


def row_sums(data: Data, kernel: JointKernel | GeneralKernel) -> FloatArray:
    """Return the sums of w_j H_ij over all other rows j, with weights relative to the largest.

    They are cached with class predictions. The sum over all pairs is half the sum of w_i times the sum of row i.
    """

    def compute() -> FloatArray:
        weights = data.weights / data.weights.max()
        return pair_matrix(data, kernel).matmul(weights[:, None])[:, 0]

    return data.once(("row sums", kernel), compute) if isinstance(data, Predictions) else compute()


def _class_pairs(data: Predictions, term: TensorProduct) -> PairMatrix:
    scale, kernel = unscaled(term.predictions)
    gram = gram_of(term.targets, data.n_classes, scale)
    if isinstance(kernel, RadialKernel) and isinstance(kernel.distance, (TotalVariation, Euclidean)):
        return _radial_pairs(data, kernel, gram)
    probs, residuals = data.probs, data.residuals
    products = gram.times(residuals)
    return TiledPairs(data.n_samples, lambda i, j: kernel.matrix(probs[i], probs[j]) * (products[i] @ residuals[j].T))


def prediction_pairs(data: Predictions, kernel: Kernel) -> PairMatrix:
    """Return the matrix of a kernel on the predictions alone, without residuals, which redrawn labels share."""
    scale, radial = unscaled(kernel)
    ones = np.ones((data.n_samples, 1))
    if isinstance(radial, RadialKernel) and isinstance(radial.distance, (TotalVariation, Euclidean)):
        return _radial(data, radial, ones, ClassGram(scale, None))
    return TiledPairs(data.n_samples, lambda i, j: kernel.matrix(data.probs[i], data.probs[j]))


def _radial_pairs(data: Predictions, kernel: RadialKernel, gram: ClassGram) -> PairMatrix:
    if isinstance(kernel.distance, TotalVariation) and data.n_classes > 2 and not _hilbertian(kernel):
        warn(
            f"{kernel!r} is not positive definite for {data.n_classes} classes, so squared errors may be negative. "
            "Use ExponentialKernel with TotalVariation(), or Euclidean()."
        )
    if data.n_classes == 2:  # Residuals are (-r, r): one column does the work of two.
        factor = gram.distance(0, 1)
        return _radial(data, kernel, (data.labels - data.positive)[:, None], ClassGram(factor, None))
    return _radial(data, kernel, data.residuals, gram)


def _radial(data: Predictions, kernel: RadialKernel, vectors: FloatArray, gram: ClassGram) -> PairMatrix:
    """Return the matrix of a radial kernel times v_i G v_j, for vectors of shape (n, C)."""
    lengthscale = float(kernel.lengthscale)
    points = data.probs
    name: CompiledDistance = "total-variation" if isinstance(kernel.distance, TotalVariation) else "euclidean"
    if data.n_classes == 2:  # Two rows are |p - q| apart in total variation, sqrt(2) |p - q| in Euclidean distance.
        step = 1.0 if name == "total-variation" else np.sqrt(2.0)
        points, name = step * data.positive[:, None], "euclidean"
        if isinstance(kernel, ExponentialKernel):
            return SortedPairs(points[:, 0], vectors[:, 0], lengthscale, gram.scale)
    compiled = CompiledKernel(kernel.profile, name, lengthscale, kernel.shape)
    if gram.is_identity:
        return RadialPairs(points, vectors, None, compiled)
    return RadialPairs(points, gram.times(vectors), vectors, compiled)


def _hilbertian(kernel: RadialKernel) -> bool:
    """Return whether the kernel of total variation distances is positive definite for any number of classes."""
    return isinstance(kernel, ExponentialKernel) or (isinstance(kernel, GammaExponentialKernel) and kernel.gamma <= 1)


def _forecast_pairs(data: Forecasts, term: TensorProduct) -> PairMatrix:
    from calibrant.forecasts import target_discrepancy

    scale, targets = unscaled(term.targets)
    profile, lengthscale = target_profile(targets)

    def tile(i: slice, j: slice) -> FloatArray:
        rows, columns = data.take(i), data.take(j)
        values = term.predictions.matrix(rows.distribution, columns.distribution)
        return scale * values * target_discrepancy(rows, columns, profile, lengthscale)

    return TiledPairs(data.n_samples, tile)


def target_profile(kernel: Kernel) -> tuple[Profile, float]:
    """Return the profile and lengthscale of a kernel on real targets, whose expectations must be known."""
    if isinstance(kernel, (GaussianKernel, ExponentialKernel)) and isinstance(kernel.distance, Euclidean):
        profile: Profile = "gaussian" if isinstance(kernel, GaussianKernel) else "exponential"
        return profile, float(kernel.lengthscale)
    raise InputError(
        "the target kernel of forecasts must be GaussianKernel(Euclidean()) or ExponentialKernel(Euclidean()), "
        f"but is {kernel!r}."
    )
