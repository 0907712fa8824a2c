"""Bootstrap samples as counts: how often each row is drawn, several times faster than NumPy draws and counts.

Importing this module imports numba: import it inside the function that needs it. `twin_draws` says the same in NumPy.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._native import twin_draws
from calibrant._native.compile import entry, glue
from calibrant._native.twin_draws import GOLDEN

mix, row_of = glue(twin_draws.mix), glue(twin_draws.row_of)

# So many samples are counted before they are written side by side.
_TOGETHER = 8


@entry
def _count(keys: Any, small: Any, counts: Any) -> None:
    n = len(counts)
    for first in range(0, len(keys), _TOGETHER):
        together = min(_TOGETHER, len(keys) - first)
        small[:] = 0
        for sample in range(together):
            state = keys[first + sample]
            start = n * sample
            for _ in range(n):
                state += GOLDEN
                small[start + np.int64(row_of(mix(state), n))] += np.uint16(1)
        for row in range(n):
            for sample in range(together):
                counts[row, first + sample] = small[n * sample + row]


def count_draws(keys: NDArray[np.uint64], n: int) -> NDArray[np.float64]:
    """Return how often each of n rows occurs in a sample of n, (n, B), for each of B keys."""
    counts = np.empty((n, len(keys)))
    _count(keys, np.empty(n * _TOGETHER, dtype=np.uint16), counts)
    return counts
