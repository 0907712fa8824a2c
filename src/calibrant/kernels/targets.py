"""Kernels on class labels."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant._border.convert import convert
from calibrant._border.types import FloatArray
from calibrant.exceptions import InputError
from calibrant.kernels.base import Kernel


@dataclass(frozen=True)
class WhiteKernel(Kernel):
    """1 for equal targets, 0 for different ones."""

    @property
    def bound(self) -> float:
        """Largest absolute value of the kernel."""
        return 1.0

    def matrix(self, x: Any, y: Any) -> FloatArray:
        """Return the values at all pairs of points."""
        return np.all(x[:, None, :] == y[None, :, :], axis=2).astype(float)


@dataclass(frozen=True, eq=False)
class GramKernel(Kernel):
    """A kernel on K classes given by its matrix of values.

    Parameters
    ----------
    gram : array-like of shape (K, K)
        Symmetric and positive semidefinite: how alike two classes are.

    Examples
    --------
    >>> GramKernel([[1.0, 0.5], [0.5, 1.0]]).bound
    1.0
    """

    gram: FloatArray

    def __post_init__(self) -> None:
        gram = np.array(convert(self.gram, "gram").values, dtype=float)
        if gram.ndim != 2 or gram.shape[0] != gram.shape[1] or not np.allclose(gram, gram.T, atol=1e-12):
            raise InputError(f"gram must be a symmetric square matrix, but has shape {gram.shape}.")
        smallest = float(np.linalg.eigvalsh(gram).min())
        if not smallest >= -1e-10 * max(1.0, np.abs(gram).max()):
            raise InputError(f"gram must be positive semidefinite, but has the eigenvalue {smallest:.4g}.")
        gram.setflags(write=False)
        object.__setattr__(self, "gram", gram)

    @property
    def bound(self) -> float:
        """Largest absolute value of the kernel."""
        return float(np.abs(self.gram).max())

    def matrix(self, x: Any, y: Any) -> FloatArray:
        """Return the values at all pairs of class indices."""
        return self.gram[np.ix_(x[:, 0].astype(int), y[:, 0].astype(int))]
