"""The simulated worlds: calibrated predictions of several shapes, and predictions with known defects."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit, softmax

from calibrant._border.types import FloatArray
from calibrant.forecasts import Forecasts, Normal
from calibrant.predictions import Predictions
from studies.simulations import worlds
from studies.simulations.worlds import temper

SEED = 20_240_229
"""Root of all random numbers of the tables."""

MANY_SETS, FEW_SETS, POWER_SETS = 2000, 300, 200
"""Simulated data sets of a cell: where the level is measured up to 300 rows, above that, and where power is."""

SPECIAL_SETS, LARGE_SETS = 500, 100
"""The same for rare events, weights and ties, and for what takes longest."""

MANY_ROWS = 5000
"""Rows of cells for tests whose redraws are another computation where there are many rows."""


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
    defect : str
        What is done to the true probabilities before they are reported: a key of `DEFECTS`.
    weights : str
        How the weights of the rows are distributed: a key of `WEIGHTS`.
    """

    shape: str
    n: int
    n_classes: int
    sets: int
    defect: str = "none"
    weights: str = "none"

    @property
    def is_null(self) -> bool:
        """Whether the reported predictions are calibrated."""
        return self.defect == "none"

    @property
    def is_special(self) -> bool:
        """Whether it is outside the full grid: rare events, ties, many classes, weights."""
        return self.weights != "none" or self.shape not in (*GRID_SHAPES, "normal")

    @property
    def is_large(self) -> bool:
        """Whether events of two classes are counted in cells of similar rows instead of drawn row by row."""
        return self.n >= MANY_ROWS

    @property
    def name(self) -> str:
        """Name in tables and file names; it decides the random numbers, the number of sets does not."""
        what = self.shape if self.is_null else self.defect
        if not self.is_null and self.shape != "flat":
            what = f"{what} of {self.shape}"
        weights = "" if self.weights == "none" else f" {self.weights} weights"
        return f"{what} K={self.n_classes or '-'} n={self.n}{weights}"

    def generators(self, index: int) -> tuple[np.random.Generator, np.random.Generator]:
        """Return the random numbers of a data set and of the test that sees it."""
        return worlds.generators(SEED, self.name, index)


def simulate(cell: Cell, rng: np.random.Generator) -> Any:
    """Return one data set of the cell."""
    if cell.shape == "normal":
        loc, scale = rng.normal(size=cell.n), rng.uniform(0.5, 2.0, cell.n)
        return Forecasts(Normal(loc, scale), loc + scale * rng.standard_normal(cell.n))
    truth = SHAPES[cell.shape](rng, cell.n, cell.n_classes)
    labels = worlds.draw(rng, truth)
    return Predictions(DEFECTS[cell.defect](truth), labels, WEIGHTS[cell.weights](rng, cell.n))


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


def _binary(positive: FloatArray) -> FloatArray:
    return np.column_stack([1 - positive, positive])


def _log_normal_odds(rng: np.random.Generator, n: int, centre: float) -> FloatArray:
    return _binary(expit(rng.normal(centre, 1.2, n)))


def _sure(rng: np.random.Generator, n: int, n_classes: int) -> FloatArray:
    logits = rng.normal(size=(n, n_classes))
    logits[np.arange(n), rng.integers(0, n_classes, n)] += rng.gamma(4.0, 2.6, n)
    return softmax(logits, axis=1)


SHAPES: dict[str, Callable[[np.random.Generator, int, int], FloatArray]] = {
    "flat": lambda rng, n, k: rng.dirichlet(np.ones(k), n),
    "peaked": lambda rng, n, k: rng.dirichlet(np.full(k, 0.1), n),
    "two-point": _two_point,
    "zero-one": _with_zeros_and_ones,
    "rare": lambda rng, n, _: _binary(rng.beta(0.5, 20.0, n)),
    "rare-2%": lambda rng, n, _: _log_normal_odds(rng, n, -4.5),
    "rare-0.5%": lambda rng, n, _: _log_normal_odds(rng, n, -5.95),
    "one-frequent": lambda rng, n, k: rng.dirichlet(np.append(20.0, np.full(k - 1, 0.3)), n),
    "forest": lambda rng, n, _: _binary(rng.binomial(10, rng.random(n)) / 10),
    "sure": _sure,
    "many": lambda rng, n, k: rng.dirichlet(np.full(k, 0.2), n),
}
"""True probabilities: uniform on the simplex, close to its corners, of two kinds only, with exact zeros and ones; then
rare events, Beta(0.5, 20) or normal log-odds with a mean of 2 % or 0.5 %, a class that nearly always occurs, the votes
of ten trees, a network that is right in 95 % of rows, and many classes."""

GRID_SHAPES = ("flat", "peaked", "two-point", "zero-one")
"""Shapes of the full grid."""

WEIGHTS: dict[str, Callable[[np.random.Generator, int], FloatArray | None]] = {
    "none": lambda _rng, _n: None,
    "exponential": lambda rng, n: rng.exponential(size=n),
    "lognormal": lambda rng, n: rng.lognormal(sigma=1.5, size=n),
}
"""Weights of the rows, independent of everything else."""


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


def shift_odds(probs: FloatArray, by: float) -> FloatArray:
    """Add to the log-odds of class 1."""
    return _binary(expit(logit(probs[:, 1]) + by))


def steepen(probs: FloatArray, slope: float) -> FloatArray:
    """Divide the log-odds of class 1 by the slope and shift them so that their mean probability stays."""
    odds, mean = logit(probs[:, 1]) / slope, probs[:, 1].mean()
    by = brentq(lambda shift: expit(odds + shift).mean() - mean, -50, 50)
    return _binary(expit(odds + by))


def overstate(probs: FloatArray) -> FloatArray:
    """Report class 0 with five times its share, before all shares are made to sum to 1 again."""
    reported = probs.copy()
    reported[:, 0] *= 5
    return reported / reported.sum(axis=1, keepdims=True)


def overstate_last(probs: FloatArray) -> FloatArray:
    """Report the last class with three times its share, before all shares are made to sum to 1 again."""
    reported = probs.copy()
    reported[:, -1] *= 3
    return reported / reported.sum(axis=1, keepdims=True)


DEFECTS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "none": lambda probs: probs,
    "temperature-0.5": lambda probs: temper(probs, 0.5),
    "temperature-0.7": lambda probs: temper(probs, 0.7),
    "temperature-0.85": lambda probs: temper(probs, 0.85),
    "temperature-1.2": lambda probs: temper(probs, 1.2),
    "temperature-1.5": lambda probs: temper(probs, 1.5),
    "bad-class": inflate,
    "rotation": rotate,
    "slope-0.6": lambda probs: steepen(probs, 0.6),
    "intercept-0.5": lambda probs: shift_odds(probs, 0.5),
    "shifted-class": overstate,
    "rare-class": overstate_last,
    "timid": lambda probs: 0.5 + 0.7 * (probs - 0.5),
}
"""Ways to spoil true probabilities; labels are always drawn from the true ones."""

DEFECT_CLASSES = {"bad-class": 10, "rotation": 4}
"""Number of classes where power is measured; 3 for the temperatures."""

CLOSE = {("bad-class", 100): 1000}
"""Data sets of defects and numbers of rows where the best tests are so close that 200 do not tell them apart."""


def null_cells() -> list[Cell]:
    """Return the cells in which the predictions are calibrated."""
    classes = [
        Cell(shape, n, k, MANY_SETS if n <= 300 else FEW_SETS)
        for shape in GRID_SHAPES
        for k in (2, 3, 10)
        for n in (20, 100, 300, 1000)
    ]
    return classes + [Cell("normal", n, 0, MANY_SETS) for n in (20, 100)] + _special_null_cells()


def _special_null_cells() -> list[Cell]:
    """Return those of rare events, ties, many classes and weights."""
    rare = [
        Cell(shape, n, k, SPECIAL_SETS)
        for shape, k in (("rare", 2), ("one-frequent", 3), ("forest", 2))
        for n in (20, 100, 300)
    ]
    weighted = [
        Cell(shape, n, k, SPECIAL_SETS, weights=weights)
        for shape, k, weights in (("flat", 3, "exponential"), ("flat", 2, "lognormal"), ("rare", 2, "exponential"))
        for n in (20, 100, 300)
    ]
    return rare + weighted + [Cell("many", n, 100, LARGE_SETS) for n in (20, 100)] + _large_null_cells()


def _large_null_cells() -> list[Cell]:
    """Return those of many rows."""
    plain = [
        Cell(shape, MANY_ROWS, k, SPECIAL_SETS)
        for shape, k in (("flat", 2), ("peaked", 2), ("zero-one", 2), ("rare", 2), ("forest", 2), ("flat", 10))
    ]
    weighted = (("flat", "lognormal"), ("rare", "exponential"))
    return plain + [Cell(shape, MANY_ROWS, 2, SPECIAL_SETS, weights=weights) for shape, weights in weighted]


def power_cells() -> list[Cell]:
    """Return the cells in which they are not."""
    defects = ("temperature-0.5", "temperature-0.7", "temperature-0.85", "temperature-1.2", "temperature-1.5")
    flat = [
        Cell("flat", n, DEFECT_CLASSES.get(defect, 3), CLOSE.get((defect, n), POWER_SETS), defect)
        for defect in (*defects, "bad-class", "rotation")
        for n in (100, 300, 1000)
    ]
    return flat + [Cell(shape, n, k, sets, defect) for shape, defect, k, sizes in SPECIAL_DEFECTS for n, sets in sizes]


SPECIAL_DEFECTS = (
    ("rare-2%", "slope-0.6", 2, ((300, POWER_SETS), (1000, POWER_SETS))),
    ("rare-2%", "intercept-0.5", 2, ((300, POWER_SETS), (1000, POWER_SETS))),
    ("rare-0.5%", "slope-0.6", 2, ((1000, POWER_SETS), (3000, LARGE_SETS), (MANY_ROWS, POWER_SETS))),
    ("rare-0.5%", "intercept-0.5", 2, ((1000, POWER_SETS), (3000, LARGE_SETS), (MANY_ROWS, POWER_SETS))),
    ("sure", "temperature-0.7", 10, ((100, POWER_SETS), (300, POWER_SETS))),
    ("many", "shifted-class", 100, ((100, LARGE_SETS), (300, LARGE_SETS))),
    ("one-frequent", "rare-class", 3, ((100, POWER_SETS), (300, POWER_SETS))),
    ("forest", "timid", 2, ((100, POWER_SETS), (300, POWER_SETS))),
)
"""Other true probabilities, what is done to them, the number of classes, and the numbers of rows and data sets."""
