"""A mergeable summary of any number of predictions with their labels."""

from collections.abc import Hashable, Sequence
from copy import copy
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from calibrant._border.labels import as_classes
from calibrant._border.types import BoolArray, FloatArray, IntArray
from calibrant._core.sketch import sum_scores
from calibrant.binning.cells.grid import FEWEST_DIGITS, MOST_DIGITS, grid_of
from calibrant.binning.cells.line import COLUMNS, UNIT, Cells, Line, as_predictions, weighted_scores
from calibrant.binning.cells.weights import COLUMNS as MASSES
from calibrant.binning.cells.weights import MOST_UNITS, ONE, Masses
from calibrant.exceptions import InputError
from calibrant.predictions import Predictions
from calibrant.results import Assessment, Estimate
from calibrant.scale.batch import Batch, clean
from calibrant.scale.pack import Packed, pack, unpack
from calibrant.scale.wave_sums import WaveSums
from calibrant.scale.waves import LENGTHSCALE, Waves, estimate

DIGITS = 9
"""Digits of the cells of P(class 1), and of the confidence."""

MANY_CLASSES = 32
"""With more classes than this, those of each class have 5 digits instead of 7."""

BLOCK, FEWEST_ROWS = 2**18, 4096
"""Probabilities that are rearranged at a time, and rows at least: every class of them is one call."""


@dataclass(frozen=True)
class Counters:
    """Rows that a sketch has seen.

    Parameters
    ----------
    rows : int
        Rows that are in the sketch.
    missing : int
        Rows left out because a probability or the label was missing.
    outside : int
        Rows left out because a probability was outside [0, 1], or because they did not sum to 1.
    infinite : int
        Rows in the sketch whose label had a predicted probability of exactly 0.
    """

    rows: int = 0
    missing: int = 0
    outside: int = 0
    infinite: int = 0

    def __add__(self, other: "Counters") -> "Counters":
        return Counters(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))


class Sketch:
    """A summary of predictions with their labels that has a constant size, and that can be added to another.

    Everything in it is an integer, so that any split of the rows, in any order, gives the same bytes.

    Parameters
    ----------
    n_classes : int, default=2
    classes : sequence of length K, optional
        Names of the classes in the order of the columns; by default 0 to K - 1.
    digits : int, optional
        Binary digits of the cells of P(class 1) or, with more classes, of the confidence: 9 by default. A cell is at
        most 2^-9 of min(p, 1 - p) wide.
    class_digits : int, optional
        The same for each of more than two classes: 7 by default, 5 for more than 32 classes.
    features : int, optional
        Number of random waves that are summed for the kernel calibration error of all of more than two classes, see
        `skce`; by default none. 256 take several microseconds per row.
    lengthscale : float, default=0.5
        Of their kernel; distances are 0 to 1.

    Examples
    --------
    >>> first = Sketch().update([0.2, 0.9], [0, 1])
    >>> both = first + Sketch().update([0.6], [1])
    >>> both.n_samples, round(both.brier, 6), both.to_bytes() == (Sketch.from_bytes(both.to_bytes())).to_bytes()
    (3, 0.14, True)
    """

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
    def n_rows(self) -> int:
        """The same, by the name that it has for the views."""
        return self.counters.rows

    @property
    def is_weighted(self) -> bool:
        """Whether any row has a weight other than 1."""
        return self._units is not None

    @property
    def total_weight(self) -> float:
        """Sum of the weights of all rows."""
        return float(self.n_samples if self._units is None else self._units / ONE)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    def __repr__(self) -> str:
        return f"Sketch(n_samples={self.n_samples}, n_classes={self.n_classes})"

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
            Leave rows out that have a missing number, or probabilities outside [0, 1] or with another sum than 1, and
            count them, rather than refuse the batch.

        Returns
        -------
        Sketch
            This one.
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
        """Return the weights of a batch, if this or an earlier one has any; from then on all rows have."""
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
        """Return log losses and weights, in units of weights if rows have any."""
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
        """Add rows some at a time, since all classes of a row are rearranged."""
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

    def __add__(self, other: "Sketch") -> "Sketch":
        if not isinstance(other, Sketch):
            return NotImplemented
        total = copy(self)
        total._lines = [line.copy() for line in self._lines]
        total += other
        return total

    def __iadd__(self, other: "Sketch") -> Self:
        """Add the rows of another sketch to this one, which takes no new memory."""
        if not isinstance(other, Sketch):
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
        return isinstance(other, Sketch) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]  # It changes.

    def to_bytes(self) -> bytes:
        """Return all of it as bytes: the same for the same rows, whatever their order and batches were.

        They hold a version and a checksum; no code, as a pickle would.
        """
        return pack(self.packed())

    def packed(self) -> Packed:
        """Return what the bytes hold: the occupied cells, and sums."""
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

    @property
    def nll(self) -> float:
        """Mean log loss, exact to 2^-33; infinite if a label had a predicted probability of 0."""
        return np.inf if self.counters.infinite else self._logs / UNIT / self._whole()

    @property
    def brier(self) -> float:
        """Mean of the sum of squared errors over classes, 0 to 2, exact to K 2^-33."""
        squares = 2 * self._lines[0].squares if self.n_classes == 2 else sum(one.squares for one in self._lines[1:])
        return squares / UNIT / self._whole()

    @property
    def accuracy(self) -> float:
        """Share of rows whose most probable class was observed; of two classes at 1/2 it is class 0."""
        cells, masses = self._lines[0].cells(), self._lines[0].sums()
        wrong, right = (cells.without, cells.events) if masses is None else masses.weights.T
        if self.n_classes == 2:
            right = np.where(cells.means > 0.5, right, wrong)
        self._whole()
        return float(right.sum() / self.total_weight)

    def skce(self) -> Estimate:
        """Return the squared kernel calibration error of all classes, by random waves.

        Its details hold the standard error of the waves, and the mean over 16 blocks of rows with its standard error,
        which says how much the value varies by chance.
        """
        if self._waves is None:
            raise InputError("the sketch has no random waves. Make it with features=256, or take skce of its views.")
        return estimate(self._waves)

    def cells(self, c: int | None = None) -> Cells:
        """Return the occupied cells: of P(class 1) or, with more classes, of the confidence or of class `c`."""
        return self._line(c).cells()

    def top_label(self) -> Predictions:
        """Binary view of the cells: the mean confidence, and how often the predicted class was right.

        Each cell has two rows at most, whose weights are how many rows they stand for; if rows have weights, see
        `as_predictions`.
        """
        cells, masses, names = self.cells(), self._lines[0].sums(), ("wrong", "right")
        if self.n_classes > 2:
            return as_predictions(cells, names, masses)
        return as_predictions(*_turned(cells, masses, cells.means <= 0.5, names))

    def one_vs_rest(self, c: int = 1) -> Predictions:
        """Binary view of the cells: the mean probability of class `c`, and how often it was observed.

        Each cell has two rows at most, whose weights are how many rows they stand for; if rows have weights, see
        `as_predictions`.
        """
        cells, masses, names = self.cells(c), self._line(c).sums(), ("rest", self.classes[c])
        if self.n_classes > 2:
            return as_predictions(cells, names, masses)
        if c == 1:
            return as_predictions(cells, self.classes, masses)
        return as_predictions(*_turned(cells, masses, np.ones(len(cells.means), dtype=bool), names))

    def assessed(self, **settings: Any) -> Assessment:
        """Measure, test and judge it: what `calibrant.assess` does with a sketch, see `assess_sketch`."""
        from calibrant.scale.assess import assess_sketch

        return assess_sketch(self, **settings)

    def _line(self, c: int | None) -> Line:
        if c is not None and not 0 <= c < self.n_classes:
            raise InputError(f"c must be a class index from 0 to {self.n_classes - 1}, but is {c}.")
        return self._lines[0 if c is None or self.n_classes == 2 else 1 + c]

    def _whole(self) -> int:
        """Return the weight of all rows: their number, or in units of 2^-20."""
        if not self.n_samples:
            raise InputError("the sketch has no rows yet: nothing can be measured.")
        return self.n_samples if self._units is None else self._units

    def copy_empty(self) -> "Sketch":
        """Return a sketch with these settings and no rows."""
        like = Sketch(classes=self.classes, digits=self.digits, class_digits=self.class_digits)
        if self.waves is not None:
            like.waves, like._waves = self.waves, self.waves.empty()
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
            f"the weights of a sketch must have a sum below 2^42, but it is {units / ONE:.3g}. Divide all of them by "
            "one number, which changes nothing."
        )
    return units


def _columns(line: Line) -> tuple[NDArray[np.intp], IntArray]:
    """Return the occupied cells, and all that is summed of them."""
    at = line.occupied
    columns = line.columns(at)
    return at, columns if line.masses is None else np.hstack([columns, line.masses[at]])


def _turned(
    cells: Cells, masses: Masses | None, where: BoolArray, names: tuple[Hashable, ...]
) -> tuple[Cells, tuple[Hashable, ...], Masses | None]:
    """Return cells of which some predict that the event does not happen."""
    turned = Cells(
        np.where(where, 1.0 - cells.means, cells.means),
        np.where(where, cells.events, cells.without),
        np.where(where, cells.without, cells.events),
    )
    if masses is None:
        return turned, names, None
    return turned, names, Masses(*(np.where(where[:, None], one[:, ::-1], one) for one in masses))
