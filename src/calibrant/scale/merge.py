"""Sums of sketches in their packed form, of which only occupied cells take memory."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._border.types import IntArray
from calibrant.binning.cells.line import COLUMNS
from calibrant.binning.cells.weights import ONE, normalised, of_ones
from calibrant.scale.pack import Packed
from calibrant.scale.wave_sums import WaveSums

CellsOfLine = tuple[NDArray[np.intp], IntArray]


def merged(first: Packed, second: Packed) -> Packed:
    """Return the sum of two sketches with the same settings: what adding and packing them gives."""
    if (first.head["units"] is None) != (second.head["units"] is None):
        first, second = _weighted(first), _weighted(second)
    mine, yours = first.head, second.head
    sums = {name: _sum(mine[name], yours[name]) for name in ("logs", "units", "squares", "counters")}
    lines = [_line(a, b) for a, b in zip(first.lines, second.lines, strict=True)]
    if first.waves is None or second.waves is None:
        return Packed(mine | sums, lines)
    both = WaveSums.of(mine["waves"], first.waves) + WaveSums.of(yours["waves"], second.waves)
    return Packed(mine | sums | {"waves": mine["waves"] | both.head()}, lines, both.waves)


def _sum(a: Any, b: Any) -> Any:
    """Add numbers, and the numbers in lists and mappings."""
    if isinstance(a, dict):
        return {key: a[key] + b[key] for key in a}
    if isinstance(a, list):
        return [x + y for x, y in zip(a, b, strict=True)]
    return None if a is None else a + b


def _line(first: CellsOfLine, second: CellsOfLine) -> CellsOfLine:
    cells = np.union1d(first[0], second[0]).astype(np.intp)
    total = np.zeros((len(cells), first[1].shape[1]), dtype=np.int64)
    total[:, 3], total[:, 4] = np.iinfo(np.int64).max, -1
    for own, columns in (first, second):
        at = np.searchsorted(cells, own)
        kept = total[at]
        total[at] = kept + columns
        total[at, 3] = np.minimum(kept[:, 3], columns[:, 3])
        total[at, 4] = np.maximum(kept[:, 4], columns[:, 4])
    if total.shape[1] > COLUMNS:
        total[:, COLUMNS:] = normalised(total[:, COLUMNS:].copy())
    return cells, total


def _weighted(packed: Packed) -> Packed:
    """Give every row its weight of 1."""
    head = packed.head
    if head["units"] is not None:
        return packed
    scaled = {"logs": head["logs"] * ONE, "squares": [one * ONE for one in head["squares"]]}
    lines = [(cells, np.hstack([columns, of_ones(columns)])) for cells, columns in packed.lines]
    return Packed(head | scaled | {"units": head["counters"]["rows"] * ONE}, lines, packed.waves)
