"""Headers of Parquet files, read by compiled code; unusual ones are left to a slower reader.

The reference is `calibrant.io.parquet_sizes`: where these functions return a result, it returns the same.
"""

from collections.abc import Callable, Sequence
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


def unpacked_sizes(chunks: Sequence[Chunk], read: Callable[[int, int], bytes]) -> list[int] | None:
    """Return how many bytes the pages of each chunk unpack to, or None unless they have as many values as the chunk.

    Parameters
    ----------
    chunks : sequence of Chunk
    read : callable
        Takes a position in the file and a number of bytes, and returns at most that many bytes.
    """
    core, sizes = library(), dict.fromkeys(range(len(chunks)), 0)
    if core is None or not all(chunk.values for chunk in chunks):
        return None
    # Values expected, values found, bytes unpacked, step to the next page.
    left = {i: [chunk.values, 0, 0, 0] for i, chunk in enumerate(chunks)}
    starts = [chunk.position for chunk in chunks]
    while left:  # All chunks at once: a call hands the interpreter to other threads, and takes it back.
        windows = [read(starts[i], WINDOW) for i in left]
        ends, states = np.cumsum([len(window) for window in windows]), np.array([*left.values()])
        core.parquet_pages(b"".join(windows), ends, len(ends), states)
        for i, (values, found, size, step) in zip(tuple(left), states.tolist(), strict=True):
            if not step:
                return None
            starts[i], sizes[i], left[i] = starts[i] + step, size, [values, found, size, 0]
            if found == values:
                del left[i]
    return [*sizes.values()]
