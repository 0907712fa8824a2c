"""The simulated worlds: calibrated predictions of several shapes, and predictions spoilt in known ways."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant._typing import FloatArray
from calibrant.forecasts import Forecasts, Normal
from calibrant.predictions import Predictions
from calibrant.simulations import worlds
from calibrant.simulations.worlds import temper

SEED = 20_240_229
"""Root of all random numbers of the tables."""

MANY_SETS, FEW_SETS, POWER_SETS = 2000, 300, 200
"""Simulated data sets of a cell: where the level is measured up to 300 rows, above that, and where power is."""


@dataclass(frozen=True)
class Cell:
    """One simulated world.

    Attributes
    ----------
    shape : str
        How the true probabilities are distributed: a key of `SHAPES`, or "normal" for forecasts.
    n : int
        Rows of a data set.
    n_classes : int
        0 for forecasts.
    sets : int
        Data sets to simulate.
    harm : str
        What is done to the true probabilities before they are reported: a key of `HARMS`.
    """

    shape: str
    n: int
    n_classes: int
    sets: int
    harm: str = "none"

    @property
    def is_null(self) -> bool:
        """Whether the reported predictions are calibrated."""
        return self.harm == "none"

    @property
    def name(self) -> str:
        """Name in tables and file names; it decides the random numbers, the number of sets does not."""
        what = self.shape if self.is_null else self.harm
        return f"{what} K={self.n_classes or '-'} n={self.n}"

    def generators(self, index: int) -> tuple[np.random.Generator, np.random.Generator]:
        """Return the random numbers of a data set and of the test that sees it."""
        return worlds.generators(SEED, self.name, index)


def simulate(cell: Cell, rng: np.random.Generator) -> Any:
    """Return one data set of the cell."""
    if cell.shape == "normal":
        loc, scale = rng.normal(size=cell.n), rng.uniform(0.5, 2.0, cell.n)
        return Forecasts(Normal(loc, scale), loc + scale * rng.standard_normal(cell.n))
    truth = SHAPES[cell.shape](rng, cell.n, cell.n_classes)
    return Predictions(HARMS[cell.harm](truth), worlds.draw(rng, truth))


def _two_point(rng: np.random.Generator, n: int, n_classes: int) -> FloatArray:
    sure = np.full(n_classes, 0.3 / (n_classes - 1))
    sure[0] = 0.7
    ramp = np.arange(1.0, n_classes + 1)
    return np.stack([sure, ramp / ramp.sum()])[rng.integers(0, 2, n)]


def _with_zeros_and_ones(rng: np.random.Generator, n: int, n_classes: int) -> FloatArray:
    probs = rng.dirichlet(np.ones(n_classes), n)
    impossible = np.flatnonzero(rng.random(n) < 0.5)
    probs[impossible, rng.integers(0, n_classes, len(impossible))] = 0.0
    certain = rng.random(n) < 0.25
    probs[certain] = np.eye(n_classes)[rng.integers(0, n_classes, int(certain.sum()))]
    return probs / probs.sum(axis=1, keepdims=True)


SHAPES: dict[str, Callable[[np.random.Generator, int, int], FloatArray]] = {
    "flat": lambda rng, n, k: rng.dirichlet(np.ones(k), n),
    "peaked": lambda rng, n, k: rng.dirichlet(np.full(k, 0.1), n),
    "two-point": _two_point,
    "zero-one": _with_zeros_and_ones,
}
"""True probabilities: uniform on the simplex, close to its corners, of two kinds only, with exact zeros and ones."""


def inflate(probs: FloatArray) -> FloatArray:
    """Report class 0 with twice its share, before all shares are made to sum to 1 again."""
    reported = probs.copy()
    reported[:, 0] *= 2
    return reported / reported.sum(axis=1, keepdims=True)


def rotate(probs: FloatArray) -> FloatArray:
    """Report the largest probability as it is, and the others each one place further, in the order of the classes."""
    order = np.argsort(probs == probs.max(axis=1, keepdims=True), axis=1, kind="stable")  # The largest comes last.
    reported = probs.copy()
    moved = np.take_along_axis(probs, order[:, :-1], axis=1)
    np.put_along_axis(reported, order[:, :-1], np.roll(moved, 1, axis=1), axis=1)
    return reported


HARMS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "none": lambda probs: probs,
    "temperature-0.5": lambda probs: temper(probs, 0.5),
    "temperature-0.7": lambda probs: temper(probs, 0.7),
    "temperature-0.85": lambda probs: temper(probs, 0.85),
    "temperature-1.2": lambda probs: temper(probs, 1.2),
    "temperature-1.5": lambda probs: temper(probs, 1.5),
    "bad-class": inflate,
    "rotation": rotate,
}
"""Ways to spoil true probabilities; labels are always drawn from the true ones."""

HARMED_CLASSES = {"bad-class": 10, "rotation": 4}
"""Number of classes where power is measured; 3 for the temperatures."""


def null_cells() -> list[Cell]:
    """Return the cells in which the predictions are calibrated."""
    classes = [
        Cell(shape, n, k, MANY_SETS if n <= 300 else FEW_SETS)
        for shape in SHAPES
        for k in (2, 3, 10)
        for n in (20, 100, 300, 1000)
    ]
    return classes + [Cell("normal", n, 0, MANY_SETS) for n in (20, 100)]


def power_cells() -> list[Cell]:
    """Return the cells in which they are not."""
    harms = [harm for harm in HARMS if harm != "none"]
    return [Cell("flat", n, HARMED_CLASSES.get(harm, 3), POWER_SETS, harm) for harm in harms for n in (100, 300, 1000)]
