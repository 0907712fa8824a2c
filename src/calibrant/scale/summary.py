"""Integer sums of rows of predictions: updated by batches, added to each other, and written as bytes."""

from collections.abc import Hashable, Sequence
from copy import copy
from dataclasses import asdict
from typing import Self

import numpy as np
from numpy.typing import NDArray

from calibrant._border.labels import as_classes
from calibrant._border.numerals import significant
from calibrant._border.types import FloatArray, IntArray
from calibrant._core.sketch import sum_scores
from calibrant.binning.cells.grid import DIGITS, FEWEST_DIGITS, MOST_DIGITS, grid_of
from calibrant.binning.cells.line import COLUMNS, Line, weighted_scores
from calibrant.binning.cells.weights import COLUMNS as MASSES
from calibrant.binning.cells.weights import MOST_UNITS, ONE
from calibrant.exceptions import InputError
from calibrant.scale.batch import Batch, Counters, clean
from calibrant.scale.pack import Packed, pack, unpack
from calibrant.scale.wave_sums import WaveSums
from calibrant.scale.waves import LENGTHSCALE, Waves

MANY_CLASSES = 32
"""With more classes than this, the cells of each class have 5 digits instead of 7."""

BLOCK, FEWEST_ROWS = 2**18, 4096
"""Most probabilities that are rearranged at a time, and fewest rows: each class of a block takes one call."""


class Summary:
    """What a `Sketch` holds: counts and sums of the cells, all of them integers."""

    def __init__(
        self,
        n_classes: int = 2,
        classes: Sequence[Hashable] | None = None,
        *,
        digits: int | None = None,
        class_digits: int | None = None,
        features: int | None = None,
        lengthscale: float = LENGTHSCALE,
    ) -> None:
        n_classes = n_classes if classes is None else len(classes)
        if n_classes < 2:
            raise InputError(f"n_classes must be at least 2, but is {n_classes}.")
        self.classes = as_classes(classes, n_classes) or tuple(range(n_classes))
        self.digits = _checked(DIGITS if digits is None else digits)
        usual = 7 if n_classes <= MANY_CLASSES else 5
        self.class_digits = _checked(usual if class_digits is None else class_digits)
        self.counters = Counters()
        self._logs = 0
        own = [grid_of(self.digits), *([grid_of(self.class_digits)] * n_classes if n_classes > 2 else [])]
        self._lines = [Line.empty(grid) for grid in own]
        self._units: int | None = None
        self.waves = None if features is None else Waves(n_classes, features, lengthscale)
        self._waves = None if self.waves is None else self.waves.empty()

    @property
    def n_samples(self) -> int:
        """Number of rows in the sketch."""
        return self.counters.rows

    @property
    def is_weighted(self) -> bool:
        """Whether any row has a weight other than 1."""
        return self._units is not None

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    def update(self, probs: object, labels: object, weights: object = None, *, skip_bad: bool = False) -> Self:
        """Add a batch of rows.

        Parameters
        ----------
        probs : array-like of shape (n, K) or (n,)
            Predicted probabilities; one column, or one dimension, means the probability of class 1.
        labels : array-like of shape (n,)
            Observed classes: integers 0 to K - 1, booleans, or names found in `classes`.
        weights : array-like of shape (n,), optional
            Relative weights of the rows, 0 or from 2^-20 to 2^20, which are rounded to multiples of 2^-20. By default
            every row has weight 1; one of weight 0 is left out.
        skip_bad : bool, default=False
            Whether rows with missing numbers, with probabilities outside [0, 1], or with a sum other than 1 are left
            out and counted. Otherwise the batch is refused.

        Returns
        -------
        Sketch
            The sketch itself.
        """
        batch = clean(probs, labels, self.classes, skip_bad=skip_bad, weights=weights)
        units = self._weigh(batch)
        if self.waves is not None and self._waves is not None:
            self.waves.add(self._waves, batch.probs, batch.labels, units)
        found = self._add_binary(batch, units) if self.n_classes == 2 else self._add_classes(batch, units)
        more = Counters(len(batch.labels), batch.n_missing, batch.n_outside, found)
        self.counters = self.counters + more
        return self

    def _weigh(self, batch: Batch) -> IntArray | None:
        """Return the weights of a batch, or None while no batch has had any; from the first on, all rows have one."""
        if batch.units is None and self._units is None:
            return None
        units = np.full(len(batch.labels), ONE) if batch.units is None else batch.units
        self._logs, before = self._sums(weighted=True)
        self._units = _bounded(before + int(units.sum()))
        for line in self._lines:
            line.weighted()
        self._waves = None if self._waves is None else self._waves.weighted()
        return units

    def _sums(self, *, weighted: bool) -> tuple[int, int]:
        """Return the sums of log losses and of weights; if `weighted`, in the units of weighted rows."""
        factor = ONE if weighted and self._units is None else 1
        return self._logs * factor, self.n_samples * factor if self._units is None else self._units

    def _add_binary(self, batch: Batch, units: IntArray | None) -> int:
        labels = batch.labels
        # Bytes, which are 0 or 1, are events as they are.
        events = np.ascontiguousarray(labels).view(np.bool_) if labels.itemsize == 1 else labels == 1
        logs, infinite = self._lines[0].add(batch.probs, events, units, with_logs=True)
        self._logs += logs
        return infinite

    def _add_classes(self, batch: Batch, units: IntArray | None) -> int:
        """Add rows in blocks, since their probabilities are copied class by class."""
        width = max(FEWEST_ROWS, BLOCK // self.n_classes)
        blocks = (slice(start, start + width) for start in range(0, len(batch.labels), width))
        own = [(batch.probs[rows], batch.labels[rows], None if units is None else units[rows]) for rows in blocks]
        return sum(self._add_block(*block) for block in own)

    def _add_block(self, probs: FloatArray, labels: IntArray, units: IntArray | None) -> int:
        at, predicted = np.arange(len(labels)), probs.argmax(axis=1)
        self._lines[0].add(probs[at, predicted], predicted == labels, units)
        by_class = np.ascontiguousarray(probs.T)
        for c, line in enumerate(self._lines[1:]):
            line.add(by_class[c], labels == c, units)
        _, logs, infinite = _sum_scores(probs[at, labels].astype(float), units)
        self._logs += logs
        return infinite

    def __add__(self, other: "Summary") -> Self:
        if not isinstance(other, Summary):
            return NotImplemented
        total = copy(self)
        total._lines = [line.copy() for line in self._lines]
        total += other
        return total

    def __iadd__(self, other: "Summary") -> Self:
        """Add the rows of another sketch in place, which takes no new memory."""
        if not isinstance(other, Summary):
            return NotImplemented
        for name in ("classes", "digits", "class_digits", "waves"):
            mine, yours = getattr(self, name), getattr(other, name)
            if mine != yours:
                raise InputError(
                    f"sketches can be added if they have the same {name}, but one has {mine} and the other {yours}. "
                    "Make both with the same settings."
                )
        weighted = self.is_weighted or other.is_weighted
        (logs, units), (more_logs, more_units) = self._sums(weighted=weighted), other._sums(weighted=weighted)
        both = _bounded(units + more_units) if weighted else None
        self._logs, self._units, self.counters = logs + more_logs, both, self.counters + other.counters
        if self._waves is not None and other._waves is not None:
            self._waves = self._waves + other._waves
        for line, more in zip(self._lines, other._lines, strict=True):
            line += more  # noqa: PLW2901 (in place)
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Summary) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]  # Sketches change.

    def to_bytes(self) -> bytes:
        """Return the sketch as bytes, which do not depend on the order or the batches of the rows.

        The bytes contain a version and a checksum and, unlike a pickle, no code.
        """
        return pack(self.packed())

    def packed(self) -> Packed:
        """Return the content of the bytes: the occupied cells, and the sums."""
        head = {
            "classes": list(self.classes),
            "class_digits": self.class_digits,
            "counters": asdict(self.counters),
            "digits": self.digits,
            "grids": [line.grid.fingerprint.hex() for line in self._lines[:2]],
            "logs": self._logs,
            "squares": [line.squares for line in self._lines],
            "units": self._units,
            "waves": self._head_of_waves(),
        }
        waves = None if self._waves is None else self._waves.waves
        return Packed(head, [_columns(line) for line in self._lines], waves)

    def _head_of_waves(self) -> dict[str, object] | None:
        if self.waves is None or self._waves is None:
            return None
        choice = {name: getattr(self.waves, name) for name in ("features", "fingerprint", "lengthscale")}
        return choice | self._waves.head()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the sketch that `to_bytes` wrote."""
        return cls.from_packed(unpack(data))

    @classmethod
    def from_packed(cls, packed: Packed) -> Self:
        """Return the sketch that `packed` returned."""
        head, lines, waves = packed
        names = [tuple(name) if isinstance(name, list) else name for name in head["classes"]]
        found = head["waves"] or {}
        chosen = {name: found[name] for name in ("features", "lengthscale") if name in found}
        sketch = cls(classes=names, digits=head["digits"], class_digits=head["class_digits"], **chosen)
        if sketch.waves is not None and sketch.waves.fingerprint != found["fingerprint"]:
            raise InputError("this sketch has different random waves from those of this version of calibrant.")
        if [line.grid.fingerprint.hex() for line in sketch._lines[:2]] != head["grids"]:
            raise InputError(
                "this sketch has different cells from those of this version of calibrant. Update calibrant."
            )
        sketch.counters, sketch._logs, sketch._units = Counters(**head["counters"]), head["logs"], head["units"]
        if waves is not None:
            sketch._waves = WaveSums.of(found, waves)
        for line, squares, (cells, columns) in zip(sketch._lines, head["squares"], lines, strict=True):
            if sketch.is_weighted:
                line.masses = np.zeros((line.grid.n_cells, MASSES), dtype=np.int64)
                line.masses[cells] = columns[:, COLUMNS:]
            line.squares = squares
            line.put(cells, columns[:, :COLUMNS])
        return sketch

    def copy_empty(self) -> Self:
        """Return a sketch with these settings and no rows."""
        like = type(self)(classes=self.classes, digits=self.digits, class_digits=self.class_digits)
        if self.waves is not None:
            like.waves, like._waves = self.waves, self.waves.empty()  # noqa: SLF001 (its own class)
        return like


def _checked(digits: int) -> int:
    if not isinstance(digits, int) or not FEWEST_DIGITS <= digits <= MOST_DIGITS:
        raise InputError(f"digits must be a whole number from {FEWEST_DIGITS} to {MOST_DIGITS}, but is {digits!r}.")
    return digits


def _sum_scores(observed: FloatArray, units: IntArray | None) -> tuple[int, int, int]:
    """Return the sums of the scores of events that happened."""
    happened = np.ones(len(observed), np.uint8)
    if units is None:
        return sum_scores(observed, happened, with_logs=True)
    return weighted_scores(observed, happened, units, with_logs=True)


def _bounded(units: int) -> int:
    if units >= MOST_UNITS:
        raise InputError(
            f"the weights of a sketch must have a sum below 2^42, but it is {significant(units / ONE)}. Divide all "
            "of them by one number, which changes nothing."
        )
    return units


def _columns(line: Line) -> tuple[NDArray[np.intp], IntArray]:
    """Return the occupied cells, and their sums."""
    at = line.occupied
    columns = line.columns(at)
    return at, columns if line.masses is None else np.hstack([columns, line.masses[at]])
