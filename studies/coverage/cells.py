"""The simulated worlds: what is predicted, and how far the truth is from it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.predictions import Predictions
from studies.simulations import worlds

SEED = 20_250_301
"""Root of all random numbers of the tables."""

SETS = 1000
"""Simulated data sets of a cell."""


def _softmax(logits: FloatArray) -> FloatArray:
    from scipy.special import softmax

    return np.asarray(softmax(logits, axis=1))


def _both(positive: FloatArray) -> FloatArray:
    return np.column_stack([1 - positive, positive])


SHAPES: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "beta-2": lambda rng, n: rng.dirichlet(np.full(2, 2.0), n),
    "beta-0.3": lambda rng, n: rng.dirichlet(np.full(2, 0.3), n),
    "beta-5-0.1": lambda rng, n: rng.dirichlet(np.array([0.1, 5.0]), n),
    "dirichlet-1": lambda rng, n: rng.dirichlet(np.ones(3), n),
    "dirichlet-0.1": lambda rng, n: rng.dirichlet(np.full(10, 0.1), n),
    "beta-1-4": lambda rng, n: rng.dirichlet(np.array([4.0, 1.0]), n),
    "normal-logits": lambda rng, n: _softmax(2.0 * rng.standard_normal((n, 4))),
}
"""Laws of the predictions.

Of two classes: moderate, peaked at both ends, and nearly sure of one class; uniform over three classes; of ten classes,
peaked. Then those that were held out: of two classes, one of them rare; of four, by logits.
"""

FURTHER_SHAPES: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "beta-1-30": lambda rng, n: rng.dirichlet(np.array([30.0, 1.0]), n),
    "two-values": lambda rng, n: _both(rng.choice([0.1, 0.9], n) + rng.uniform(-0.02, 0.02, n)),
}
"""Rare events, and predictions near 0.1 and 0.9, as smoothed labels teach them; in few worlds."""

ALL_SHAPES = SHAPES | FURTHER_SHAPES

HELD_OUT = ("beta-1-4", "normal-logits")
"""Simulated after most rules had been chosen; docs/coverage.md says which rules it made stricter."""

BETAS = {"beta-2": (2.0, 2.0), "beta-0.3": (0.3, 0.3), "beta-5-0.1": (5.0, 0.1), "beta-1-4": (1.0, 4.0)}
"""Parameters of the law of the probability of class 1, for two classes."""

ALL_BETAS = BETAS | {"beta-1-30": (1.0, 30.0)}

CLASSES = dict.fromkeys(ALL_BETAS, 2) | {"dirichlet-1": 3, "dirichlet-0.1": 10, "normal-logits": 4, "two-values": 2}

SLOPES = (1.0, 0.8, 0.5, 1.5)
"""True logits divided by predicted ones: calibrated, mildly and far over-confident, or under-confident."""

HELD_OUT_SLOPES = (1.0, 0.7, 1.5)
"""Slopes for the shapes that were held out: calibrated, over- and under-confident."""


@dataclass(frozen=True)
class World:
    """A law of predictions and labels.

    Attributes
    ----------
    shape : str
    slope : float
    weights : float
        Standard deviation of the logarithm of the weights, which are independent of all else; 0 without weights.
    """

    shape: str
    slope: float
    weights: float = 0.0

    @property
    def name(self) -> str:
        """Name in tables and file names."""
        name = f"{self.shape} K={CLASSES[self.shape]} slope={self.slope:g}"
        return f"{name} weights={self.weights:g}" if self.weights else name

    @property
    def is_calibrated(self) -> bool:
        """Whether the predictions are right."""
        return self.slope == 1

    def truth(self, probs: FloatArray) -> FloatArray:
        """Return the true probabilities where these are predicted."""
        return probs if self.is_calibrated else worlds.temper(probs, 1 / self.slope)

    def second(self, probs: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return what a second, calibrated model says.

        If the first is not calibrated, it is the first with the right temperature. If it is, the second knows less:
        it mixes the truth with that of an unrelated row in equal parts, and is calibrated because it cannot tell which
        of the two belongs to the label.
        """
        return (probs + ALL_SHAPES[self.shape](rng, len(probs))) / 2 if self.is_calibrated else self.truth(probs)


@dataclass(frozen=True)
class Cell:
    """Data sets of one size from one world."""

    world: World
    n: int
    sets: int = SETS

    @property
    def name(self) -> str:
        """Name in tables and file names; it decides the random numbers, the number of sets does not."""
        return f"{self.world.name} n={self.n}"


class Pair(NamedTuple):
    """What two models say about the same rows."""

    model: Predictions
    other: Predictions


def simulate(cell: Cell, rng: np.random.Generator) -> Pair:
    """Return one data set of the cell."""
    probs = ALL_SHAPES[cell.world.shape](rng, cell.n)
    labels = worlds.draw(rng, cell.world.truth(probs))
    second = cell.world.second(probs, rng)
    weights = rng.lognormal(0.0, cell.world.weights, cell.n) if cell.world.weights else None
    return Pair(Predictions(probs, labels, weights), Predictions(second, labels, weights))


FURTHER = (
    *(World("beta-2", slope) for slope in (0.88, 0.85, 0.7, 1.2)),
    *(World("beta-1-30", slope) for slope in (1.0, 0.7, 1.2)),
    World("two-values", 1.58),
    *(World("beta-2", slope, sd) for slope in (1.0, 0.5) for sd in (0.7, 1.0, 1.5)),
)
"""Worlds for limits that changed last: errors near 0.02, rare events, smoothed labels, unequal weights."""


def usual_worlds() -> list[World]:
    """Return the worlds that all limits are simulated in."""
    return [World(shape, slope) for shape in SHAPES for slope in (HELD_OUT_SLOPES if shape in HELD_OUT else SLOPES)]


def all_worlds() -> list[World]:
    """Return the worlds of the grid."""
    return [*usual_worlds(), *FURTHER]
