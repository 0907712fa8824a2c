r"""Boxes for the Beta kernel: equal in the angle, geometric next to the ends.

Next to 0 and 1 a target z enters the kernel as a power, z^(a / b), which is not smooth at the end however small a is:
there boxes shrink geometrically, and rows at the end itself are a box of their own, without width.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._core.line.boxes import Boxes, starts_of_groups
from calibrant._core.line.tables import chebyshev_points

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Chebyshev points per box.
TERMS = 14
# Anything closer to an end counts as lying on it.
TINY = 1e-300
# Stands for log 0, so that 0 log 0 is 0; times any other a / b it is far below the smallest logarithm.
_LOG_0 = -1e306
# A power of z is interpolated to 13 digits in a box that ends at this multiple of its start.
_RATIO = 1.5
# From the fifth on, boxes of equal angles end at less than that.
_FIRST_EQUAL = 5


class Points(NamedTuple):
    """Numbers in [0, 1] by their distance to the nearer end, which is 1 if `upper`."""

    near: Floats
    upper: Bools

    def with_complement(self) -> tuple[Floats, Floats]:
        """Return the numbers, and 1 minus the numbers."""
        far = 1 - self.near
        return np.where(self.upper, far, self.near), np.where(self.upper, self.near, far)

    def logs(self) -> tuple[Floats, Floats]:
        """Return the logarithms of both."""
        log_near = np.log(self.near, out=np.full(self.near.shape, _LOG_0), where=self.near > 0)
        log_far = np.log1p(-self.near)
        return np.where(self.upper, log_far, log_near), np.where(self.upper, log_near, log_far)

    def angles(self) -> Floats:
        """Return arcsin sqrt of the numbers."""
        angle = np.arcsin(np.sqrt(self.near))
        return np.where(self.upper, np.pi / 2 - angle, angle)


class Grid(NamedTuple):
    """The occupied boxes of sorted rows, by distance to the nearer end; their ends; and the points of each box."""

    boxes: Boxes
    left: Points
    right: Points
    points: Points


def points_of(x: Floats) -> Points:
    """Return numbers x in [0, 1] by their distance to the nearer end."""
    upper = x > 0.5
    near = np.where(upper, 1 - x, x)
    return Points(np.where(near < TINY, 0.0, near), upper)


def cuts(bandwidth: float, lowest: float) -> Floats:
    """Return where boxes begin and end between 0 and 1/2; the last before the end starts no higher than `lowest`."""
    step = np.sqrt(bandwidth) / 4
    equal = np.sin(np.arange(_FIRST_EQUAL, np.pi / 4 / step) * step) ** 2
    top = equal[0] if len(equal) else 0.5
    n_shrinking = max(np.ceil(np.log(top / lowest) / np.log(_RATIO)), 1)
    shrinking = top * _RATIO ** -np.arange(n_shrinking, 0, -1.0)
    inner = np.concatenate([shrinking, equal])
    return np.concatenate([[0, TINY], inner[(inner > TINY) & (inner < 0.5)], [0.5]])


def fill_grid(rows: Points, ends: Floats) -> Grid:
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
