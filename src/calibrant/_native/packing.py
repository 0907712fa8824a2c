"""Arrays as the compiled code reads them: padded to whole panels, aligned to cache lines."""

import math
import threading
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from calibrant._native.forms import STRIP
from calibrant._native.jobs import Scratch
from calibrant._native.kernel import Kernel
from calibrant._native.radial import AS_IT_IS, EXPONENTIAL, GAMMA, MATERN32, MATERN52, RATIONAL, ROOT, SQUARE
from calibrant._native.tiles import ABSOLUTE, OVERLAP, PANEL, SQUARED, TILE, Points, Problem

Floats = NDArray[np.float64]

_PROFILES = {
    "exponential": EXPONENTIAL,
    "gaussian": EXPONENTIAL,
    "gamma-exponential": GAMMA,
    "matern32": MATERN32,
    "matern52": MATERN52,
    "rational-quadratic": RATIONAL,
}
# Radial functions of the squared distance, those of the distance, and one that takes either with its own exponent.
_OF_SQUARE = {"gaussian", "rational-quadratic"}
_OF_EITHER = {"gamma-exponential"}


def zeros(size: int) -> Floats:
    """Return flat zeros that begin on a cache line: a load of eight doubles then never touches two lines."""
    room = np.zeros(size + 8)
    start = (-room.ctypes.data % 64) // 8
    return room[start : start + size]


def padded(n: int) -> int:
    """Return the number of rows or columns that n of them take up."""
    return -(-n // PANEL) * PANEL


def spaced(values: Floats, blocksize: int) -> Floats:
    """Pad every block of rows with zeros to whole panels."""
    depth = values.shape[1]
    blocks = np.zeros((len(values) // blocksize, padded(blocksize), depth))
    blocks[:, :blocksize] = values.reshape(-1, blocksize, depth)
    return blocks.reshape(-1, depth)


def pack(rows: Floats, columns: Floats | None = None) -> Points:
    """Return rows (n, depth) and columns (m, depth), by default the same, as compiled code reads them."""
    flat, row_sums = _by_row(rows)
    column_flat, column_sums = (flat, row_sums) if columns is None else _by_row(columns)
    depth = rows.shape[1]
    return Points(flat, row_sums, _by_panel(column_flat, depth), column_sums, depth, depth, PANEL)


def _by_row(values: Floats) -> tuple[Floats, Floats]:
    n, depth = values.shape
    flat, sums = zeros(padded(n) * depth), zeros(padded(n))
    flat[: n * depth].reshape(n, depth)[:] = values
    # One class after the other, as the compiled code adds, so that equal rows are at distance 0 exactly.
    for column in values.T:
        sums[:n] += column
    return flat, sums


def _by_panel(flat: Floats, depth: int) -> Floats:
    panels = zeros(len(flat))
    panels.reshape(-1, depth, PANEL)[:] = flat.reshape(-1, PANEL, depth).transpose(0, 2, 1)
    return panels


def pack_block(block: Floats, *, mirrored: bool) -> tuple[tuple[Floats, Floats], int]:
    """Return a block of columns (n, width) as panels and as its transpose, tile after tile; and the padded width.

    Unless mirrored, the transpose is not needed, and the panels stand in for it.
    """
    n, width = block.shape
    panels = zeros(padded(n) * padded(width))
    transposed = zeros(len(panels)) if mirrored else panels
    for rows, depth, here in _tiles_of(n, width):
        if mirrored:
            tile = transposed[here].reshape(-1, depth)
            tile[:width, : n - rows.start] = block[rows].T
            panels[here].reshape(-1, depth, PANEL)[:] = tile.reshape(-1, PANEL, depth).transpose(0, 2, 1)
        else:
            rows_here = np.zeros((depth, padded(width)))
            rows_here[: n - rows.start, :width] = block[rows]
            panels[here].reshape(-1, depth, PANEL)[:] = rows_here.reshape(depth, -1, PANEL).transpose(1, 0, 2)
    return (panels, transposed), padded(width)


def unpack_block(parts: tuple[Floats, Floats | None], shape: tuple[int, ...]) -> Floats:
    """Return the sum of the results of `product_job`, a block of columns (n, width)."""
    block = np.empty(shape)
    for rows, depth, here in _tiles_of(*shape):
        direct = parts[0][here].reshape(-1, depth, PANEL).transpose(1, 0, 2).reshape(depth, -1)
        if parts[1] is not None:
            direct += parts[1][here].reshape(depth // PANEL, -1, PANEL).transpose(0, 2, 1).reshape(depth, -1)
        block[rows] = direct[: shape[0] - rows.start, : shape[1]]
    return block


def pack_strips(block: Floats) -> tuple[Floats, int]:
    """Return a block of columns (n, width) as `add_forms` reads it; and the padded width."""
    n, width = block.shape
    n_strips = -(-width // STRIP)
    n_full, rest = divmod(width, STRIP)
    strips = zeros(n_strips * padded(n) * STRIP)
    by_strip = strips.reshape(n_strips, padded(n), STRIP)
    by_strip[:n_full, :n] = block[:, : n_full * STRIP].reshape(n, n_full, STRIP).transpose(1, 0, 2)
    if rest:
        by_strip[n_full, :n, :rest] = block[:, n_full * STRIP :]
    return strips, n_strips * STRIP


def _tiles_of(n: int, width: int) -> Iterator[tuple[slice, int, slice]]:
    """Yield the rows of every tile, their padded number, and where they are in a packed block."""
    for start in range(0, n, TILE):
        end = min(start + TILE, padded(n))
        yield slice(start, end), end - start, slice(start * padded(width), end * padded(width))


def problem_of(kernel: Kernel, points: Points, residuals: Points) -> Problem:
    """Return all that H depends on."""
    distance = _distance(kernel, points)
    profile = _PROFILES[kernel.radial]
    power, scale, shape = _scaling(kernel, squared=distance == SQUARED)
    return Problem(points, residuals, distance, power, profile, scale, shape)


def _distance(kernel: Kernel, points: Points) -> int:
    if kernel.distance == "euclidean":
        return SQUARED
    # The sum of minima takes two instructions a class instead of three, but its rounding error is absolute.
    # Where a lengthscale is small or the slope at 0 infinite, the differences are summed.
    largest = max(np.abs(points.row_sums).max(initial=0.0), np.abs(points.column_sums).max(initial=0.0))
    steep = kernel.radial == "gamma-exponential" and kernel.shape < 1
    return ABSOLUTE if steep or largest > 1000 * kernel.lengthscale else OVERLAP


def _scaling(kernel: Kernel, *, squared: bool) -> tuple[int, float, float]:
    """Return the power of the summed distance, the factor that follows it, and the shape, for the profile."""
    # Total variation comes as twice itself, the Euclidean distance as its square.
    unit = kernel.lengthscale if squared else 2 * kernel.lengthscale
    if kernel.radial in _OF_EITHER:
        return (AS_IT_IS, unit**-2, kernel.shape / 2) if squared else (AS_IT_IS, 1 / unit, kernel.shape)
    if kernel.radial in _OF_SQUARE:
        factor = -0.5 if kernel.radial == "gaussian" else 0.5 / kernel.shape
        return (AS_IT_IS if squared else SQUARE), factor * unit**-2, kernel.shape
    factor = {"exponential": -1.0, "matern32": -math.sqrt(3), "matern52": -math.sqrt(5)}[kernel.radial]
    return (ROOT if squared else AS_IT_IS), factor / unit, kernel.shape


class Room(threading.local):
    """Scratch memory, one for each thread."""

    def __init__(self) -> None:
        self.scratch = Scratch(zeros(TILE * TILE), zeros(TILE * TILE))
