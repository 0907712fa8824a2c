"""Headers of Parquet files, read by compiled code; unusual ones are left to a slower reader.

The reference is `calibrant.io.parquet_sizes`: where these functions return a result, it returns the same.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from calibrant._core.library import library

WINDOW = 1024
"""Number of bytes read at a time: most headers take less than 100."""


class Chunk(NamedTuple):
    """A column of a group of rows: its name, how many values it has, and where its first page is in the file."""

    name: bytes
    values: int
    position: int


def chunks_of(footer: bytes) -> list[Chunk] | None:
    """Return all columns of all groups of rows, or None if the footer is unusual or nothing is compiled."""
    core = library()
    if core is None:
        return None
    most = len(footer) // 8  # A chunk takes more.
    found, count = np.empty((most, 4), dtype=np.int64), np.empty(1, dtype=np.int64)
    core.parquet_chunks(footer, len(footer), most, found, count)
    if count[0] < 0:
        return None
    rows = found[: count[0]].tolist()
    return [Chunk(footer[start : start + size], values, position) for values, position, start, size in rows]


def unpacked_size(chunk: Chunk, read: Callable[[int, int], bytes]) -> int | None:
    """Return how many bytes the pages of a chunk unpack to, or None unless they have as many values as the chunk.

    Parameters
    ----------
    chunk : Chunk
    read : callable
        Takes a position in the file and a number of bytes, and returns at most that many bytes.
    """
    core, start, state = library(), chunk.position, np.array([chunk.values, 0, 0, 0])
    if core is None or not chunk.values:
        return None
    found = 0
    while found < chunk.values:
        state[3] = 0
        window = read(start, WINDOW)
        core.parquet_pages(window, len(window), state)
        _, found, size, step = state.tolist()
        if not step:
            return None
        start += step
    return int(size)
