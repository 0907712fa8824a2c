"""One sketch per group, of which only occupied cells are kept, since there may be thousands; and sketches in files."""

import json
import os
from collections.abc import Hashable, Iterator, Mapping
from functools import reduce
from itertools import pairwise
from operator import iadd
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from calibrant._border.convert import convert
from calibrant._border.files import open_regular, write_atomically
from calibrant._border.numerals import count
from calibrant._border.text import quoted
from calibrant._border.types import IntArray
from calibrant.binning.cells.line import COLUMNS
from calibrant.binning.cells.weights import ONE, normalised, of_ones
from calibrant.exceptions import FileError, InputError
from calibrant.resampling.bootstrap import group_rows
from calibrant.results import Assessment
from calibrant.scale.batch import Counters
from calibrant.scale.pack import Packed, opened, pack, sealed, unpack
from calibrant.scale.sketch import Sketch
from calibrant.scale.wave_sums import WaveSums

if TYPE_CHECKING:
    from calibrant.assessment.assessing import AssessOptions

MAGIC, VERSION = b"calibrant groups", 1

MOST_GROUPS = 10_000
"""More groups than this are refused: their column is most likely not one of groups."""


class GroupedSketch(Mapping[str, Sketch]):
    """A mapping from the name of each group of rows to its sketch.

    Parameters
    ----------
    like : Sketch, default=Sketch()
        An empty sketch whose classes and digits all groups have.

    Examples
    --------
    >>> found = GroupedSketch().update([0.2, 0.9, 0.6], [0, 1, 1], ["north", "south", "north"])
    >>> found["north"].n_samples, [*found], found.total().n_samples
    (2, ['north', 'south'], 3)
    """

    def __init__(self, like: Sketch | None = None) -> None:
        self.like = Sketch() if like is None else like
        self._packed: dict[str, Packed] = {}

    def __getitem__(self, name: str) -> Sketch:
        return Sketch.from_packed(self._packed[name])

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._packed))

    def __len__(self) -> int:
        return len(self._packed)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GroupedSketch) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]  # Sketches change.

    @property
    def n_samples(self) -> int:
        """Number of rows of all groups."""
        return self.counters.rows

    @property
    def counters(self) -> Counters:
        """Numbers of rows, and of rows left out, of all groups together."""
        return sum((Counters(**one.head["counters"]) for one in self._packed.values()), Counters())

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.like.n_classes

    @property
    def classes(self) -> tuple[Hashable, ...]:
        """Names of the classes."""
        return self.like.classes

    def update(
        self, probs: object, labels: object, groups: object, weights: object = None, *, skip_bad: bool = False
    ) -> Self:
        """Add a batch of rows.

        Parameters
        ----------
        probs, labels, weights, skip_bad
            As for `Sketch.update`.
        groups : array-like of shape (n,)
            The group of each row; its text is the name of the group.

        Returns
        -------
        GroupedSketch
            The sketch itself.
        """
        scores, observed = convert(probs, "probs").values, convert(labels, "labels").values
        masses = None if weights is None else convert(weights, "weights").values
        for name, rows in group_rows(groups, len(scores)).items():
            own = None if masses is None else masses[rows]
            found = self.like.copy_empty().update(scores[rows], observed[rows], own, skip_bad=skip_bad)
            self._add(name, found.packed())
        return self

    def _add(self, name: str, packed: Packed) -> None:
        if name in self._packed:
            self._packed[name] = merged(self._packed[name], packed)
        elif len(self._packed) < MOST_GROUPS:
            self._packed[name] = packed
        else:
            raise InputError(
                f"there must be at most {count(MOST_GROUPS)} groups, but {quoted(name)} is one more. Does the column "
                "hold groups?"
            )

    def __add__(self, other: "GroupedSketch") -> "GroupedSketch":
        if not isinstance(other, GroupedSketch):
            return NotImplemented
        both = GroupedSketch(self.like + other.like)  # Refuses other classes and digits.
        both._packed = dict(self._packed)
        for name, packed in other._packed.items():
            both._add(name, packed)
        return both

    def total(self) -> Sketch:
        """Return the sketch of all groups together: that of all rows."""
        return reduce(iadd, self.values(), self.like.copy_empty())

    def to_bytes(self) -> bytes:
        """Return the sketch as bytes, which do not depend on the order or the batches of the rows."""
        parts = [pack(self.like.packed()), *(pack(self._packed[name]) for name in self)]
        head = json.dumps({"names": [*self], "sizes": [len(part) for part in parts]})
        return sealed(MAGIC, VERSION, head, parts)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the groups that `to_bytes` wrote."""
        head, end = opened(data, MAGIC, VERSION, "sketch of groups")
        places = np.cumsum([end, *head["sizes"]]).tolist()
        first, *others = (data[a:b] for a, b in pairwise(places))
        found = cls(Sketch.from_bytes(first))
        found._packed = {name: unpack(part) for name, part in zip(head["names"], others, strict=True)}
        return found

    def assessed(self, **settings: "Unpack[AssessOptions]") -> Assessment:
        """Measure, test and judge all rows together, and every group; `calibrant.assess` calls this."""
        from calibrant.scale.assess import assess_groups

        return assess_groups(self, **settings)


CellsOfLine = tuple[NDArray[np.intp], IntArray]


def merged(first: Packed, second: Packed) -> Packed:
    """Return the packed sum of two packed sketches with the same settings."""
    if (first.head["units"] is None) != (second.head["units"] is None):
        first, second = _weighted(first), _weighted(second)
    mine, yours = first.head, second.head
    sums = {name: _sum(mine[name], yours[name]) for name in ("logs", "units", "squares", "counters")}
    lines = [_line(a, b) for a, b in zip(first.lines, second.lines, strict=True)]
    if first.waves is None or second.waves is None:
        return Packed(mine | sums, lines)
    both = WaveSums.of(mine["waves"], first.waves) + WaveSums.of(yours["waves"], second.waves)
    return Packed(mine | sums | {"waves": mine["waves"] | both.head()}, lines, both.waves)


def _sum(a: object, b: Any) -> object:
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


def write_sketch(sketch: Sketch | GroupedSketch, path: str | os.PathLike[str]) -> int:
    """Write a sketch to a file, which is replaced only when the new one is complete; return the size in bytes."""
    data = sketch.to_bytes()
    with write_atomically(path) as handle:
        handle.write(data)
    return len(data)


def read_sketch(path: str | os.PathLike[str]) -> Sketch | GroupedSketch:
    """Return the sketch in a file: a `Sketch` or, of groups, a `GroupedSketch`; a damaged file is a `FileError`."""
    with open_regular(path) as file:
        data = file.handle.read()
        try:
            return (GroupedSketch if data.startswith(MAGIC) else Sketch).from_bytes(data)
        except InputError as error:
            raise FileError(f"{file.name}: {error}") from error
