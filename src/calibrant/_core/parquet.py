"""Headers of Parquet files, read by compiled code, which must be there: a reader in Python would be far slower."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from calibrant._core.library import required

WINDOW, LONGER = 1024, (2**16, 2**26)
"""Number of bytes read at a time: most headers take less than 100; some hold long texts."""


class Chunk(NamedTuple):
    """A column of a group of rows: its name, how many values it has, and where its first page is in the file."""

    name: bytes
    values: int
    position: int


def chunks_of(footer: bytes) -> list[Chunk] | None:
    """Return all columns of all groups of rows, or None if the footer is broken."""
    most = len(footer) // 8  # A chunk takes more.
    found, count = np.empty((most, 4), dtype=np.int64), np.empty(1, dtype=np.int64)
    required().parquet_chunks(footer, len(footer), most, found, count)
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

    def step(places: Sequence[int], window: int) -> None:
        """Read the headers in the next bytes of these chunks."""
        windows = [read(starts[i], window) for i in places]
        ends, found = np.cumsum([len(each) for each in windows]), np.array([states[i] for i in places])
        required().parquet_pages(b"".join(windows), ends, len(ends), found)
        for i, (*state, length) in zip(places, found.tolist(), strict=True):
            starts[i], states[i], are_stuck[i] = starts[i] + length, [*state, 0], not length

    # Values expected, values found, bytes unpacked, step to the next page.
    states = [[chunk.values, 0, 0, 0] for chunk in chunks]
    starts = [chunk.position for chunk in chunks]
    are_stuck = [False] * len(chunks)
    # Empty chunks are never read. All others at once: a call hands the interpreter to other threads, and takes it back.
    while left := [i for i, (expected, found, *_) in enumerate(states) if found < expected]:
        step(left, WINDOW)
        for i in filter(are_stuck.__getitem__, left):
            for window in LONGER:
                if are_stuck[i]:
                    step([i], window)
            if are_stuck[i]:
                return None
    return [size for _, _, size, _ in states]
