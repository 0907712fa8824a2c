r"""The sums of `sums` and `beta` in plain NumPy: the oracle of the compiled code, and its replacement.

For blocks of sorted rows, the terms of all rows within reach are summed, so that memory is O(n). The Gaussian reaches
far: its sums are computed by moments of boxes, see `kernels`, except for rows in boxes with hardly any other rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant._core.line.beta import TINY
from calibrant._core.line.boxes import Boxes, Line, count_boxes, fill_boxes, rows_in_same
from calibrant._core.line.kernels import KERNELS, translations

if TYPE_CHECKING:
    from scipy.sparse import csc_array


_PAIRS_AT_A_TIME = 2**15
_CACHED_PAIRS = 2**14
"""Number of pairs whose kernels and intermediate arrays fit into the cache."""

_CELLS_AT_A_TIME = 2**20
FEW_ROWS = 181
"""Up to this many rows, summing all pairs is faster than any preparation."""

_FEW_SOURCES = 4
"""In a box with at most this many sources a row may have almost no neighbours: subtracting itself would cancel."""

_BETA_REACH = 6.4
"""Reach of the Beta kernel in the angle, in units of the root of the bandwidth: see `beta`."""


@dataclass(frozen=True, eq=False)
class PlainSums:
    """Sums over the rows of a line with any kernel, including "beta"; see `KernelSums` for the parameters."""

    line: Line
    bandwidth: float
    kernel: str = "gaussian"
    reflect: bool = True

    def leave_one_out(self, charges: FloatArray) -> FloatArray:
        """Return, for every row, the sums over all other rows."""
        return self._sums(self.line, charges, leave_out=True)

    def at(self, points: FloatArray, charges: FloatArray) -> FloatArray:
        """Return the sums over all rows, at points (g,) in [0, 1]."""
        return self._sums(Line.of(points), charges, leave_out=False)

    def peak(self, points: FloatArray) -> FloatArray:
        """Return the kernel at distance 0 from the points."""
        if self.kernel == "beta":
            return _beta(points, points, self.bandwidth)
        return np.ones(len(points))

    def _sums(self, targets: Line, charges: FloatArray, *, leave_out: bool) -> FloatArray:
        """Sort the charges, and return the sums in the original order of the targets."""
        charges, found = charges[self.line.order], np.empty((len(targets), charges.shape[1]))
        directly = np.arange(len(targets))
        if self.kernel == "gaussian" and len(self.line) > FEW_ROWS:
            boxes = fill_boxes(self.line.x, count_boxes(self.bandwidth))
            found = self._by_boxes(boxes, targets, charges, leave_out=leave_out)
            ids = np.minimum((targets.x * boxes.n_boxes).astype(np.int64), boxes.n_boxes - 1)
            directly = np.flatnonzero(rows_in_same(boxes, ids) <= _FEW_SOURCES)
        step = max(_PAIRS_AT_A_TIME // max(len(self.line), 1), 1)
        for first in range(0, len(directly), step):
            rows = directly[first : first + step]
            found[rows] = self._directly(targets.x[rows], rows if leave_out else None, charges)
        result = np.empty_like(found)
        result[targets.order] = found
        return result

    def _directly(self, x: FloatArray, rows: IntArray | None, charges: FloatArray) -> FloatArray:
        """Return the sums at some targets in increasing order, term by term; `rows` are their own rows to leave out."""
        low, high = self._within(x)
        K = self.kernel_between(x[:, None], self.line.x[low:high])
        if rows is not None:
            K[np.arange(len(x)), rows - low] = 0.0
        return K @ charges[low:high]

    def _within(self, x: FloatArray) -> tuple[int, int]:
        """Return the range of the rows that any of the targets reaches, directly or by their images."""
        if self.kernel == "beta":
            centre, reach = np.arcsin(np.sqrt(x)), _BETA_REACH * np.sqrt(self.bandwidth)
            ends = np.clip([centre[0] - reach, centre[-1] + reach], 0, np.pi / 2)
            low, high = np.sin(ends) ** 2
        else:
            reach = KERNELS[self.kernel].reach * self.bandwidth
            low, high = x[0] - reach, x[-1] + reach
            if self.reflect:  # Rows whose image reaches a target are nearer to that end than the reach.
                low, high = (0.0 if low < 0 else low), (1.0 if high > 1 else high)
        found = np.searchsorted(self.line.x, [low, np.nextafter(high, 2)]).tolist()
        # Rounding must not exclude the targets themselves.
        return min(found[0], int(np.searchsorted(self.line.x, x[0]))), max(
            found[1], int(np.searchsorted(self.line.x, x[-1], side="right"))
        )

    def kernel_between(self, a: FloatArray, b: FloatArray, bandwidths: FloatArray | None = None) -> FloatArray:
        """Return the kernel between targets and rows, including images; `bandwidths` replace that of the sums."""
        h = self.bandwidth if bandwidths is None else bandwidths
        if self.kernel == "beta":
            return _beta(a, b, h)
        kernel = KERNELS[self.kernel]
        K = kernel.at((a - b) / h)
        if self.reflect:
            K += kernel.at((a + b) / h)
            K += kernel.at((a - (2 - b)) / h)
        return K

    def _by_boxes(self, boxes: Boxes, targets: Line, charges: FloatArray, *, leave_out: bool) -> FloatArray:
        """Return the sums at all targets by moments of boxes; with `leave_out`, each row's own term is subtracted."""
        kernel = KERNELS[self.kernel]
        sinks = boxes if targets is self.line else fill_boxes(targets.x, boxes.n_boxes)
        to = _polynomials(self.line.x, boxes)
        back = to if sinks is boxes else _polynomials(targets.x, sinks)
        found = np.empty((len(targets), charges.shape[1]))
        step = max(_CELLS_AT_A_TIME // to.shape[0], 1)
        for first in range(0, charges.shape[1], step):
            some = slice(first, first + step)
            moments = to @ charges[:, some]
            found[:, some] = back.T @ self._translated(boxes, moments, sinks.ids)
        if leave_out:
            found -= charges * kernel.of_itself(self.line.x, self.bandwidth, reflect=self.reflect)[:, None]
        return found

    def _translated(self, boxes: Boxes, moments: FloatArray, ids: IntArray) -> FloatArray:
        """Return the coefficients of the polynomials of the target boxes `ids`, one row per box and polynomial."""
        kernel, columns = KERNELS[self.kernel], moments.shape[1]
        terms = kernel.terms
        width = 1 / (boxes.n_boxes * self.bandwidth)
        reach = min(int(np.ceil(kernel.reach / width)), 2 * boxes.n_boxes)
        plain, _ = translations(kernel, width, reach)
        # Polynomials are the last axis, so that each matrix is multiplied by all boxes and columns at once.
        moments = np.ascontiguousarray(moments.reshape(-1, terms, columns).transpose(0, 2, 1))
        sources, moments = _with_images(boxes, moments) if self.reflect else (boxes.ids, moments)
        wanted = ids - np.arange(-reach, reach + 1)[:, None]
        at = np.minimum(np.searchsorted(sources, wanted), len(sources) - 1)
        local = np.zeros((len(ids), columns, terms))
        for matrix, places, is_there in zip(plain, at, sources[at] == wanted, strict=True):
            some = np.flatnonzero(is_there)
            local[some] += (moments[places[some]].reshape(-1, terms) @ matrix).reshape(-1, columns, terms)
        return local.transpose(0, 2, 1).reshape(-1, columns)


def _with_images(boxes: Boxes, moments: FloatArray) -> tuple[IntArray, FloatArray]:
    """Add the images of every box b at 0, box -1 - b, and at 1, box 2 n_boxes - 1 - b, with odd moments negated."""
    ids, images = boxes.ids, moments[::-1] * (-1.0) ** np.arange(moments.shape[2])
    at_0, at_1 = -1 - ids[::-1], 2 * boxes.n_boxes - 1 - ids[::-1]
    return np.concatenate([at_0, ids, at_1]), np.concatenate([images, moments, images])


def can_be_joined(several: Sequence[object]) -> TypeGuard[Sequence[PlainSums]]:
    """Return whether sums over one line that differ only in bandwidth have few enough rows to compute them together."""
    first = several[0]
    return isinstance(first, PlainSums) and len(first.line) <= FEW_ROWS


def leave_one_out_of_each(several: Sequence[PlainSums], charges: FloatArray) -> FloatArray:
    """Return the sums over all other rows, (B, n, m), of B sums over one line that differ in their bandwidths."""
    x, order = several[0].line.x, several[0].line.order
    bandwidths = np.array([sums.bandwidth for sums in several])[:, None, None]
    charges, found = charges[order], np.empty((len(several), *charges.shape))
    rows, step = np.arange(len(x)), max(_CACHED_PAIRS // len(x) ** 2, 1)
    for first in range(0, len(several), step):
        some = slice(first, first + step)
        K = several[0].kernel_between(x[:, None], x, bandwidths[some])
        K[:, rows, rows] = 0.0
        found[some, order] = K @ charges
    return found


def _polynomials(x: FloatArray, boxes: Boxes) -> "csc_array":
    """Return T_0, T_1, ... at the position of every row within its box: a sparse matrix, (boxes times terms, n)."""
    from scipy.sparse import csc_array

    box, terms = np.repeat(np.arange(len(boxes.ids)), np.diff(boxes.starts)), KERNELS["gaussian"].terms
    places = (x - boxes.centres[box]) * boxes.scales[box]
    values = np.polynomial.chebyshev.chebvander(places, terms - 1)
    rows = terms * box[:, None] + np.arange(terms)
    starts = np.arange(0, rows.size + 1, terms)
    return csc_array((values.ravel(), rows.ravel(), starts), shape=(terms * len(boxes.ids), len(x)))


def _beta(z: FloatArray, a: FloatArray, bandwidth: FloatArray | float) -> FloatArray:
    """Return the density at z of the Beta distribution with parameters a / b + 1 and (1 - a) / b + 1."""
    from scipy.special import betaln, xlog1py, xlogy

    z, a = (np.where(x < TINY, 0.0, x) for x in (z, a))
    left, right = a / bandwidth, (1 - a) / bandwidth
    return np.exp(xlogy(left, z) + xlog1py(right, -z) - betaln(left + 1, right + 1))
