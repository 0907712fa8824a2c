"""Arrays in the layout of the compiled code: padded to whole panels, aligned to cache lines."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from calibrant._border.types import FloatArray
from calibrant._core.library import Library, Points

CACHE_LINE = 64
"""Bytes."""


def zeros(size: int) -> FloatArray:
    """Return flat zeros that begin on a cache line: a load of eight doubles then never touches two lines."""
    room = np.zeros(size + 8)
    start = (-room.ctypes.data % CACHE_LINE) // 8
    return room[start : start + size]


@dataclass(frozen=True)
class Layout:
    """The sizes that the compiled code works in.

    Parameters
    ----------
    panel : int
        Number of columns that are adjacent in memory, class by class.
    tile : int
        Rows and columns of a tile of H; a multiple of `panel`.
    strip : int
        Number of columns that are multiplied together in a quadratic form.
    """

    panel: int
    tile: int
    strip: int

    @classmethod
    def of(cls, core: Library) -> Self:
        """Return the sizes of a library."""
        return cls(2 * core.lanes, core.tile, core.strip)

    def padded(self, n: int) -> int:
        """Return the number of rows or columns that n of them take up."""
        return -(-n // self.panel) * self.panel

    def spaced(self, values: FloatArray, blocksize: int) -> FloatArray:
        """Pad every block of rows with zeros to whole panels."""
        depth = values.shape[1]
        n_blocks, height = len(values) // blocksize, self.padded(blocksize)
        blocks = zeros(n_blocks * height * depth).reshape(n_blocks, height, depth)
        blocks[:, :blocksize] = values.reshape(-1, blocksize, depth)
        return blocks.reshape(-1, depth)

    def points(self, rows: FloatArray, columns: FloatArray | None = None) -> Points:
        """Return rows (n, depth) and columns (n, depth), by default the same, as the compiled code reads them."""
        flat, depth = self._by_row(rows), rows.shape[1]
        other = flat if columns is None else self._by_row(columns)
        panels = zeros(len(other))
        panels.reshape(-1, depth, self.panel)[:] = other.reshape(-1, self.panel, depth).transpose(0, 2, 1)
        return Points.of(rows=flat, columns=panels, totals=zeros(len(panels) // depth), depth=depth)

    def _by_row(self, values: FloatArray) -> FloatArray:
        n, depth = values.shape
        if n % self.panel == 0 and values.flags.c_contiguous and values.ctypes.data % CACHE_LINE == 0:
            return values.reshape(-1)  # Already in this layout.
        flat = zeros(self.padded(n) * depth)
        flat[: n * depth].reshape(n, depth)[:] = values
        return flat

    def strips(self, block: FloatArray) -> FloatArray:
        """Return a block of columns (n, width), strip after strip, as quadratic forms read it: (strips, n, strip)."""
        n, width = block.shape
        n_strips = -(-width // self.strip)
        n_full, rest = divmod(width, self.strip)
        strips = zeros(n_strips * self.padded(n) * self.strip).reshape(n_strips, self.padded(n), self.strip)
        whole = block[:, : n_full * self.strip]
        strips[:n_full, :n] = whole.reshape(n, n_full, self.strip).transpose(1, 0, 2)
        if rest:
            strips[n_full, :n, :rest] = block[:, n_full * self.strip :]
        return strips
