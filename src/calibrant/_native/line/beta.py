r"""Sums of the Beta kernel of Popordanoska et al. (2022), which needs no mirror at the ends.

:math:`K_b(z, a)` is the density at z of the Beta distribution with parameters a / b + 1 and (1 - a) / b + 1. In the
angle :math:`\theta = \arcsin \sqrt z` it looks alike everywhere, about a Gaussian with standard deviation
:math:`\sqrt b / 2`. Precisely, :math:`K_b(z, a) = K_b(a, a) e^{-KL(a, z) / b}` with the divergence between coins of
probabilities a and z, and :math:`KL \ge -2 \log \cos(\theta_a - \theta_z) \ge (\theta_a - \theta_z)^2`; so a row more
than :math:`6.4 \sqrt b` away contributes below :math:`e^{-40}` of its own kernel :math:`K_b(a, a)`, and is left out.

Few pairs are summed one by one. Otherwise rows are gathered in boxes half such a bandwidth wide and replaced, as in
`expansion`, by 14 points a box, as sources and as targets; what the points of boxes do to each other is summed one by
one, and interpolated to the rows.

Importing this module imports numba: import it inside the function that needs it.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._native.compile import entry
from calibrant._native.exp import exp
from calibrant._native.lanes import LANES, load, repeat, store
from calibrant._native.line.beta_grid import TERMS, TINY, Points, cuts, fill_grid, points_of
from calibrant._native.line.boxes import Boxes, Line
from calibrant._native.line.direct import add_charges
from calibrant._native.line.evaluate import Tile, add_to_row
from calibrant._native.line.expansion import collect, polynomial, to_coefficients
from calibrant._native.line.strips import Fill, for_ranges, for_tiles

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_REACH = 6.4
# So many pairs are summed one by one, in a twentieth of a second.
_FEW_PAIRS = 25_000_000
# A source closer to the end than this, in bandwidths, has nearly the same kernel as one at the end, at any z > TINY.
_NEAREST_SOURCE = 3e-4
_TARGETS_A_JOB = 512


class Kernels(NamedTuple):
    """The kernels of n sources: log K = a log z + c log (1 - z) + constant, with room for `LANES` more."""

    a: Any
    c: Any
    constant: Any


def _kernels(points: Points, bandwidth: float) -> Kernels:
    from scipy.special import betaln

    a, c = (part / bandwidth for part in points.with_complement())
    return Kernels(*(np.append(part, np.zeros(LANES)) for part in (a, c, -betaln(a + 1, c + 1))))


def _own_kernel(points: Points, bandwidth: float) -> Floats:
    a, c, constant = (part[:-LANES] for part in _kernels(points, bandwidth))
    log_z, log_rest = points.logs()
    return np.exp(a * log_z + c * log_rest + constant)


@entry
def _add_sums(kernels: Kernels, tile: Tile, logs: Any, within: Any, leave_out: bool, targets: Any, values: Any) -> None:
    """Add the sums at a range of targets, with log z and log (1 - z), over the sources within reach of each."""
    for i in range(targets[0], targets[1]):
        total = repeat(0.0)
        last = within[i, 1]
        for j in range(within[i, 0], last, LANES):
            exponent = load(kernels.a, j) * logs[0][i] + load(kernels.c, j) * logs[1][i] + load(kernels.constant, j)
            store(values, 0, exp(exponent))
            total = add_charges(total, values, tile, j, last, i if leave_out else -1)
        add_to_row(tile, i, total, values)


@entry
def _interpolate(x: Any, boxes: Boxes, local: Any, own: Any, tile: Tile, values: Any) -> None:
    """Add the polynomials of the boxes to their rows, less each row's charge times its own kernel."""
    for box in range(len(boxes.centres)):
        for i in range(boxes.starts[box], boxes.starts[box + 1]):
            value = polynomial(local, box * TERMS * LANES, TERMS, (x[i] - boxes.centres[box]) * boxes.scales[box])
            if len(own) > 0:
                value = value - load(tile.charges, i * tile.width) * own[i]
            add_to_row(tile, i, value, values)


@dataclass(frozen=True, eq=False)
class BetaSums:
    """Sums over the rows of a line with the Beta kernel, for any charges; see `KernelSums` for the methods.

    Errors are below 1e-13 max(1, 1/b) of the row's own kernel times the sum of the absolute charges, because the
    logarithm of a term is a small difference of numbers of size 1/b; this is measured, not proven. Up to 25 million
    pairs within reach are summed one by one, and a row with next to no neighbours is as exact as any; beyond, boxes are
    used, and it has fewer digits. Numbers closer to 0 than 1e-300 count as 0.

    Parameters
    ----------
    line : Line
        The positions of the rows.
    bandwidth : float
        b above, a variance: the kernel is about sqrt(b z (1 - z)) wide at z.
    """

    line: Line
    bandwidth: float

    def leave_one_out(self, charges: Floats, *, n_threads: int | None = None) -> Floats:
        """Return, for every row, the sums over all other rows."""
        return for_tiles(self.fill_rows(), charges, self.line.order, self.line.order, n_threads)

    def fill_rows(self) -> Fill:
        """Return what makes the leave-one-out sums of some columns."""
        return self._fill(self._rows, leave_out=True)

    def at(self, points: Floats, charges: Floats, *, n_threads: int | None = None) -> Floats:
        """Return the sums over all rows, at points (g,) in [0, 1]."""
        targets = Line.of(points)
        fill = self._fill(points_of(targets.x), leave_out=False)
        return for_tiles(fill, charges, self.line.order, targets.order, n_threads)

    def peak(self, points: Floats) -> Floats:
        """Return each point's own kernel, at z = a."""
        return _own_kernel(points_of(points), self.bandwidth)

    @cached_property
    def _rows(self) -> Points:
        return points_of(self.line.x)

    def _fill(self, targets: Points, *, leave_out: bool) -> Fill:
        within = self._within(targets, targets, self._rows, self._rows)
        if np.diff(within).sum() <= _FEW_PAIRS:
            return self._one_by_one(targets, within, leave_out=leave_out)
        return self._by_boxes(targets, leave_out=leave_out)

    def _within(self, left: Points, right: Points, sources_left: Points, sources_right: Points) -> Integers:
        """Return which sources each target reaches: from, and up to. Both are intervals in increasing order."""
        reach = _REACH * np.sqrt(self.bandwidth)
        first = np.searchsorted(sources_right.angles(), left.angles() - reach)
        return np.column_stack([first, np.searchsorted(sources_left.angles(), right.angles() + reach, side="right")])

    def _one_by_one(self, targets: Points, within: Integers, *, leave_out: bool) -> Fill:
        kernels, logs = _kernels(self._rows, self.bandwidth), targets.logs()

        def fill(charges: Floats, sums: Floats, width: int, n_threads: int | None) -> None:
            tile = Tile(width, charges, charges, sums)

            def task(some: tuple[int, int]) -> None:
                _add_sums(kernels, tile, logs, within, leave_out, some, np.empty(LANES))

            for_ranges(task, len(within), n_threads, _TARGETS_A_JOB)

        return fill

    def _by_boxes(self, targets: Points, *, leave_out: bool) -> Fill:
        sources = fill_grid(self._rows, cuts(self.bandwidth, _NEAREST_SOURCE * self.bandwidth))
        sinks = fill_grid(targets, cuts(self.bandwidth, TINY))
        within = self._within(sinks.left, sinks.right, sources.left, sources.right)
        within = np.repeat(within * TERMS, TERMS, axis=0)
        kernels, logs = _kernels(sources.points, self.bandwidth), sinks.points.logs()
        own = _own_kernel(targets, self.bandwidth) if leave_out else np.empty(0)
        transform, n_boxes = to_coefficients(TERMS), len(sources.boxes.ids)

        def fill(charges: Floats, sums: Floats, width: int, n_threads: int | None) -> None:
            moments = np.empty(n_boxes * TERMS * LANES)
            collect(self._rows.near, sources.boxes, charges, width, moments)
            # Points beyond the last box are read, and count nothing.
            at_points = np.append(transform.T @ moments.reshape(-1, TERMS, LANES), np.zeros(LANES * LANES))
            sums_at_points = np.zeros(len(within) * LANES)
            between = Tile(LANES, at_points, at_points, sums_at_points)

            def task(some: tuple[int, int]) -> None:
                _add_sums(kernels, between, logs, within, False, some, np.empty(LANES))

            for_ranges(task, len(within), n_threads, _TARGETS_A_JOB)
            local = (transform @ sums_at_points.reshape(-1, TERMS, LANES)).ravel()
            tile = Tile(width, charges, charges, sums)
            _interpolate(targets.near, sinks.boxes, local, own, tile, np.empty(LANES))

        return fill
