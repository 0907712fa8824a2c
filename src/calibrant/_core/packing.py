"""Arrays in the layout of the compiled code: padded to whole panels, aligned to cache lines.

A panel is the number of columns that are adjacent in memory, class by class.
"""

import numpy as np

from calibrant._border.types import FloatArray
from calibrant._core.library import Points, required

CACHE_LINE = 64
"""Bytes."""


def zeros(size: int) -> FloatArray:
    """Return flat zeros that begin on a cache line: a load of eight doubles then never touches two lines."""
    room = np.zeros(size + 8)
    start = (-room.ctypes.data % CACHE_LINE) // 8
    return room[start : start + size]


def padded(n: int) -> int:
    """Return the number of rows or columns that n of them take up."""
    return -(-n // required().panel) * required().panel


def spaced(values: FloatArray, blocksize: int) -> FloatArray:
    """Pad every block of rows with zeros to whole panels."""
    depth = values.shape[1]
    n_blocks, height = len(values) // blocksize, padded(blocksize)
    blocks = zeros(n_blocks * height * depth).reshape(n_blocks, height, depth)
    blocks[:, :blocksize] = values.reshape(-1, blocksize, depth)
    return blocks.reshape(-1, depth)


def points_of(rows: FloatArray, columns: FloatArray | None = None) -> Points:
    """Return rows (n, depth) and columns (n, depth), by default the same, as the compiled code reads them."""
    flat, depth = _by_row(rows), rows.shape[1]
    other = flat if columns is None else _by_row(columns)
    panels = zeros(len(other))
    panels.reshape(-1, depth, required().panel)[:] = other.reshape(-1, required().panel, depth).transpose(0, 2, 1)
    return Points.of(rows=flat, columns=panels, totals=zeros(len(panels) // depth), depth=depth)


def _by_row(values: FloatArray) -> FloatArray:
    n, depth = values.shape
    if n % required().panel == 0 and values.flags.c_contiguous and values.ctypes.data % CACHE_LINE == 0:
        return values.reshape(-1)  # Already in this layout.
    flat = zeros(padded(n) * depth)
    flat[: n * depth].reshape(n, depth)[:] = values
    return flat


def strips_of(block: FloatArray) -> FloatArray:
    """Return a block of columns (n, width), strip after strip, as quadratic forms read it: (strips, n, strip)."""
    (n, width), strip = block.shape, required().strip
    n_full, rest = divmod(width, strip)
    n_strips = n_full + (rest > 0)
    found = zeros(n_strips * padded(n) * strip).reshape(n_strips, padded(n), strip)
    found[:n_full, :n] = block[:, : n_full * strip].reshape(n, n_full, strip).transpose(1, 0, 2)
    if rest:
        found[n_full, :n, :rest] = block[:, n_full * strip :]
    return found
