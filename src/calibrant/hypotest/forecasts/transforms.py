"""Probability integral transforms that a verdict is based on: of numbers, of coordinates, of distances."""

from dataclasses import dataclass, replace

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.curves.forecasts import effective_rows
from calibrant.forecasts import Distribution, Forecasts, Mixture, MvNormal, Normal, Samples
from calibrant.forecasts.samples import Drawn
from calibrant.forecasts.transform import level_shares, pit_limits
from calibrant.hypotest.forecasts.scores import Grid, column_grid, rank_grid, usual_grid
from calibrant.hypotest.forecasts.trends import places
from calibrant.metrics.forecast_metric import nearest
from calibrant.metrics.forecast_table import central_pairs, known_levels

INNER, OUTER = 0.5, 0.9
"""The verdict speaks of central intervals of these probabilities, or of those nearest to them that are known."""


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
    levels : ndarray or None
        The only levels at which laws are known, if these are columns of quantiles.
    n_draws : int or None
        Members of every ensemble, of which the rank of the target is known.
    places : ndarray of shape (2, n) or None
        Where each law lies and how wide it is, numbers that the transforms do not depend on if the forecasts are right.
    """

    subject: str
    lower: FloatArray
    upper: FloatArray
    values: FloatArray
    weights: FloatArray
    central: bool = True
    levels: FloatArray | None = None
    n_draws: int | None = None
    places: FloatArray | None = None

    @property
    def grid(self) -> Grid:
        """The cells in which the transforms are counted."""
        if self.levels is not None:
            return column_grid(self.levels)
        return usual_grid() if self.n_draws is None else rank_grid(self.n_draws)

    @property
    def spoken(self) -> tuple[float, ...]:
        """The central regions that the verdict speaks of, by their probability: none if no two columns make one."""
        if self.levels is None:
            return (INNER, OUTER)
        pairs = central_pairs(self.levels)
        return tuple(sorted({nearest(pairs, wanted) for wanted in (INNER, OUTER)})) if pairs else ()

    @property
    def gap(self) -> float:
        """The probability of the widest region that is spoken of, minus the share of targets in it."""
        if self.spoken:
            return self.spoken[-1] - self.coverage(self.spoken[-1])
        first, last = self.ends
        return (last - first) - self.between

    def half(self, which: int, *, upper: bool) -> "Transforms":
        """Return the transforms of the rows whose place (0) or width (1) is in the upper half, or not."""
        if self.places is None:
            raise TypeError("there are no places by which rows could be divided.")
        numbers = self.places[which]
        some = (numbers > np.median(numbers)) == upper
        parts = {key: getattr(self, key)[some] for key in ("lower", "upper", "values", "weights")}
        return replace(self, **parts, places=self.places[:, some])

    @property
    def ends(self) -> tuple[float, float]:
        """The first and the last level that are known."""
        return (0.0, 1.0) if self.levels is None else (float(self.levels[0]), float(self.levels[-1]))

    @property
    def between(self) -> float:
        """The share of targets above the first known quantile, up to the last."""
        first, last = self.ends
        return self.share(last) - self.share(first)

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
        """What central regions are called.

        Those of ensembles are by the rank among the members: 90% intervals between quantiles of ten members hold less
        than 90% of the targets even if members and target are exchangeable.
        """
        if not self.central:
            return "regions"
        return "intervals by rank" if self.is_drawn else "intervals"

    @property
    def is_drawn(self) -> bool:
        """Whether transforms were drawn between two ends, as for ensembles."""
        return self.levels is None and not np.array_equal(self.lower, self.upper)


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
    law = forecasts.distribution
    return Transforms(
        subject,
        lower,
        upper,
        drawn,
        weights,
        levels=known_levels(law),
        n_draws=law.n_draws if isinstance(law, Samples) else None,
        places=places(forecasts),
    )


def _marginal(law: Distribution, j: int) -> Distribution:
    """Return the law of one coordinate."""
    if isinstance(law, MvNormal):
        return Normal(law.mean()[:, j], law.sd()[:, j])
    if isinstance(law, Mixture):
        return Mixture(law.weights, [_marginal(part, j) for part in law.parts])
    if isinstance(law, Drawn):
        return Samples(law.draws[:, :, j])
    raise TypeError(f"assess_forecasts knows no distributions of single coordinates of {law}.")


def interval_level(law: Distribution) -> float | None:
    """Return the probability of the widest central intervals that the verdict speaks of; None if there are none."""
    levels = known_levels(law)
    if levels is None:
        return OUTER
    pairs = central_pairs(levels)
    return nearest(pairs, OUTER) if pairs else None
