"""Probability integral transforms that a verdict is based on: of numbers, of coordinates, of distances."""

from dataclasses import dataclass

import numpy as np

from calibrant._typing import FloatArray
from calibrant.curves.forecasts import effective_rows
from calibrant.forecasts import Distribution, Forecasts, Mixture, MvNormal, Normal, Samples
from calibrant.forecasts.samples import Drawn
from calibrant.forecasts.transform import level_shares, pit_limits


@dataclass(frozen=True, eq=False)
class Transforms:
    """Numbers, one per row, that are independent and uniform on [0, 1] if the forecasts are calibrated.

    Attributes
    ----------
    subject : str
        What they are about, if not the targets themselves.
    lower, upper : ndarray of shape (n,)
        Ends of the interval that each is drawn from; equal if there is nothing to draw.
    values : ndarray of shape (n,)
        The numbers.
    weights : ndarray of shape (n,)
        Weights of the rows, all positive; the largest is 1.
    central : bool
        Whether the middle of a law is at 1/2; for distances it is at 0.
    """

    subject: str
    lower: FloatArray
    upper: FloatArray
    values: FloatArray
    weights: FloatArray
    central: bool = True

    def share(self, level: float) -> float:
        """Return the share of transforms up to a level, on average over what might have been drawn."""
        return float(level_shares(self.lower, self.upper, np.array([level]))(self.weights[:, None])[0, 0])

    def coverage(self, level: float) -> float:
        """Return the share of targets in the central region of this probability, averaged in the same way."""
        if not self.central:
            return self.share(level)
        return self.share((1 + level) / 2) - self.share(float(np.nextafter((1 - level) / 2, -1.0)))

    def mean(self, numbers: FloatArray) -> float:
        """Return the weighted mean."""
        return float(self.weights @ numbers / self.weights.sum())

    @property
    def needed(self) -> FloatArray:
        """The probability of the smallest central region that holds each target: also uniform."""
        return np.abs(2 * self.values - 1) if self.central else self.values

    @property
    def n_effective(self) -> float:
        """Kish's effective number of rows."""
        return effective_rows(self.weights)

    @property
    def regions(self) -> str:
        """What central regions are called."""
        return "intervals" if self.central else "regions"


def all_transforms(forecasts: Forecasts, rng: np.random.Generator) -> list[Transforms]:
    """Return the transforms of numbers; of vectors, those of every coordinate and, if normal, of the distance."""
    law, y = forecasts.distribution, forecasts.targets
    weights = forecasts.weights / forecasts.weights.max()
    if not law.event_shape:
        return [_transforms("", forecasts, weights, rng)]
    coordinates = [Forecasts(_marginal(law, j), y[:, j]) for j in range(law.dim)]
    found = [_transforms(f"coordinate {j + 1}", one, weights, rng) for j, one in enumerate(coordinates)]
    if isinstance(law, MvNormal):
        from scipy.special import gammainc

        scaled = np.linalg.solve(law.factors, np.asarray(y - law.mean(), dtype=np.float64)[:, :, None])
        distance = gammainc(law.dim / 2, np.square(scaled).sum(axis=(1, 2)) / 2)
        found.append(Transforms("distance from the mean", distance, distance, distance, weights, central=False))
    return found


def _transforms(subject: str, forecasts: Forecasts, weights: FloatArray, rng: np.random.Generator) -> Transforms:
    lower, upper = pit_limits(forecasts)
    drawn = lower if np.array_equal(lower, upper) else lower + rng.random(len(lower)) * (upper - lower)
    return Transforms(subject, lower, upper, drawn, weights)


def _marginal(law: Distribution, j: int) -> Distribution:
    """Return the law of one coordinate."""
    if isinstance(law, MvNormal):
        return Normal(law.mean()[:, j], law.sd()[:, j])
    if isinstance(law, Mixture):
        return Mixture(law.weights, [_marginal(part, j) for part in law.parts])
    if isinstance(law, Drawn):
        return Samples(law.draws[:, :, j])
    raise TypeError(f"assess_forecasts knows no laws of single coordinates of {law}.")
