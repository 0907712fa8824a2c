"""Simulated rows whose predictions are right but for one group, which is known."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from calibrant._border.types import BoolArray, FloatArray, IntArray
from calibrant._core.laws import expit
from calibrant.predictions import Predictions

Columns = dict[str, "FloatArray | IntArray"]


class Drawn(NamedTuple):
    """One data set.

    Attributes
    ----------
    predictions : Predictions
    features : dict of arrays
    truth : ndarray of shape (n,)
        The true probabilities.
    bad : ndarray of bool
        Rows of the group that is off.
    """

    predictions: Predictions
    features: Columns
    truth: FloatArray
    bad: BoolArray


def categories(n: int, rng: np.random.Generator) -> tuple[Columns, BoolArray]:
    """Return four columns with 4, 3, 2 and 5 levels; the group is a cell with an eighth of the rows."""
    columns: Columns = {f"x{j}": rng.integers(0, k, n) for j, k in enumerate((4, 3, 2, 5))}
    return columns, (columns["x0"] == 1) & (columns["x2"] == 0)


def numbers(n: int, rng: np.random.Generator) -> tuple[Columns, BoolArray]:
    """Return four columns of normal numbers; the group is x0 > 0.8 and x1 > 0, a tenth of the rows."""
    columns: Columns = {f"x{j}": rng.standard_normal(n) for j in range(4)}
    return columns, (columns["x0"] > 0.8) & (columns["x1"] > 0)


@dataclass(frozen=True)
class World:
    """How rows are drawn.

    Parameters
    ----------
    n : int
    columns : callable
        Draws features, and which rows are in the group.
    shift : float
        By how much the true log-odds of the group are larger than the predicted ones.
    mean : float, default=-0.5
        Of the log-odds, whose standard deviation is 1.
    weighted : bool, default=False
        Whether rows have exponential weights.
    """

    n: int
    columns: Callable[[int, np.random.Generator], tuple[Columns, BoolArray]]
    shift: float = 0.0
    mean: float = -0.5
    weighted: bool = False

    def draw(self, rng: np.random.Generator) -> Drawn:
        """Return one data set."""
        features, bad = self.columns(self.n, rng)
        log_odds = rng.normal(self.mean, 1.0, self.n)
        truth = expit(log_odds + self.shift * bad)
        weights = rng.exponential(size=self.n) if self.weighted else None
        return Drawn(Predictions(expit(log_odds), rng.random(self.n) < truth, weights), features, truth, bad)
