"""Distances of all pairs of rows: compiled, or by SciPy."""

import numpy as np
from numpy.typing import NDArray

from calibrant._core.library import library
from calibrant._core.packing import Layout
from calibrant._core.threads import run_all

Floats = NDArray[np.float64]

_ROWS_PER_JOB, _CELLS_PER_JOB = 64, 2**18
"""Rows of one job, and distances times classes: with fewer of them there are more rows."""


def distances(x: Floats, y: Floats, *, squared: bool, n_threads: int | None = None) -> Floats:
    r"""Return :math:`\sum_k |x_{ik} - y_{jk}|`, or of the squares, for all rows of x (n, K) and y (m, K): (n, m).

    Examples
    --------
    >>> distances(np.array([[0.0, 1.0]]), np.array([[1.0, 0.0], [0.5, 0.5]]), squared=False).tolist()
    [[2.0, 1.0]]
    """
    core = library()
    if core is None:
        return by_scipy(x, y, squared=squared)
    layout = Layout.of(core)
    points, found = layout.points(x, y), np.empty((layout.padded(len(x)), layout.padded(len(y))))

    rows_per_job = max(_ROWS_PER_JOB, layout.padded(_CELLS_PER_JOB // max(1, found.shape[1] * x.shape[1])))

    def task(first: int) -> None:
        part = found[first : first + rows_per_job]
        core.distances(squared, points, first, *part.shape, part)

    run_all(task, range(0, len(found), rows_per_job), n_threads)
    return found[: len(x), : len(y)]


def by_scipy(x: Floats, y: Floats, *, squared: bool) -> Floats:
    """Return the same without compiled code of our own."""
    from scipy.spatial.distance import cdist

    return cdist(x, y, "sqeuclidean" if squared else "cityblock")
