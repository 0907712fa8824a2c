"""Kernels on class labels, and their Gram matrix, which is not stored if it is a multiple of the identity."""

from dataclasses import dataclass

import numpy as np

from calibrant._border.convert import convert
from calibrant._border.numerals import as_given, significant
from calibrant._border.types import FloatArray, IntArray
from calibrant.exceptions import InputError
from calibrant.kernels.algebra import Kernel, unscaled
from calibrant.kernels.radial import RadialKernel


@dataclass(frozen=True)
class WhiteKernel(Kernel):
    """1 for equal targets, 0 for different ones."""

    @property
    def bound(self) -> float:
        """Largest absolute value of the kernel."""
        return 1.0

    def matrix(self, x: object, y: object) -> FloatArray:
        """Return the values at all pairs of points."""
        one, other = np.asarray(x), np.asarray(y)
        return np.all(one[:, None, :] == other[None, :, :], axis=2).astype(float)


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
        if gram.ndim != 2 or gram.shape[0] != gram.shape[1]:
            raise InputError(f"gram must be a symmetric square matrix, but has shape {gram.shape}.")
        if not np.allclose(gram, gram.T, atol=1e-12):
            i, j = np.argwhere(~np.isclose(gram, gram.T, atol=1e-12))[0].tolist()
            values = f"{as_given(gram[i, j])} and {as_given(gram[j, i])}"
            raise InputError(f"gram must be symmetric, but entries ({i}, {j}) and ({j}, {i}) are {values}.")
        smallest = float(np.linalg.eigvalsh(gram).min())
        if not smallest >= -1e-10 * max(1.0, np.abs(gram).max()):
            raise InputError(f"gram must be positive semidefinite, but has the eigenvalue {significant(smallest, 4)}.")
        gram.setflags(write=False)
        object.__setattr__(self, "gram", gram)

    @property
    def bound(self) -> float:
        """Largest absolute value of the kernel."""
        return float(np.abs(self.gram).max())

    def matrix(self, x: object, y: object) -> FloatArray:
        """Return the values at all pairs of class indices."""
        return self.gram[np.ix_(np.asarray(x)[:, 0].astype(int), np.asarray(y)[:, 0].astype(int))]


@dataclass(frozen=True, eq=False)
class ClassGram:
    """Values G of a target kernel at all pairs of K classes.

    Examples
    --------
    >>> gram_of(WhiteKernel(), 3).times(np.array([[0.5, 0.2, 0.3]])).tolist()
    [[0.5, 0.2, 0.3]]
    """

    scale: float  # The values on the diagonal, if all others are 0.
    matrix: FloatArray | None
    """All values; None if G is `scale` times the identity: with 10 000 classes it would take 800 MB."""

    @property
    def is_identity(self) -> bool:
        """Whether G is the identity."""
        if self.matrix is None:
            return self.scale == 1
        return np.array_equal(self.matrix, np.eye(len(self.matrix)))

    def times(self, rows: FloatArray) -> FloatArray:
        """Return V G for rows V of shape (..., K)."""
        return self.scale * rows if self.matrix is None else rows @ self.matrix

    def columns(self, rows: FloatArray, classes: IntArray) -> FloatArray:
        """Return V G e_c for each class c of a list, of shape (n, J)."""
        return self.scale * rows[:, classes] if self.matrix is None else rows @ self.matrix[:, classes]

    def row(self, label: int, classes: IntArray) -> FloatArray:
        """Return the values of one class with each class of a list."""
        return self.scale * (classes == label) if self.matrix is None else self.matrix[label, classes]

    def distance(self, a: int, b: int) -> float:
        """Return the squared distance of two different classes, G_aa - 2 G_ab + G_bb."""
        if self.matrix is None:
            return 2 * self.scale
        return float(self.matrix[a, a] - 2 * self.matrix[a, b] + self.matrix[b, b])

    def times_factor(self, rows: FloatArray) -> FloatArray:
        """Return V F for rows V of shape (..., K), where G = F F'."""
        return np.sqrt(self.scale) * rows if self.matrix is None else rows @ gram_factor(self.matrix)


def gram_of(kernel: Kernel, n_classes: int, scale: float = 1.0) -> ClassGram:
    """Return the values of a target kernel at all pairs of K classes, times a number."""
    own, inner = unscaled(kernel)
    if isinstance(inner, WhiteKernel):
        return ClassGram(scale * own, None)
    return ClassGram(1.0, scale * class_gram(kernel, n_classes))


def class_gram(kernel: Kernel, n_classes: int) -> FloatArray:
    """Return the values of a target kernel at all pairs of K classes, which are the numbers 0 to K - 1."""
    if isinstance(kernel, GramKernel) and len(kernel.gram) != n_classes:
        raise InputError(f"gram must have one row per class, but is for {len(kernel.gram)} classes, not {n_classes}.")
    if isinstance(kernel, RadialKernel) and kernel.lengthscale == "median":
        raise InputError('a kernel on classes needs a number for its lengthscale, but it is "median".')
    classes = np.arange(n_classes, dtype=float)[:, None]
    return kernel.matrix(classes, classes)


def gram_factor(gram: FloatArray) -> FloatArray:
    """Return F with G = F F' for a positive semidefinite matrix G."""
    if np.array_equal(gram, np.eye(len(gram))):
        return gram
    values, vectors = np.linalg.eigh(gram)
    return vectors * np.sqrt(np.maximum(values, 0.0))
