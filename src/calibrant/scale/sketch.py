"""A mergeable summary of any number of predictions with their labels."""

from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from calibrant._border.labels import as_classes
from calibrant._core.sketch import sum_scores
from calibrant._typing import FloatArray, IntArray
from calibrant.exceptions import InputError
from calibrant.predictions import Predictions
from calibrant.results import Assessment
from calibrant.scale.batch import Batch, clean
from calibrant.scale.grid import FEWEST_DIGITS, MOST_DIGITS, grid_of
from calibrant.scale.line import COLUMNS, UNIT, Cells, Line, as_predictions
from calibrant.scale.pack import Packed, pack, unpack

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

    @property
    def n_samples(self) -> int:
        """Number of rows in the sketch."""
        return self.counters.rows

    @property
    def n_rows(self) -> int:
        """The same, by the name that it has for the views."""
        return self.counters.rows

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    def __repr__(self) -> str:
        return f"Sketch(n_samples={self.n_samples}, n_classes={self.n_classes})"

    def update(self, probs: Any, labels: Any, *, skip_bad: bool = False) -> Self:
        """Add a batch of rows.

        Parameters
        ----------
        probs : array-like of shape (n, K) or (n,)
            Predicted probabilities; one column, or one dimension, means the probability of class 1.
        labels : array-like of shape (n,)
            Observed classes: integers 0 to K - 1, booleans, or names found in `classes`.
        skip_bad : bool, default=False
            Leave rows out that have a missing number, or probabilities outside [0, 1] or with another sum than 1, and
            count them, rather than refuse the batch.

        Returns
        -------
        Sketch
            This one.
        """
        batch = clean(probs, labels, self.classes, skip_bad=skip_bad)
        found = self._add_binary(batch) if self.n_classes == 2 else self._add_classes(batch)
        more = Counters(len(batch.labels), batch.n_missing, batch.n_outside, found)
        self.counters = self.counters + more
        return self

    def _add_binary(self, batch: Batch) -> int:
        logs, infinite = self._lines[0].add(batch.probs, batch.labels == 1, with_logs=True)
        self._logs += logs
        return infinite

    def _add_classes(self, batch: Batch) -> int:
        """Add rows some at a time, since all classes of a row are rearranged."""
        width = max(FEWEST_ROWS, BLOCK // self.n_classes)
        blocks = (slice(start, start + width) for start in range(0, len(batch.labels), width))
        return sum(self._add_block(batch.probs[rows], batch.labels[rows]) for rows in blocks)

    def _add_block(self, probs: FloatArray, labels: IntArray) -> int:
        at, predicted = np.arange(len(labels)), probs.argmax(axis=1)
        self._lines[0].add(probs[at, predicted], predicted == labels)
        by_class = np.ascontiguousarray(probs.T)
        for c, line in enumerate(self._lines[1:]):
            line.add(by_class[c], labels == c)
        _, logs, infinite = sum_scores(probs[at, labels], np.ones(len(labels), np.uint8), with_logs=True)
        self._logs += logs
        return infinite

    def __add__(self, other: "Sketch") -> "Sketch":
        if not isinstance(other, Sketch):
            return NotImplemented
        for name in ("classes", "digits", "class_digits"):
            mine, yours = getattr(self, name), getattr(other, name)
            if mine != yours:
                raise InputError(
                    f"sketches can be added if they have the same {name}, but one has {mine} and the other {yours}. "
                    "Make both with the same settings."
                )
        total = self._like()
        total.counters = self.counters + other.counters
        total._logs = self._logs + other._logs
        total._lines = [a + b for a, b in zip(self._lines, other._lines, strict=True)]
        return total

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sketch) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]  # It changes.

    def to_bytes(self) -> bytes:
        """Return all of it as bytes: the same for the same rows, whatever their order and batches were.

        They hold a version and a checksum; no code, as a pickle would.
        """
        head = {
            "classes": list(self.classes),
            "class_digits": self.class_digits,
            "counters": asdict(self.counters),
            "digits": self.digits,
            "grids": [line.grid.fingerprint.hex() for line in self._lines[:2]],
            "logs": self._logs,
            "squares": [line.squares for line in self._lines],
        }
        return pack(Packed(head, [(line.occupied, line.table[line.occupied]) for line in self._lines]))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the sketch that `to_bytes` wrote."""
        head, lines = unpack(data, COLUMNS)
        names = [tuple(name) if isinstance(name, list) else name for name in head["classes"]]
        sketch = cls(classes=names, digits=head["digits"], class_digits=head["class_digits"])
        if [line.grid.fingerprint.hex() for line in sketch._lines[:2]] != head["grids"]:
            raise InputError(
                "this sketch has different cells from those of this version of calibrant. Update calibrant."
            )
        sketch.counters, sketch._logs = Counters(**head["counters"]), head["logs"]
        for line, squares, (cells, columns) in zip(sketch._lines, head["squares"], lines, strict=True):
            line.squares = squares
            line.table[cells] = columns
        return sketch

    @property
    def nll(self) -> float:
        """Mean log loss, exact to 2^-33; infinite if a label had a predicted probability of 0."""
        return np.inf if self.counters.infinite else self._logs / UNIT / self._rows()

    @property
    def brier(self) -> float:
        """Mean of the sum of squared errors over classes, 0 to 2, exact to K 2^-33."""
        squares = 2 * self._lines[0].squares if self.n_classes == 2 else sum(one.squares for one in self._lines[1:])
        return squares / UNIT / self._rows()

    @property
    def accuracy(self) -> float:
        """Share of rows whose most probable class was observed; of two classes at 1/2 it is class 0."""
        if self.n_classes > 2:
            return int(self._lines[0].cells().events.sum()) / self._rows()
        cells = self._lines[0].cells()
        return int(np.where(cells.means > 0.5, cells.events, cells.without).sum()) / self._rows()

    def cells(self, c: int | None = None) -> Cells:
        """Return the occupied cells: of P(class 1) or, with more classes, of the confidence or of class `c`."""
        return self._line(c).cells()

    def top_label(self) -> Predictions:
        """Binary view of the cells: the mean confidence, and how often the predicted class was right.

        Each cell has two rows at most, whose weights are how many rows it stands for.
        """
        if self.n_classes > 2:
            return as_predictions(self.cells(), ("wrong", "right"))
        means, without, events = self.cells()
        upper = means > 0.5
        folded = Cells(
            np.where(upper, means, 1.0 - means), np.where(upper, without, events), np.where(upper, events, without)
        )
        return as_predictions(folded, ("wrong", "right"))

    def one_vs_rest(self, c: int = 1) -> Predictions:
        """Binary view of the cells: the mean probability of class `c`, and how often it was observed.

        Each cell has two rows at most, whose weights are how many rows it stands for.
        """
        cells, names = self.cells(c), ("rest", self.classes[c])
        if self.n_classes > 2:
            return as_predictions(cells, names)
        if c == 1:
            return as_predictions(cells, self.classes)
        return as_predictions(Cells(1.0 - cells.means[::-1], cells.events[::-1], cells.without[::-1]), names)

    def assessed(self, **settings: Any) -> Assessment:
        """Measure, test and judge it: what `calibrant.assess` does with a sketch, see `assess_sketch`."""
        from calibrant.scale.assess import assess_sketch

        return assess_sketch(self, **settings)

    def _line(self, c: int | None) -> Line:
        if c is not None and not 0 <= c < self.n_classes:
            raise InputError(f"c must be a class index from 0 to {self.n_classes - 1}, but is {c}.")
        return self._lines[0 if c is None or self.n_classes == 2 else 1 + c]

    def _rows(self) -> int:
        if not self.n_samples:
            raise InputError("the sketch has no rows yet: nothing can be measured.")
        return self.n_samples

    def _like(self) -> "Sketch":
        return Sketch(classes=self.classes, digits=self.digits, class_digits=self.class_digits)


def _checked(digits: int) -> int:
    if not isinstance(digits, int) or not FEWEST_DIGITS <= digits <= MOST_DIGITS:
        raise InputError(f"digits must be a whole number from {FEWEST_DIGITS} to {MOST_DIGITS}, but is {digits!r}.")
    return digits
