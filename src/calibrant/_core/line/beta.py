r"""Sums of the Beta kernel of Popordanoska et al. (2022), which needs no reflection at the ends.

:math:`K_b(z, a)` is the density at z of the Beta distribution with parameters a / b + 1 and (1 - a) / b + 1. In the
angle :math:`\theta = \arcsin \sqrt z` it has about the same shape everywhere: a Gaussian with standard deviation
:math:`\sqrt b / 2`. Precisely, :math:`K_b(z, a) = K_b(a, a) e^{-KL(a, z) / b}` with the divergence between Bernoulli
laws of probabilities a and z, and :math:`KL \ge -2 \log \cos(\theta_a - \theta_z) \ge (\theta_a - \theta_z)^2`. So a
row more than :math:`6.4 \sqrt b` away contributes less than :math:`e^{-40}` of its own kernel :math:`K_b(a, a)`, and is
left out.

Few pairs are summed one by one. Otherwise rows are gathered in boxes half such a bandwidth wide and replaced, as in
`kernels`, by 14 points per box, as sources and as targets. Sums over the points of source boxes are computed at the
points of target boxes, one by one, and interpolated to the rows.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from calibrant._border.types import BoolArray, FloatArray, IntArray
from calibrant._core.library import Kernels, Strip, required
from calibrant._core.line.boxes import Boxes, Line, as_record, starts_of_groups
from calibrant._core.line.kernels import chebyshev_points, to_coefficients
from calibrant._core.line.strips import Fill, for_columns, for_ranges

# Chebyshev points per box.
TERMS = 14
# Numbers closer to an end than this count as lying on it.
TINY = 1e-300
# Stands for log 0, so that 0 log 0 is 0; times any positive a / b it is far below the smallest logarithm.
_LOG_0 = -1e306
# A power of z is interpolated to 13 digits in a box whose end is this multiple of its start.
_RATIO = 1.5
# From the fifth on, boxes of equal angles have a smaller ratio.
_FIRST_EQUAL = 5


class Points(NamedTuple):
    """Numbers in [0, 1], given by their distance to the nearer end, which is 1 if `upper`."""

    near: FloatArray
    upper: BoolArray

    def with_complement(self) -> tuple[FloatArray, FloatArray]:
        """Return the numbers, and 1 minus the numbers."""
        far = 1 - self.near
        return np.where(self.upper, far, self.near), np.where(self.upper, self.near, far)

    def logs(self) -> tuple[FloatArray, FloatArray]:
        """Return the logarithms of the numbers, and of 1 minus the numbers."""
        log_near = np.log(self.near, out=np.full(self.near.shape, _LOG_0), where=self.near > 0)
        log_far = np.log1p(-self.near)
        return np.where(self.upper, log_far, log_near), np.where(self.upper, log_near, log_far)

    def angles(self) -> FloatArray:
        """Return arcsin sqrt of the numbers."""
        angle = np.arcsin(np.sqrt(self.near))
        return np.where(self.upper, np.pi / 2 - angle, angle)


class Grid(NamedTuple):
    """The occupied boxes of sorted rows, in terms of the distance to the nearer end; their ends and their points."""

    boxes: Boxes
    left: Points
    right: Points
    points: Points


def points_of(x: FloatArray) -> Points:
    """Return numbers x in [0, 1] as `Points`."""
    upper = x > 0.5
    near = np.where(upper, 1 - x, x)
    return Points(np.where(near < TINY, 0.0, near), upper)


def cuts(bandwidth: float, lowest: float) -> FloatArray:
    """Return the edges of boxes between 0 and 1/2; the box nearest to 0 starts no higher than `lowest`."""
    step = np.sqrt(bandwidth) / 4
    equal = np.sin(np.arange(_FIRST_EQUAL, np.pi / 4 / step) * step) ** 2
    top = equal[0] if len(equal) else 0.5
    n_shrinking = max(np.ceil(np.log(top / lowest) / np.log(_RATIO)), 1)
    shrinking = top * _RATIO ** -np.arange(n_shrinking, 0, -1.0)
    inner = np.concatenate([shrinking, equal])
    return np.concatenate([[0, TINY], inner[(inner > TINY) & (inner < 0.5)], [0.5]])


def fill_grid(rows: Points, ends: FloatArray) -> Grid:
    """Find the occupied boxes of rows in increasing order of the number."""
    last = len(ends) - 2
    box = np.minimum(np.searchsorted(ends, rows.near, side="right") - 1, last)
    ids = np.where(rows.upper, 2 * last + 1 - box, box)
    starts = starts_of_groups(ids)
    box, upper = box[starts[:-1]], rows.upper[starts[:-1]]
    low, high = (np.where(box == 0, 0.0, ends[box + side]) for side in (0, 1))
    centres, halves = (low + high) / 2, (high - low) / 2
    scales = np.divide(1, halves, out=np.zeros(len(halves)), where=halves > 0)
    near = centres[:, None] + halves[:, None] * chebyshev_points(TERMS)
    return Grid(
        boxes=Boxes(starts, centres, scales, ids[starts[:-1]], 2 * last + 2),
        left=Points(np.where(upper, high, low), upper),
        right=Points(np.where(upper, low, high), upper),
        points=Points(near.ravel(), np.repeat(upper, TERMS)),
    )


_REACH = 6.4
# At most this many pairs are summed one by one, in a twentieth of a second.
_FEW_PAIRS = 25_000_000
# A source closer to the end than this, in bandwidths, has nearly the same kernel as one at the end, at any z > TINY.
_NEAREST_SOURCE = 3e-4
_TARGETS_PER_JOB = 512


def _logarithms(points: Points, bandwidth: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return a, c and the constant of the sources' kernels: log K = a log z + c log (1 - z) + constant."""
    from scipy.special import betaln

    a, c = (part / bandwidth for part in points.with_complement())
    return a, c, -betaln(a + 1, c + 1)


def _kernels(points: Points, bandwidth: float) -> Kernels:
    room = np.zeros(required().lanes)
    a, c, constant = (np.append(part, room) for part in _logarithms(points, bandwidth))
    return Kernels.of(a=a, c=c, constant=constant)


def _own_kernel(points: Points, bandwidth: float) -> FloatArray:
    a, c, constant = _logarithms(points, bandwidth)
    log_z, log_rest = points.logs()
    return np.exp(a * log_z + c * log_rest + constant)


@dataclass(frozen=True, eq=False)
class BetaSums:
    """Sums over the rows of a line with the Beta kernel, for any charges; see `KernelSums` for the methods.

    Errors are below 1e-13 max(1, 1/b) of the row's own kernel times the sum of the absolute charges, because the
    logarithm of a term is a small difference of numbers of size 1/b; this is measured, not proven. Up to 25 million
    pairs within reach are summed one by one, and rows with hardly any neighbours are as accurate as others. With more
    pairs boxes are used, and such rows have fewer digits. Numbers closer to 0 than 1e-300 count as 0.

    Parameters
    ----------
    line : Line
        The positions of the rows.
    bandwidth : float
        b above, a variance: the kernel is about sqrt(b z (1 - z)) wide at z.
    """

    line: Line
    bandwidth: float

    def leave_one_out(self, charges: FloatArray) -> FloatArray:
        """Return, for every row, the sums over all other rows."""
        return for_columns(self.fill_rows(), charges, self.line.order, self.line.order)

    def fill_rows(self) -> Fill:
        """Return the function that computes the leave-one-out sums of some columns."""
        return self._fill(self._rows, leave_out=True)

    def at(self, points: FloatArray, charges: FloatArray) -> FloatArray:
        """Return the sums over all rows, at points (g,) in [0, 1]."""
        targets = Line.of(points)
        fill = self._fill(points_of(targets.x), leave_out=False)
        return for_columns(fill, charges, self.line.order, targets.order)

    def peak(self, points: FloatArray) -> FloatArray:
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

    def _within(self, left: Points, right: Points, sources_left: Points, sources_right: Points) -> IntArray:
        """Return the first source that each target reaches, and the end; targets and sources are sorted intervals."""
        reach = _REACH * np.sqrt(self.bandwidth)
        first = np.searchsorted(sources_right.angles(), left.angles() - reach)
        return np.column_stack([first, np.searchsorted(sources_left.angles(), right.angles() + reach, side="right")])

    def _one_by_one(self, targets: Points, within: IntArray, *, leave_out: bool) -> Fill:
        kernels, logs = _kernels(self._rows, self.bandwidth), targets.logs()

        def fill(charges: FloatArray, sums: FloatArray, width: int) -> None:
            strip = Strip.of(width=width, charges=charges, moments=charges, out=sums)
            _add_sums(kernels, strip, logs, within, leave_out=leave_out)

        return fill

    def _by_boxes(self, targets: Points, *, leave_out: bool) -> Fill:
        sources = fill_grid(self._rows, cuts(self.bandwidth, _NEAREST_SOURCE * self.bandwidth))
        sinks = fill_grid(targets, cuts(self.bandwidth, TINY))
        within = self._within(sinks.left, sinks.right, sources.left, sources.right)
        within = np.repeat(within * TERMS, TERMS, axis=0)
        kernels, logs = _kernels(sources.points, self.bandwidth), sinks.points.logs()
        own = _own_kernel(targets, self.bandwidth) if leave_out else np.empty(0)
        transform, boxes, sink_boxes = to_coefficients(TERMS), as_record(sources.boxes), as_record(sinks.boxes)
        core = required()

        def fill(charges: FloatArray, sums: FloatArray, width: int) -> None:
            moments = np.empty((len(sources.boxes.ids), TERMS, core.lanes))
            core.collect(self._rows.near, boxes, charges, width, TERMS, moments)
            # Points beyond the last box are read, but are 0.
            at_points = np.append(transform.T @ moments, np.zeros(core.lanes**2))
            found = np.zeros((len(within) // TERMS, TERMS, core.lanes))
            between = Strip.of(width=core.lanes, charges=at_points, moments=at_points, out=found)
            _add_sums(kernels, between, logs, within, leave_out=False)
            strip = Strip.of(width=width, charges=charges, moments=charges, out=sums)
            core.interpolate(targets.near, sink_boxes, transform @ found, own, leave_out, strip)

        return fill


def _add_sums(
    kernels: Kernels,
    strip: Strip,
    logs: tuple[FloatArray, FloatArray],
    within: IntArray,
    *,
    leave_out: bool,
) -> None:
    """Add the sums over the sources within reach of each target, given log z and log (1 - z) of the targets."""
    core = required()

    def task(some: tuple[int, int]) -> None:
        core.beta_sums(kernels, strip, *logs, within, leave_out, *some)

    for_ranges(task, len(within), _TARGETS_PER_JOB)
