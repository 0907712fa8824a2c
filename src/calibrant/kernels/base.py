"""What a kernel is, and the algebra of kernels."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant._typing import FloatArray
from calibrant.exceptions import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from calibrant.kernels.distances import Distance
    from calibrant.kernels.joint import TensorProduct


class Kernel(ABC):
    """A symmetric, positive definite function of two points; combine with ``+``, ``*`` and ``@``.

    ``2.0 * k`` scales, ``k + l`` and ``k * l`` act point by point, ``k @ l`` is the tensor product of a kernel on
    predictions and a kernel on targets.
    """

    @abstractmethod
    def matrix(self, x: Any, y: Any) -> FloatArray:
        """Return the values at all pairs of points."""

    @property
    @abstractmethod
    def bound(self) -> float:
        """Largest absolute value of the kernel."""

    def tuned(self, median: "Callable[[Distance], float]") -> "Kernel":  # noqa: ARG002 (most have no lengthscale)
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
        from calibrant.kernels.joint import TensorProduct

        return TensorProduct(self, _checked(other))


@dataclass(frozen=True)
class SumKernel(Kernel):
    """The sum of two kernels on the same points, written ``k + l``."""

    first: Kernel
    second: Kernel

    @property
    def bound(self) -> float:
        """Largest absolute value of the kernel, or something above it."""
        return self.first.bound + self.second.bound

    def tuned(self, median: "Callable[[Distance], float]") -> Kernel:
        """Return the kernel with every lengthscale a number."""
        return SumKernel(self.first.tuned(median), self.second.tuned(median))

    def matrix(self, x: Any, y: Any) -> FloatArray:
        """Return the values at all pairs of points."""
        return self.first.matrix(x, y) + self.second.matrix(x, y)


@dataclass(frozen=True)
class ProductKernel(Kernel):
    """The product of two kernels on the same points, written ``k * l``."""

    first: Kernel
    second: Kernel

    @property
    def bound(self) -> float:
        """Largest absolute value of the kernel, or something above it."""
        return self.first.bound * self.second.bound

    def tuned(self, median: "Callable[[Distance], float]") -> Kernel:
        """Return the kernel with every lengthscale a number."""
        return ProductKernel(self.first.tuned(median), self.second.tuned(median))

    def matrix(self, x: Any, y: Any) -> FloatArray:
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

    def tuned(self, median: "Callable[[Distance], float]") -> Kernel:
        """Return the kernel with every lengthscale a number."""
        return ScaledKernel(self.scale, self.kernel.tuned(median))

    def matrix(self, x: Any, y: Any) -> FloatArray:
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
