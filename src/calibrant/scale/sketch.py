"""A mergeable summary of any number of predictions with their labels."""

from collections.abc import Hashable
from typing import TYPE_CHECKING, Unpack

import numpy as np

from calibrant._border.types import BoolArray
from calibrant.binning.cells.line import UNIT, Cells, Line, as_predictions
from calibrant.binning.cells.weights import ONE, Masses
from calibrant.exceptions import InputError
from calibrant.predictions import Predictions
from calibrant.results import Assessment, Estimate
from calibrant.scale.summary import Summary
from calibrant.scale.waves import estimate

if TYPE_CHECKING:
    from calibrant.assessment.assessing import AssessOptions


class Sketch(Summary):
    """A summary of predictions with their labels that has a constant size, and that can be added to another.

    All its sums are integers, so any split of the rows, in any order, gives the same bytes.

    Parameters
    ----------
    n_classes : int, default=2
    classes : sequence of length K, optional
        Names of the classes in the order of the columns; by default 0 to K - 1.
    digits : int, optional
        Binary digits of the cells of P(class 1) or, with more classes, of the confidence: 10 by default. A cell is
        at most 2^-10 of min(p, 1 - p) wide.
    class_digits : int, optional
        The same for each of more than two classes: 7 by default, 5 for more than 32 classes.
    features : int, optional
        Number of random waves that are summed for the kernel calibration error of all of more than two classes, see
        `skce`; by default none. 256 take several microseconds per row.
    lengthscale : float, default=0.5
        Lengthscale of the kernel of the waves; distances range from 0 to 1.

    Examples
    --------
    >>> first = Sketch().update([0.2, 0.9], [0, 1])
    >>> both = first + Sketch().update([0.6], [1])
    >>> both.n_samples, round(both.brier, 6), both.to_bytes() == (Sketch.from_bytes(both.to_bytes())).to_bytes()
    (3, 0.14, True)
    """

    @property
    def n_rows(self) -> int:
        """Number of rows in the sketch, by the name that `Predictions` have for it."""
        return self.counters.rows

    @property
    def total_weight(self) -> float:
        """Sum of the weights of all rows."""
        return float(self.n_samples if self._units is None else self._units / ONE)

    def __repr__(self) -> str:
        return f"Sketch(n_samples={self.n_samples}, n_classes={self.n_classes})"

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
        """Share of rows whose most probable class was observed; at 1/2, class 0 of two counts as predicted."""
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
        """Return the occupied cells of P(class 1); with more classes, those of the confidence, or of class `c`."""
        return self.line(c).cells()

    def top_label(self) -> Predictions:
        """Binary view of the cells: the mean confidence, and how often the predicted class was right.

        Each cell has at most two rows, whose weights say how many rows they stand for. If rows have weights, see
        `as_predictions`.
        """
        cells, masses, names = self.cells(), self._lines[0].sums(), ("wrong", "right")
        if self.n_classes > 2:
            return as_predictions(cells, names, masses)
        return as_predictions(*_turned(cells, masses, cells.means <= 0.5, names))

    def one_vs_rest(self, c: int = 1) -> Predictions:
        """Binary view of the cells: the mean probability of class `c`, and how often it was observed.

        Each cell has at most two rows, whose weights say how many rows they stand for. If rows have weights, see
        `as_predictions`.
        """
        cells, masses, names = self.cells(c), self.line(c).sums(), ("rest", self.classes[c])
        if self.n_classes > 2:
            return as_predictions(cells, names, masses)
        if c == 1:
            return as_predictions(cells, self.classes, masses)
        return as_predictions(*_turned(cells, masses, np.ones(len(cells.means), dtype=bool), names))

    def assessed(self, **settings: "Unpack[AssessOptions]") -> Assessment:
        """Measure, test and judge the rows, see `assess_sketch`; `calibrant.assess` calls this."""
        from calibrant.scale.assess import assess_sketch

        return assess_sketch(self, **settings)

    def line(self, c: int | None = None) -> Line:
        """Return all counts of P(class 1); with more classes, those of the confidence, or of class `c`."""
        if c is not None and not 0 <= c < self.n_classes:
            raise InputError(f"c must be a class index from 0 to {self.n_classes - 1}, but is {c}.")
        return self._lines[0 if c is None or self.n_classes == 2 else 1 + c]

    def _whole(self) -> int:
        """Return the number of rows; if they have weights, the sum of these in units of 2^-20."""
        if not self.n_samples:
            raise InputError("the sketch has no rows yet: nothing can be measured.")
        return self.n_samples if self._units is None else self._units


def _turned(
    cells: Cells, masses: Masses | None, where: BoolArray, names: tuple[Hashable, ...]
) -> tuple[Cells, tuple[Hashable, ...], Masses | None]:
    """Return cells of which some, those `where`, are about the event not happening."""
    turned = Cells(
        np.where(where, 1.0 - cells.means, cells.means),
        np.where(where, cells.events, cells.without),
        np.where(where, cells.without, cells.events),
    )
    if masses is None:
        return turned, names, None
    return turned, names, Masses(*(np.where(where[:, None], one[:, ::-1], one) for one in masses))
