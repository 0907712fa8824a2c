"""Bootstrap samples as counts, in plain NumPy: the twin of `draws`.

The random numbers are those of SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number
generators", OOPSLA 2014), started anew with a key for each sample.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_CACHED = 2**14
"""Number of random numbers that stay in the cache until they are counted."""

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def mix(state: Any) -> Any:
    """Return 64 random bits from a state of 64 bits."""
    bits = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def row_of(bits: Any, n: int) -> Any:
    """Return n times the fraction that the bits are of 2**64, rounded down: one of fewer than 2**32 rows."""
    half, size = np.uint64(32), np.uint64(n)
    upper, lower = bits >> half, bits & np.uint64(0xFFFFFFFF)
    return (upper * size + ((lower * size) >> half)) >> half


def count_draws(keys: NDArray[np.uint64], n: int) -> NDArray[np.float64]:
    """Return how often each of n rows occurs in a sample of n, (n, B), for each of B keys."""
    steps = np.arange(1, n + 1, dtype=np.uint64) * GOLDEN
    counts = np.empty((n, len(keys)))
    together = max(1, _CACHED // n)
    for first in range(0, len(keys), together):
        some = keys[first : first + together, None]
        rows = row_of(mix(some + steps), n).astype(np.int64) + n * np.arange(len(some))[:, None]
        counts[:, first : first + together] = np.bincount(rows.ravel(), minlength=rows.size).reshape(-1, n).T
    return counts
