"""Bootstrap samples as counts: how often each row is drawn, several times faster than NumPy draws and counts."""

import numpy as np
from numpy.typing import NDArray

from calibrant._core import twin_draws
from calibrant._core.library import library

_TOGETHER = 8
"""Number of samples that are counted before they are written side by side."""


def count_draws(keys: NDArray[np.uint64], n: int) -> NDArray[np.float64]:
    """Return how often each of n rows occurs in a sample of n, (n, B), for each of B keys."""
    core = library()
    if core is None:
        return twin_draws.count_draws(keys, n)
    counts = np.empty((n, len(keys)))
    core.draw_counts(np.ascontiguousarray(keys), len(keys), n, np.empty(n * _TOGETHER, dtype=np.uint16), counts)
    return counts
