r"""Kernel sums in one dimension: :math:`\sum_j q_j K_h(x_i, c_j)` for all x_i, in O(n log n).

With reflection :math:`K_h(a, b) = k(\frac{a-b}{h}) + k(\frac{a+b}{h}) + k(\frac{a-(2-b)}{h})`: the rows, their mirror
images at 0, and their mirror images at 1. Images of the images are not added: they are at least one unit away, and with
a bandwidth that reaches that far the regression is flat anyway.

`HeldOut` computes the sums over the rows of other folds, by which a bandwidth is chosen.
"""

import math
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._border.types import FloatArray, IntArray
from calibrant._core.library import FoldsRecord, PlanRecord, Sources, Strip, required
from calibrant._core.line.boxes import (
    Boxes,
    Line,
    as_record,
    count_boxes,
    fill_boxes,
    first_from,
    first_row,
    rows_in_same,
)
from calibrant._core.line.kernels import KERNELS, Kernel, edge_polynomials, padded_translations, translations
from calibrant._core.line.strips import Fill, for_columns, for_ranges

# Up to this many pairs of a target box and the rows in its reach are summed one by one: translating takes as long.
_FEW_PAIRS = 2500
# In a box with at most this many sources a row may have almost no neighbours: subtracting its own term would cancel.
_FEW_SOURCES = 4
# Up to this many targets are compared with all sources in reach for that reason.
_FEW_TARGETS = 16


class Way(IntEnum):
    """How the sums of a target box are computed; the numbers are those of the compiled code."""

    BY_BOXES = 0
    BY_OTHER_BOXES = 1
    DIRECTLY = 2


class Plan(NamedTuple):
    """Targets in increasing order, and how the sums of each of their boxes are computed, in extended numbers.

    `whole` are the source boxes fully in reach, `whole_rows` their rows, `rows` all rows in reach, and `way` how the
    sums are computed. If `leave_out`, the targets are the sources, and each leaves itself out: `own` is the kernel
    between a row and itself plus its images.
    """

    x: FloatArray
    boxes: Boxes
    leave_out: bool
    own: FloatArray
    whole: IntArray
    whole_rows: IntArray
    rows: IntArray
    way: IntArray

    def as_record(self) -> PlanRecord:
        """Return the plan as a structure of the compiled code."""
        return PlanRecord.of(**{**self._asdict(), "boxes": as_record(self.boxes)})


@dataclass(frozen=True, eq=False)
class KernelSums:
    """Sums over the rows of a line with one kernel and bandwidth, for any charges.

    Parameters
    ----------
    line : Line
        The positions of the rows.
    bandwidth : float
        Above 0.
    kernel : {"gaussian", "triweight", "epanechnikov"}
        See `kernels`.
    reflect : bool
        Whether the mirror images of the rows at 0 and at 1 count as well.
    """

    line: Line
    bandwidth: float
    kernel: str = "gaussian"
    reflect: bool = True

    def leave_one_out(self, charges: FloatArray) -> FloatArray:
        """Return, for every row, the sums over all other rows; a row's own images are left out too.

        Charges and sums are (n, m), in the original order of the positions.
        """
        return for_columns(self.fill_rows(), charges, self.line.order, self.line.order)

    def fill_rows(self) -> Fill:
        """Return the function that computes the leave-one-out sums of some columns."""
        return self._fill(self.rows)

    @cached_property
    def rows(self) -> Plan:
        """The plan of the leave-one-out sums."""
        return self.plan(self.line, leave_out=True)

    def at(self, points: FloatArray, charges: FloatArray) -> FloatArray:
        """Return the sums over all rows, at points (g,) in [0, 1]: an array of shape (g, m)."""
        targets = Line.of(points)
        fill = self._fill(self.plan(targets, leave_out=False))
        return for_columns(fill, charges, self.line.order, targets.order)

    def peak(self, points: FloatArray) -> FloatArray:
        """Return the kernel at distance 0 from the points: 1."""
        return np.ones(len(points))

    @cached_property
    def boxes(self) -> Boxes:
        """The boxes of the rows."""
        return fill_boxes(self.line.x, count_boxes(self.bandwidth))

    @cached_property
    def reach(self) -> int:
        """Number of boxes within which the kernel is one smooth function and not negligible."""
        # Two boxes are at most a bandwidth wide, so that a compact kernel is one polynomial on neighbouring boxes.
        return (
            1 if self._kernel.is_compact else min(math.ceil(self._kernel.reach / self._width), 2 * self.boxes.n_boxes)
        )

    @property
    def _width(self) -> float:
        """Width of a box in bandwidths."""
        return 1 / (self.boxes.n_boxes * self.bandwidth)

    @cached_property
    def sources(self) -> Sources:
        """The rows of the sums, and the kernel, as a structure of the compiled code."""
        kernel = self._kernel
        return Sources.of(
            n=len(self.line),
            x=np.append(self.line.x, np.zeros(required().lanes)),
            boxes=as_record(self.boxes),
            reflect=self.reflect,
            code=kernel.code,
            per_bandwidth=1 / self.bandwidth,
            terms=kernel.terms,
            degree=kernel.degree,
            reach=self.reach,
            translations=translations(kernel, self._width, self.reach),
            edge=edge_polynomials(kernel),
        )

    def padded_translations(self, terms: int) -> FloatArray:
        """Return the translations of the sources, with zeros for target polynomials up to `terms`."""
        return padded_translations(self._kernel, self._width, self.reach, terms)

    @property
    def _kernel(self) -> Kernel:
        return KERNELS[self.kernel]

    def plan(self, targets: Line, *, leave_out: bool) -> Plan:
        """Return the plan of the sums at targets; with `leave_out`, the targets must be the rows."""
        boxes = self.boxes if targets is self.line else fill_boxes(targets.x, self.boxes.n_boxes)
        whole = self._within(boxes.ids, self.reach)
        whole_rows = first_row(self.boxes, whole)
        rows = whole_rows
        if self._kernel.is_compact:
            rows = first_row(self.boxes, self._within(boxes.ids, math.ceil(self.bandwidth * boxes.n_boxes)))
        way = self._ways(boxes, rows[:, 1] - rows[:, 0], leave_out=leave_out)
        own = self._kernel.of_itself(targets.x, self.bandwidth, reflect=self.reflect) if leave_out else np.empty(0)
        return Plan(targets.x, boxes, leave_out, own, whole, whole_rows, rows, way)

    def _ways(self, targets: Boxes, n_in_reach: IntArray, *, leave_out: bool) -> IntArray:
        n_targets = np.diff(targets.starts)
        sparse = rows_in_same(self.boxes, targets.ids) <= _FEW_SOURCES
        directly = n_targets * n_in_reach <= _FEW_PAIRS
        if self._kernel.is_compact:
            directly |= sparse & (n_targets <= _FEW_TARGETS)
        return np.where(directly, Way.DIRECTLY, np.where(sparse & leave_out, Way.BY_OTHER_BOXES, Way.BY_BOXES))

    def _within(self, ids: IntArray, reach: int) -> IntArray:
        low = first_from(self.boxes, ids - reach, reflect=self.reflect)
        high = first_from(self.boxes, ids + reach + 1, reflect=self.reflect)
        return np.column_stack([low, high])

    def _fill(self, plan: Plan) -> Fill:
        core, sources, record = required(), self.sources, plan.as_record()
        terms, needs_moments = sources.terms, bool(np.any(plan.way != Way.DIRECTLY))

        def fill(charges: FloatArray, sums: FloatArray, width: int) -> None:
            moments = np.empty(len(self.boxes.ids) * terms * core.lanes)
            if needs_moments:
                core.collect(self.line.x, sources.boxes, charges, width, terms, moments)
            strip = Strip.of(width=width, charges=charges, moments=moments, out=sums)
            for_ranges(lambda some: core.line_sums(sources, strip, record, *some), len(plan.x))

        return fill


MOST_FOLDS = 8
# Number of polynomials of a box, padded to whole registers, as in the compiled code.
_PADDED = 16


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Sums of events and of weights outside the fold of each row, for Gaussian kernels of any bandwidth.

    Parameters
    ----------
    line : Line
    folds : array of shape (n,)
        Numbers 0, 1, ... of at most `MOST_FOLDS` folds, in the original order of the rows.
    happened : array of shape (n,)
        Whether the event happened.
    weights : array of shape (n,)
    """

    line: Line
    folds: NDArray[np.int64]
    happened: NDArray[np.bool_]
    weights: FloatArray

    def sums(self, kernel: KernelSums) -> tuple[FloatArray, FloatArray]:
        """Return the sums of events and of weights, each (n,), over the rows of the line with a kernel."""
        sources, plan = kernel.sources, kernel.plan(self.line, leave_out=False)
        n_folds = int(self.folds.max()) + 1
        record = FoldsRecord.of(
            n_folds=n_folds,
            translations=kernel.padded_translations(_PADDED),
            moments=np.empty(len(kernel.boxes.ids) * n_folds * 2 * _PADDED),
            **self._sorted,
        )
        found, result = np.empty((2, len(self.line))), np.empty((2, len(self.line)))
        required().held_out(sources, record, plan.as_record(), found)
        result[:, self.line.order] = found
        return result[0], result[1]

    @cached_property
    def _sorted(self) -> dict[str, FloatArray]:
        """Folds, weights and weighted events of the rows in increasing order, followed by zeros."""
        columns = {"fold": self.folds, "weights": self.weights, "hits": self.weights * self.happened}
        beyond = np.zeros(required().lanes)
        return {name: np.append(values[self.line.order], beyond) for name, values in columns.items()}
