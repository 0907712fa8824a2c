"""The kernels on predictions that the compiled code knows: a distance, and a decreasing function of it."""

from dataclasses import dataclass
from typing import Literal

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
