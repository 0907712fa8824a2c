"""Base classes of kernels on predictions, on targets and on both; sums, products and multiples of kernels."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.binning.ties import at_equal_ranks
from calibrant.exceptions import InputError
from calibrant.forecasts import Forecasts
from calibrant.forecasts.distribution import Distribution
from calibrant.kernels.distances import EXACT_MEDIAN_ROWS, Distance, median_distance
from calibrant.predictions import Predictions


class Kernel(ABC):
    """A symmetric, positive definite function of two points; combine with ``+``, ``*`` and ``@``.

    ``2.0 * k`` scales, ``k + l`` and ``k * l`` act point by point, ``k @ l`` is the tensor product of a kernel on
    predictions and a kernel on targets.
    """

    @abstractmethod
    def matrix(self, x: object, y: object) -> FloatArray:
        """Return the values at all pairs of points."""

    @property
    @abstractmethod
    def bound(self) -> float:
        """Largest absolute value of the kernel."""

    def tuned(self, median: Callable[[Distance], float]) -> "Kernel":  # noqa: ARG002 (most have no lengthscale)
        """Return the kernel with every lengthscale "median" replaced by the median of its distance."""
        return self

    def __add__(self, other: "Kernel") -> "Kernel":
        return SumKernel(self, _checked(other))

    def __mul__(self, other: "Kernel | float") -> "Kernel":
        if isinstance(other, Kernel):
            return ProductKernel(self, other)
        return ScaledKernel(other, self)

    __rmul__ = __mul__

    def __matmul__(self, other: "Kernel") -> "TensorProduct":
        return TensorProduct(self, _checked(other))


@dataclass(frozen=True)
class _PairOfKernels(Kernel):
    """Two kernels on the same points."""

    first: Kernel
    second: Kernel

    def tuned(self, median: Callable[[Distance], float]) -> Self:
        """Return the kernel with every lengthscale a number."""
        return type(self)(self.first.tuned(median), self.second.tuned(median))


@dataclass(frozen=True)
class SumKernel(_PairOfKernels):
    """The sum of two kernels on the same points, written ``k + l``."""

    @property
    def bound(self) -> float:
        """An upper bound of the absolute value of the kernel."""
        return self.first.bound + self.second.bound

    def matrix(self, x: object, y: object) -> FloatArray:
        """Return the values at all pairs of points."""
        return self.first.matrix(x, y) + self.second.matrix(x, y)


@dataclass(frozen=True)
class ProductKernel(_PairOfKernels):
    """The product of two kernels on the same points, written ``k * l``."""

    @property
    def bound(self) -> float:
        """An upper bound of the absolute value of the kernel."""
        return self.first.bound * self.second.bound

    def matrix(self, x: object, y: object) -> FloatArray:
        """Return the values at all pairs of points."""
        return self.first.matrix(x, y) * self.second.matrix(x, y)


@dataclass(frozen=True)
class ScaledKernel(Kernel):
    """A kernel times a positive number, written ``2.0 * k``."""

    scale: float
    kernel: Kernel

    def __post_init__(self) -> None:
        if isinstance(self.scale, bool) or not isinstance(self.scale, (int, float, np.number)):
            raise TypeError(f"a kernel is multiplied by a kernel or a number, but not by {self.scale!r}.")
        if not 0 < self.scale < np.inf:
            raise InputError(f"the scale of a kernel must be positive and finite, but is {self.scale!r}.")

    @property
    def bound(self) -> float:
        """Largest absolute value of the kernel."""
        return self.scale * self.kernel.bound

    def tuned(self, median: Callable[[Distance], float]) -> Kernel:
        """Return the kernel with every lengthscale a number."""
        return ScaledKernel(self.scale, self.kernel.tuned(median))

    def matrix(self, x: object, y: object) -> FloatArray:
        """Return the values at all pairs of points."""
        return self.scale * self.kernel.matrix(x, y)


def unscaled(kernel: Kernel) -> tuple[float, Kernel]:
    """Split a kernel into its scale and the rest."""
    scale = 1.0
    while isinstance(kernel, ScaledKernel):
        scale *= kernel.scale
        kernel = kernel.kernel
    return scale, kernel


def _checked(other: object) -> Kernel:
    if not isinstance(other, Kernel):
        raise TypeError(f"a kernel is combined with a kernel such as WhiteKernel(), but got {other!r}.")
    return other


class JointKernel(ABC):
    """A sum of tensor products; ``+``, ``*`` and scaling stay within this form."""

    @property
    @abstractmethod
    def terms(self) -> "tuple[TensorProduct, ...]":
        """The tensor products whose sum this is."""

    @property
    def bound(self) -> float:
        """An upper bound of the absolute value of the kernel."""
        return sum(term.predictions.bound * term.targets.bound for term in self.terms)

    def tuned(self, data: Predictions | Forecasts) -> "JointKernel":
        """Return the kernel with every lengthscale a number, chosen by the predictions alone."""
        return _joined(tuple(term.tuned_term(data) for term in self.terms))

    def __call__(self, one: tuple[object, object], other: tuple[object, object]) -> float:
        """Return the value at two pairs of a prediction and a target.

        Parameters
        ----------
        one, other : tuple
            The prediction is a vector of probabilities, the probability of class 1, or a distribution of one row; the
            target is a class or a value.

        Examples
        --------
        >>> from calibrant.kernels import ExponentialKernel, WhiteKernel
        >>> kernel = ExponentialKernel() @ WhiteKernel()  # total variation
        >>> round(kernel(([0.5, 0.5], 1), ([1.0, 0.0], 1)), 4), kernel(([0.5, 0.5], 1), ([0.5, 0.5], 0))
        (0.6065, 0.0)
        """
        (p, y), (q, z) = one, other
        points, targets = (_as_prediction(p), _as_prediction(q)), (_as_target(y), _as_target(z))
        values = (t.predictions.matrix(*points)[0, 0] * t.targets.matrix(*targets)[0, 0] for t in self.terms)
        return float(sum(values))

    def __add__(self, other: "JointKernel") -> "JointKernel":
        return _joined(self.terms + other.terms)

    def __mul__(self, other: "JointKernel | float") -> "JointKernel":
        if not isinstance(other, JointKernel):
            return _joined(tuple(TensorProduct(t.predictions * other, t.targets) for t in self.terms))
        products = ((a, b) for a in self.terms for b in other.terms)
        return _joined(tuple(TensorProduct(a.predictions * b.predictions, a.targets * b.targets) for a, b in products))

    __rmul__ = __mul__


@dataclass(frozen=True)
class TensorProduct(JointKernel):
    r"""The product of a kernel on predictions and a kernel on targets, written ``k @ l``.

    Parameters
    ----------
    predictions : Kernel
    targets : Kernel
        The lengthscale "median" means here the median spread of the predicted distributions, never that of targets.

    Notes
    -----
    .. math:: k\big((p, y), (q, z)\big) = k_P(p, q) \, k_Y(y, z).
    """

    predictions: Kernel
    targets: Kernel

    def __post_init__(self) -> None:
        for name in ("predictions", "targets"):
            if not isinstance(getattr(self, name), Kernel):
                raise TypeError(f"{name} must be a kernel such as WhiteKernel(), but is {getattr(self, name)!r}.")

    @property
    def terms(self) -> "tuple[TensorProduct, ...]":
        """The product itself."""
        return (self,)

    def tuned_term(self, data: Predictions | Forecasts) -> "TensorProduct":
        """Return the product with every lengthscale a number."""
        # Cached with the data: a median over pairs takes long, and an assessment needs it about ten times.
        medians: dict[Distance, float] = data.__dict__.setdefault("_medians", {})
        if not data.weights.all():  # Rows of weight 0 count as absent.
            data = data.take(np.flatnonzero(data.weights))
        points = _points(data) if isinstance(data, Predictions) else data.distribution

        def median(distance: Distance) -> float:
            if distance not in medians:
                medians[distance] = median_distance(distance, points)
            return medians[distance]

        predictions = self.predictions.tuned(median)
        if isinstance(data, Predictions):
            return TensorProduct(predictions, self.targets)
        from calibrant.forecasts import default_lengthscale

        return TensorProduct(predictions, self.targets.tuned(lambda _: default_lengthscale(data.distribution)))


def _points(data: Predictions) -> FloatArray:
    """Return the predictions; for a sketch, those of rows at equal ranks among all that its cells stand for."""
    if data.copies is None:
        return data.probs
    return data.probs[at_equal_ranks(data, min(data.n_rows, EXACT_MEDIAN_ROWS))]


@dataclass(frozen=True)
class JointSum(JointKernel):
    """The sum of several tensor products, written ``k @ l + m @ n``."""

    parts: tuple[TensorProduct, ...]

    @property
    def terms(self) -> tuple[TensorProduct, ...]:
        """The tensor products whose sum this is."""
        return self.parts


def _joined(terms: tuple[TensorProduct, ...]) -> JointKernel:
    return terms[0] if len(terms) == 1 else JointSum(terms)


def _as_prediction(value: object) -> object:
    """Return one prediction as the kernels on predictions take it."""
    if isinstance(value, Distribution):
        if value.n != 1:
            raise InputError(f"a prediction must be a distribution of one row, but has {value.n}. Pass .take([i]).")
        return value
    point = np.asarray(value, dtype=float)
    return np.array([[1.0 - point, point]]) if point.ndim == 0 else point.reshape(1, -1)


def _as_target(value: object) -> object:
    """Return one target as the kernels on targets take it."""
    point = np.asarray(value).reshape(1, -1)
    return point.astype(float) if point.dtype.kind in "iufb" else point
