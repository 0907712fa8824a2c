r"""Sorted positions in equal boxes, and their mirror images.

The unit interval is cut into `count` boxes, at least two per bandwidth; only the occupied ones are stored, so that a
tiny bandwidth needs no memory. The cuts are symmetric about 0 and 1, so that the image of a box at either end is a box.

Images are never stored. *Extended* numbers of n rows or boxes run from -n to 2n: first the images at 0 in reverse
order, then the n themselves, then the images at 1 in reverse order. So -1 is the image at 0 of number 0, and n is the
image at 1 of number n - 1.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant._core.library import BoxesRecord

# Boxes narrower than the spacing of floats near 1 would separate nothing.
_MOST_BOXES = 2**50


class Boxes(NamedTuple):
    """Occupied boxes: where their rows start (k + 1,), their centres (k,), and 1 / half width (k,).

    `ids` (k,) are their numbers from the left among `count` equal ones, in increasing order.
    """

    starts: IntArray
    centres: FloatArray
    scales: FloatArray
    ids: IntArray
    n_boxes: int


def as_record(boxes: Boxes) -> BoxesRecord:
    """Return boxes as a structure of the compiled code."""
    return BoxesRecord.of(occupied=len(boxes.ids), **boxes._asdict())


def count_boxes(bandwidth: float) -> int:
    """Return how many boxes, at most half a bandwidth wide, the unit interval needs."""
    return max(math.ceil(min(2 / bandwidth, _MOST_BOXES)), 1)


def fill_boxes(x: FloatArray, count: int) -> Boxes:
    """Find the boxes of sorted positions x (n,)."""
    ids = (x * count).astype(np.int64)
    np.minimum(ids, count - 1, out=ids)
    starts = starts_of_groups(ids)
    ids = ids[starts[:-1]]
    return Boxes(starts, (ids + 0.5) / count, np.full(len(ids), 2.0 * count), ids, count)


def starts_of_groups(ids: IntArray) -> IntArray:
    """Return where runs of equal numbers start, followed by the number of all."""
    inner = np.flatnonzero(ids[1:] != ids[:-1]) + 1
    return np.concatenate([[0], inner, [len(ids)]]) if len(ids) else np.zeros(1, dtype=np.int64)


def rows_in_same(boxes: Boxes, ids: IntArray) -> IntArray:
    """Return how many rows the boxes numbered `ids` have."""
    return boxes.starts[np.searchsorted(boxes.ids, ids, side="right")] - boxes.starts[np.searchsorted(boxes.ids, ids)]


def first_from(boxes: Boxes, ids: IntArray, *, reflect: bool) -> IntArray:
    """Return the extended number of the first box or image that is not left of each of the boxes `ids`."""
    below = np.searchsorted(boxes.ids, ids)
    if not reflect:
        return below
    images_at_0 = np.searchsorted(boxes.ids, -1 - ids, side="right")
    images_at_1 = np.searchsorted(boxes.ids, 2 * boxes.n_boxes - 1 - ids, side="right")
    return below + len(boxes.ids) - images_at_0 - images_at_1


def first_row(boxes: Boxes, extended: IntArray) -> IntArray:
    """Return the extended number of the first row of boxes given by their extended numbers."""
    k, starts = len(boxes.ids), boxes.starts
    at_0 = -starts[np.clip(-extended, 0, k)]
    at_1 = 2 * starts[k] - starts[np.clip(2 * k - extended, 0, k)]
    inside = starts[np.clip(extended, 0, k)]
    return np.where(extended < 0, at_0, np.where(extended > k, at_1, inside))


@dataclass(frozen=True, eq=False)
class Line:
    """Positions in [0, 1] in increasing order: sorted once, used for many bandwidths and weights.

    Parameters
    ----------
    order : array of shape (n,)
        The indices that sort the positions.
    x : array of shape (n,)
        The positions in increasing order.
    """

    order: IntArray
    x: FloatArray

    @classmethod
    def of(cls, positions: FloatArray) -> Self:
        """Sort positions (n,) in [0, 1]."""
        positions = np.asarray(positions, dtype=np.float64)
        order = np.argsort(positions).astype(np.int64, copy=False)
        return cls(order, positions[order])

    def __len__(self) -> int:
        return len(self.x)
