r"""The matrix behind every kernel calibration error and test, reduced without ever being stored.

For rows i and j of the data, with the kernel :math:`k_P k_Y`,

.. math:: H_{ij} = k_P(p_i, p_j) \big[k_Y(y_i, y_j) - E_{Z \sim p_i} k_Y(Z, y_j) - E_{Z' \sim p_j} k_Y(y_i, Z')
    + E k_Y(Z, Z')\big].

For K classes with residuals :math:`R = \mathrm{onehot}(y) - P` and the Gram matrix G of the target kernel, the bracket
is :math:`r_i^\top G r_j`.
"""

from calibrant.kernels.pairs.base import PairMatrix
from calibrant.kernels.pairs.line import SortedPairs, line_pairs
from calibrant.kernels.pairs.radial import RadialPairs
from calibrant.kernels.pairs.tiled import SummedPairs, TiledPairs

__all__ = ["PairMatrix", "RadialPairs", "SortedPairs", "SummedPairs", "TiledPairs", "line_pairs"]
