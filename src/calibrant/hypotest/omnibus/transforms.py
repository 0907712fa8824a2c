"""Probability integral transforms behind the verdict: of numbers, of coordinates, and of distances from the mean."""

from dataclasses import dataclass, replace
from hashlib import sha256

import numpy as np

from calibrant._border.types import BoolArray, FloatArray
from calibrant.forecasts import Distribution, Forecasts, Mixture, MvNormal, Normal, Samples
from calibrant.forecasts.samples import Drawn
from calibrant.forecasts.transform import level_shares, pit_limits
from calibrant.hypotest.omnibus.transform_cells import Grid, column_grid, places, rank_grid, usual_grid
from calibrant.metrics.forecasts.metric import nearest
from calibrant.metrics.forecasts.table import central_pairs, known_levels
from calibrant.predictions import effective_rows

INNER, OUTER = 0.5, 0.9
"""The verdict names central intervals of these probabilities, or of the nearest ones that are known."""


@dataclass(frozen=True, eq=False)
class Transforms:
    """Numbers, one per row, that are independent and uniform on [0, 1] if the forecasts are calibrated.

    Attributes
    ----------
    subject : str
        What they are about, if not the targets themselves.
    lower, upper : ndarray of shape (n,)
        Ends of the interval that each is drawn from; equal if nothing is drawn.
    values : ndarray of shape (n,)
        The numbers. For an ensemble only the rank of the target is used, so nothing is drawn unless the target equals
        a member.
    weights : ndarray of shape (n,)
        Weights of the rows, all positive; the largest is 1.
    central : bool
        Whether the middle of a forecast is at 1/2; for distances it is at 0.
    levels : ndarray or None
        The only levels at which the forecasts are known, if these are columns of quantiles.
    n_draws : int or None
        Number of members of each ensemble, if the forecasts are ensembles.
    places : ndarray of shape (2, n) or None
        Location and width of each forecast. Under calibration the transforms are independent of them.
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
    def named_levels(self) -> tuple[float, ...]:
        """Probabilities of the central regions that the verdict names; empty if no two columns form one."""
        return _named_levels(self.levels)

    @property
    def gap(self) -> float:
        """The probability of the widest named region minus the share of targets in it."""
        if self.named_levels:
            return self.named_levels[-1] - self.coverage(self.named_levels[-1])
        first, last = self.ends
        return (last - first) - self.between

    def half(self, which: int, *, upper: bool) -> "Transforms":
        """Return the transforms of the rows with location (0) or width (1) in the upper half, or in the lower."""
        if self.places is None:
            raise TypeError("rows can be divided only if location and width of the forecasts are known.")
        numbers = self.places[which]
        some = (numbers > np.median(numbers)) == upper
        parts = {key: getattr(self, key)[some] for key in ("lower", "upper", "values", "weights")}
        return replace(self, **parts, places=self.places[:, some])

    @property
    def ends(self) -> tuple[float, float]:
        """The first and the last known level."""
        return (0.0, 1.0) if self.levels is None else (float(self.levels[0]), float(self.levels[-1]))

    @property
    def between(self) -> float:
        """The share of targets above the first known quantile and up to the last."""
        first, last = self.ends
        return self.share(last) - self.share(first)

    def share(self, level: float) -> float:
        """Return the share of transforms up to a level, averaged over the random draws of ties."""
        return float(level_shares(self.lower, self.upper, np.array([level]))(self.weights[:, None])[0, 0])

    def coverage(self, level: float) -> float:
        """Return the share of targets in the central region of this probability, averaged over the draws of ties."""
        if not self.central:
            return self.share(level)
        return self.share((1 + level) / 2) - self.share(float(np.nextafter((1 - level) / 2, -1.0)))

    def mean(self, numbers: FloatArray) -> float:
        """Return the weighted mean."""
        return float(self.weights @ numbers / self.weights.sum())

    @property
    def error(self) -> float:
        """The mean distance between levels and shares (MACE), averaged over the random draws of ties."""
        levels = self.grid.levels
        shares = level_shares(self.lower, self.upper, levels)(self.weights[:, None])[:, 0]
        return float(np.abs(shares - levels).mean())

    @property
    def needed(self) -> FloatArray:
        """The probability of the smallest central region that holds each target, averaged over the draws of ties."""
        if not self.central:
            return self.values
        first, last = self.lower - 0.5, self.upper - 0.5
        # |2 u - 1| is the derivative of (u - 1/2) |u - 1/2|.
        area, width = last * np.abs(last) - first * np.abs(first), last - first
        return np.divide(area, width, out=np.abs(2 * first), where=width > 0)

    @property
    def n_effective(self) -> float:
        """Kish's effective number of rows."""
        return effective_rows(self.weights)

    @property
    def regions(self) -> str:
        """What central regions are called.

        Those of ensembles are defined by the rank among the members: intervals between the 5% and 95% quantiles of ten
        members hold less than 90% of the targets even if members and target are exchangeable.
        """
        if not self.central:
            return "regions"
        return "intervals by rank" if self.by_rank else "intervals"

    @property
    def by_rank(self) -> bool:
        """Whether the transforms are known only as intervals, as those of ensembles are."""
        return self.levels is None and not np.array_equal(self.lower, self.upper)

    @property
    def has_ties(self) -> bool:
        """Whether a target lies on a value of positive probability, such as a member of its ensemble."""
        return bool(_tied(self.lower, self.upper, self.n_draws).any())


def all_transforms(forecasts: Forecasts) -> list[Transforms]:
    """Return the transforms of numbers; for vectors, those of every coordinate and, if normal, of the distance."""
    law, y = forecasts.distribution, forecasts.targets
    weights = forecasts.weights / forecasts.weights.max()
    if not law.event_shape:
        return [_transforms("", forecasts, weights)]
    coordinates = [Forecasts(_marginal(law, j), y[:, j]) for j in range(law.dim)]
    found = [_transforms(f"coordinate {j + 1}", one, weights) for j, one in enumerate(coordinates)]
    if isinstance(law, MvNormal):
        from scipy.special import gammainc

        scaled = np.linalg.solve(law.factors, np.asarray(y - law.mean(), dtype=np.float64)[:, :, None])
        distance = gammainc(law.dim / 2, np.square(scaled).sum(axis=(1, 2)) / 2)
        found.append(Transforms("distance from the mean", distance, distance, distance, weights, central=False))
    return found


def _transforms(subject: str, forecasts: Forecasts, weights: FloatArray) -> Transforms:
    lower, upper = pit_limits(forecasts)
    law = forecasts.distribution
    n_draws = law.n_draws if isinstance(law, Samples) else None
    parts = np.where(_tied(lower, upper, n_draws), _ties_broken(lower, upper), 0.5)
    return Transforms(
        subject,
        lower,
        upper,
        lower + parts * (upper - lower),
        weights,
        levels=known_levels(law),
        n_draws=n_draws,
        places=places(forecasts),
    )


def _tied(lower: FloatArray, upper: FloatArray, n_draws: int | None) -> BoolArray:
    """Return which transforms are intervals; for ensembles, which are intervals of more than one rank."""
    known = 0.0 if n_draws is None else 1.5 / (n_draws + 1)
    return np.asarray(upper - lower > known)


def _ties_broken(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return uniform numbers that depend only on the ends, so that the same rows always break ties alike."""
    seed = sha256(lower.tobytes() + upper.tobytes()).digest()
    return np.random.default_rng(list(seed)).random(len(lower))


def _marginal(law: Distribution, j: int) -> Distribution:
    """Return the distribution of one coordinate."""
    if isinstance(law, MvNormal):
        return Normal(law.mean()[:, j], law.sd()[:, j])
    if isinstance(law, Mixture):
        return Mixture(law.weights, [_marginal(part, j) for part in law.parts])
    if isinstance(law, Drawn):
        return Samples(law.draws[:, :, j])
    raise TypeError(
        "forecasts of vectors must be MvNormal, Samples or a Mixture of these, whose coordinates can be tested one by "
        f"one, but are {type(law).__name__}."
    )


def _named_levels(levels: FloatArray | None) -> tuple[float, ...]:
    if levels is None:
        return (INNER, OUTER)
    pairs = central_pairs(levels)
    return tuple(sorted({nearest(pairs, wanted) for wanted in (INNER, OUTER)})) if pairs else ()


def interval_level(law: Distribution) -> float | None:
    """Return the probability of the widest central intervals that the verdict names; None if there are none."""
    return max(_named_levels(known_levels(law)), default=None)
