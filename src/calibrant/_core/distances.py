"""Distances of all pairs of rows: compiled, or by SciPy."""

import numpy as np
from numpy.typing import NDArray

from calibrant._core.library import library
from calibrant._core.packing import zeros
from calibrant._core.threads import in_order

Floats = NDArray[np.float64]

_PER_PANEL = 4
"""Registers side by side, as the compiled code has them."""

_ROWS_PER_JOB = 64


def distances(x: Floats, y: Floats, *, squared: bool, n_threads: int | None = None) -> Floats:
    r"""Return :math:`\sum_k |x_{ik} - y_{jk}|`, or of the squares, for all rows of x (n, K) and y (m, K): (n, m).

    Examples
    --------
    >>> distances(np.array([[0.0, 1.0]]), np.array([[1.0, 0.0], [0.5, 0.5]]), squared=False).tolist()
    [[2.0, 1.0]]
    """
    core = library()
    if core is None:
        from scipy.spatial.distance import cdist

        return cdist(x, y, "sqeuclidean" if squared else "cityblock")
    (n, depth), m, width = x.shape, len(y), _PER_PANEL * core.lanes
    n_panels = -(-m // width)
    packed = zeros(n_panels * width * depth).reshape(n_panels, depth, width)
    room = np.zeros((n_panels * width, depth))
    room[:m] = y
    packed[:] = room.reshape(n_panels, width, depth).transpose(0, 2, 1)
    rows, found = np.ascontiguousarray(x, dtype=np.float64), np.empty((n, n_panels * width))

    def task(first: int) -> None:
        part = slice(first, min(first + _ROWS_PER_JOB, n))
        core.distances(squared, rows[part], packed, part.stop - first, n_panels, depth, found[part])

    for _ in in_order(task, range(0, n, _ROWS_PER_JOB), n_threads):
        pass
    return found[:, :m]
