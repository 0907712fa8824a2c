"""Distances between all pairs of rows, compiled or by SciPy, and the radial kernels that the compiled code knows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from calibrant._border.types import FloatArray
from calibrant._core.library import library
from calibrant._core.packing import padded, points_of
from calibrant._core.threads import run_all

Distance = Literal["total-variation", "euclidean"]
Radial = Literal["exponential", "gaussian", "gamma-exponential", "matern32", "matern52", "rational-quadratic"]


@dataclass(frozen=True)
class Kernel:
    r"""A function :math:`\kappa(d / \text{lengthscale})` of the distance d between two rows, 1 at distance 0.

    Parameters
    ----------
    radial : str, default="exponential"
        With u = d / lengthscale: "exponential" exp(-u); "gaussian" exp(-u^2 / 2); "gamma-exponential" exp(-u^shape);
        "matern32" (1 + v) exp(-v), v = sqrt(3) u; "matern52" (1 + v + v^2 / 3) exp(-v), v = sqrt(5) u;
        "rational-quadratic" (1 + u^2 / (2 shape))^(-shape).
    distance : str, default="total-variation"
        "total-variation" is half the sum of absolute differences, "euclidean" the root of the sum of their squares.
    lengthscale : float, default=1.0
    shape : float, default=1.0
        The exponent of "gamma-exponential" or "rational-quadratic"; the others ignore it.
    """

    radial: Radial = "exponential"
    distance: Distance = "total-variation"
    lengthscale: float = 1.0
    shape: float = 1.0


@dataclass(frozen=True, eq=False)
class RadialMatrix:
    r"""The symmetric matrix :math:`H_{ij} = \kappa(d(P_i, P_j) / \ell) \langle A_i, B_j \rangle`, known by its factors.

    Parameters
    ----------
    points : ndarray of shape (n, K)
        P.
    left : ndarray of shape (n, C)
        A.
    right : ndarray of shape (n, C), optional
        B, which is A G with a symmetric G; by default A.
    kernel : Kernel
    """

    points: FloatArray
    left: FloatArray
    right: FloatArray | None = None
    kernel: Kernel = Kernel()

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.points)

    @property
    def other(self) -> FloatArray:
        """B."""
        return self.left if self.right is None else self.right

    def map(self, function: Callable[[FloatArray], FloatArray]) -> "RadialMatrix":
        """Return the matrix whose factors are functions of these."""
        right = None if self.right is None else function(self.right)
        return RadialMatrix(function(self.points), function(self.left), right, self.kernel)


def radial_value(radial: Radial, u: FloatArray, shape: float) -> FloatArray:
    """Return the values of a `Kernel` at distances u in units of its lengthscale.

    Examples
    --------
    >>> radial_value("rational-quadratic", np.array([0.0, 2.0]), 2.0).tolist()  # (1 + 4 / 4)^-2
    [1.0, 0.25]
    """
    match radial:
        case "exponential":
            return np.exp(-u)
        case "gaussian":
            return np.exp(-0.5 * u**2)
        case "gamma-exponential":
            return np.exp(-(u**shape))
        case "matern32":
            v = np.sqrt(3.0) * u
            return (1 + v) * np.exp(-v)
        case "matern52":
            v = np.sqrt(5.0) * u
            return (1 + v + v**2 / 3) * np.exp(-v)
        case "rational-quadratic":
            return (1 + u**2 / (2 * shape)) ** -shape


_ROWS_PER_JOB, _CELLS_PER_JOB = 64, 2**18
"""Rows of one job, and distances times classes: if these are fewer, a job has more rows."""


def distances(x: FloatArray, y: FloatArray, *, squared: bool) -> FloatArray:
    r"""Return :math:`\sum_k |x_{ik} - y_{jk}|`, or the sum of squares, for all rows of x (n, K) and y (m, K): (n, m).

    Examples
    --------
    >>> distances(np.array([[0.0, 1.0]]), np.array([[1.0, 0.0], [0.5, 0.5]]), squared=False).tolist()
    [[2.0, 1.0]]
    """
    core = library()
    if core is None:
        return by_scipy(x, y, squared=squared)
    points, found = points_of(x, y), np.empty((padded(len(x)), padded(len(y))))
    rows_per_job = max(_ROWS_PER_JOB, padded(_CELLS_PER_JOB // max(1, found.shape[1] * x.shape[1])))

    def task(first: int) -> None:
        part = found[first : first + rows_per_job]
        core.distances(squared, points, first, *part.shape, part)

    run_all(task, range(0, len(found), rows_per_job))
    return found[: len(x), : len(y)]


def by_scipy(x: FloatArray, y: FloatArray, *, squared: bool) -> FloatArray:
    """Return the same without compiled code of our own."""
    from scipy.spatial.distance import cdist

    return cdist(x, y, "sqeuclidean" if squared else "cityblock")
