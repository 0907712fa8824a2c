"""The cells of a sketch: fine intervals of p, found from its bits without logarithms, so that all machines agree."""

import hashlib
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant._core.sketch import FIRST_MAIN, FIRST_TAIL, MAIN, OFFSET_BITS, TAIL, Cuts, place
from calibrant.binning.interval import largest_values, torch_edges

EXACT_BINS = (5, 10, 15, 16, 20, 25, 30, 50, 100)
"""Numbers of bins of equal width whose edges are cuts, so that sums in these bins are exact."""

FEWEST_DIGITS, MOST_DIGITS = 3, 12

DIGITS = 10
"""Binary digits unless told otherwise: with nine, isotonic miscalibration of a million rows can be 2.4 % too small."""


@dataclass(frozen=True)
class Grid:
    r"""Intervals of [0, 1] by the exponent and the leading binary digits of min(p, 1 - p), cut at edges of bins.

    Parameters
    ----------
    digits : int, default=10
        Leading digits m of the mantissa: cells are :math:`2^{-m}` to :math:`2^{-m-1}` of min(p, 1 - p) wide.

    Notes
    -----
    Predictions of exactly 0, 1/2 and 1 have a cell each. There are 26 octaves of :math:`2^m` cells, down to
    :math:`2^{-27}`; then 36 octaves of four cells, and below :math:`2^{-63}` cells of 16 octaves. Cells are numbered in
    ascending order of p.

    Every edge of `EXACT_BINS` bins of equal width cuts its cell three times: at the edge as NumPy computes it, as
    PyTorch computes it, and at the largest number that equals it to 12 decimals. So no cell crosses an edge by any
    convention of `EqualWidth`.

    Examples
    --------
    >>> Grid().n_cells, Grid(7).n_cells, Grid(5).n_cells
    (54056, 7464, 2472)
    """

    digits: int = DIGITS

    @cached_property
    def cuts(self) -> Cuts:
        """The cells and their cuts, for the routine that counts rows."""
        n_plain = 2 * (FIRST_MAIN + 26 * 2**self.digits) + 1
        at = _edges()
        plain = Cuts.of(self.digits, np.zeros(n_plain, dtype=np.int64), np.empty(0))
        return Cuts.of(self.digits, np.bincount(place(at, plain)[0], minlength=n_plain), at)

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return self.cuts.n_parts

    @cached_property
    def fingerprint(self) -> bytes:
        """Eight bytes that identify the grid."""
        content = np.array([MAIN, TAIL, self.digits, OFFSET_BITS]).tobytes() + self.cuts.at.tobytes()
        return hashlib.sha256(content).digest()[:8]

    def means(self, cells: IntArray, counts: IntArray, offsets: IntArray | FloatArray) -> FloatArray:
        """Return the mean prediction of cells, given the rows in each and the sum of their offsets.

        Examples
        --------
        >>> grid = Grid()
        >>> part, offset = place(np.array([0.25, 0.7]), grid.cuts)
        >>> grid.means(part, np.ones(2), offset).round(9).tolist()
        [0.25, 0.7]
        """
        last = len(self.cuts.first) - 1
        plain = np.searchsorted(self.cuts.first, cells, side="right") - 1
        upper = plain > last // 2
        own = np.where(upper, last - plain, plain)
        mean = self._smaller(own, offsets / counts)
        return np.where(upper, 1.0 - mean, mean)

    def _smaller(self, own: IntArray, offset: FloatArray) -> FloatArray:
        """Return the number at an offset in a cell of the lower half."""
        rest = 52 - self.digits
        kinds = [own >= FIRST_MAIN, own >= FIRST_TAIL, own > 0]
        bits = [MAIN + ((own - FIRST_MAIN) << rest), TAIL + ((own - FIRST_TAIL) << 50), (own - 1) << 56]
        shifts = np.select(kinds, [np.full_like(own, rest), np.full_like(own, 50), np.full_like(own, 56)], 0)
        start = np.select(kinds, bits, 0)
        # Whole units of offset are added to the bits; in the first two ranges the rest is linear in them.
        step = np.where(shifts > 0, np.ldexp(1.0, shifts - OFFSET_BITS), 0.0)
        inside = offset * step
        low = np.floor(inside)
        base, after = ((start + low.astype(np.int64) + more).view(np.float64) for more in (0, 1))
        return np.asarray(np.where(own > 0, base + (inside - low) * (after - base), 0.0))


@cache
def grid_of(digits: int) -> Grid:
    """Return the one grid with this number of digits."""
    return Grid(digits)


def _edges() -> FloatArray:
    """Return the smallest number above every cut."""
    found = []
    for n_bins in EXACT_BINS:
        found.append(np.nextafter(largest_values(n_bins), 2.0))
        found.append(np.nextafter(np.linspace(0.0, 1.0, n_bins + 1)[1:-1], 2.0))
        found.append(torch_edges(n_bins)[1:-1])
    return np.unique(np.concatenate(found))
