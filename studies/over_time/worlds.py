"""Predictions whose log-odds are normal, and outcomes that follow a line of log-odds."""

from dataclasses import dataclass

import numpy as np

from calibrant._border.types import FloatArray
from calibrant._core.laws import expit
from calibrant.scale.over_time.cells import Cells, gather


@dataclass(frozen=True)
class World:
    """Log-odds of predictions: their mean and standard deviation."""

    name: str
    mean: float
    sd: float

    def log_odds(self, size: int | tuple[int, ...], rng: np.random.Generator) -> FloatArray:
        """Draw log-odds of predictions."""
        return self.mean + self.sd * rng.standard_normal(size)

    def outcomes(self, z: FloatArray, rng: np.random.Generator, shift: float = 0.0, slope: float = 1.0) -> FloatArray:
        """Draw outcomes whose log-odds have another level and slope at the mean of the predictions."""
        happened = rng.random(z.shape) < expit(self.mean + shift + slope * (z - self.mean))
        return happened.astype(np.float64)

    def day(self, n_rows: int, rng: np.random.Generator, shift: float = 0.0, slope: float = 1.0) -> Cells:
        """Draw a day."""
        z = self.log_odds(n_rows, rng)
        return as_cells(z, self.outcomes(z, rng, shift, slope))


def as_cells(z: FloatArray, y: FloatArray) -> Cells:
    """Gather rows in cells."""
    return gather(np.stack([expit(-z), expit(z)], axis=1), np.ones(len(z)), y)


COMMON = World("30 %", -1.05, 1.3)
RARE = World("1 %", -5.05, 1.0)
