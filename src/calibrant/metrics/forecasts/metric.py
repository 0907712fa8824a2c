"""Base classes for metrics of predictive distributions, and their values by chance alone."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self

import numpy as np

from calibrant._border.numerals import as_given
from calibrant._border.settings import check_count, check_level
from calibrant._border.types import Evaluator, FloatArray
from calibrant.curves.forecasts import check_nominal
from calibrant.exceptions import InputError
from calibrant.forecasts import Distribution, Forecasts, Quantiles, Samples
from calibrant.metrics.base.metric import SCORES, Metric
from calibrant.metrics.scores import weighted_means
from calibrant.resampling.redraws import redrawn_values


def draw_masses(weights: FloatArray, probabilities: FloatArray, n_redraws: int, rng: np.random.Generator) -> FloatArray:
    """Assign every row to one of c cells at random, B times, and return the weight of each cell, (B, c).

    Examples
    --------
    >>> masses = draw_masses(np.ones(4), np.array([0.5, 0.5]), 3, np.random.default_rng(0))
    >>> masses.sum(axis=1).tolist()
    [4.0, 4.0, 4.0]
    """
    n_cells = len(probabilities)
    if np.all(weights == weights[0]):
        return weights[0] * rng.multinomial(len(weights), probabilities, size=n_redraws)
    edges = np.cumsum(probabilities)[:-1]
    cells = (np.searchsorted(edges, rng.random(len(weights)), side="right") for _ in range(n_redraws))
    return np.array([np.bincount(cell, weights, n_cells) for cell in cells])


def has_uniform_transforms(law: Distribution) -> bool:
    """Return whether targets drawn from these laws have uniform transforms, which means that there are no atoms."""
    if isinstance(law, Quantiles):
        return bool((np.diff(law.values, axis=1) > 0).all())
    return law.has_density


def exchanged(forecasts: Forecasts, n_redraws: int, rng: np.random.Generator) -> Iterator[Forecasts]:
    """Yield ensembles in which every target has changed places with a random member, or with itself.

    If the target is one more draw of what the m members were drawn from, all m + 1 orders are equally likely, and the
    results follow the same law as the forecasts themselves.
    """
    law, rows = forecasts.distribution, np.arange(forecasts.n_samples)
    if not isinstance(law, Samples):
        raise TypeError(f"targets are exchanged with members of Samples, but these are {law}.")
    for _ in range(n_redraws):
        chosen = rng.integers(0, law.n_draws + 1, forecasts.n_samples)
        swapped, member = chosen < law.n_draws, np.minimum(chosen, law.n_draws - 1)
        draws, targets = law.draws.copy(), forecasts.targets.copy()
        targets[swapped] = law.draws[rows, member][swapped]
        draws[rows[swapped], member[swapped]] = forecasts.targets[swapped]
        yield Forecasts._trusted(Samples._trusted(draws=draws), targets, forecasts.weights)  # noqa: SLF001 (checked)


NEEDS: dict[str, tuple[str, Callable[[Distribution], bool]]] = {
    "anything": ("", lambda _: True),
    "line": ("univariate distributions", lambda law: not law.event_shape),
    "cdf": ("univariate distributions with a distribution function", lambda law: law.has_cdf),
    "density": ("distributions with a density", lambda law: law.has_density),
    "sd": ("distributions with finite standard deviations", lambda law: law.has_sd),
    "sd on the line": (
        "univariate distributions with finite standard deviations",
        lambda law: law.has_sd and not law.event_shape,
    ),
}
"""What metrics need, in words, and whether distributions have it."""


class Columns(NamedTuple):
    """The levels of columns of quantiles, and those of the central intervals between two of these columns."""

    levels: tuple[float, ...]
    pairs: tuple[float, ...]


class ForecastMetric(Metric):
    """A number computed from `Forecasts` only.

    Attributes
    ----------
    needs : str
        What the predicted laws must have: a name in `NEEDS`.
    rows_for_limits : int
        Rows that confidence limits need for known coverage.
    """

    predictions = False
    forecasts = True
    needs: ClassVar[str] = "anything"

    @property
    def rows_for_limits(self) -> int:
        """Rows that confidence limits need for known coverage."""
        return 50

    def by_chance(self, forecasts: Forecasts, n_redraws: int, rng: np.random.Generator) -> FloatArray | None:
        """Return B values that calibrated forecasts have by chance; in an ensemble, the target is one more draw."""
        if isinstance(forecasts.distribution, Samples):
            return np.array([self.value(other) for other in exchanged(forecasts, n_redraws, rng)])
        return redrawn_values(self.prepare_labels(forecasts), forecasts, n_redraws, rng)

    def at_columns(self, columns: Columns) -> "ForecastMetric | None":  # noqa: ARG002 (for metrics that have levels)
        """Return the metric for laws known only by columns of quantiles; None if it needs more."""
        return None

    def suits(self, data: object) -> bool:
        """Return whether these are forecasts by laws that have what the metric needs."""
        return isinstance(data, Forecasts) and NEEDS[self.needs][1](data.distribution)

    def check(self, data: object) -> None:
        """Refuse data that the metric cannot be computed from."""
        super().check(data)
        if isinstance(data, Forecasts) and not self.suits(data):
            raise InputError(f"{type(self).__name__} needs {NEEDS[self.needs][0]}, but these are {data.distribution}.")


class ForecastScore(ForecastMetric):
    """The weighted mean of a per-row score."""

    group = SCORES
    family = "score"
    methods: ClassVar[tuple[str, ...]] = ("hall", "bootstrap-t")

    @abstractmethod
    def per_row(self, forecasts: Forecasts) -> FloatArray:
        """Return the score of every row."""

    def prepare(self, forecasts: Forecasts) -> Evaluator:
        """Return the map from weights, (n, B), to B values."""
        means = weighted_means(self.per_row(forecasts))
        return lambda weights: self.of_means(means(weights))

    def of_means(self, means: FloatArray) -> FloatArray:
        """Return the values for weighted means of the rows: by default the means themselves."""
        return means


@dataclass(frozen=True)
class IntervalMetric(ForecastScore):
    """A score of the central interval of one level."""

    needs = "cdf"
    level: float = 0.9

    def __post_init__(self) -> None:
        check_level(self.level)

    def at_columns(self, columns: Columns) -> Self | None:
        """Return the score of the known interval whose level is nearest."""
        return replace(self, level=nearest(columns.pairs, self.level)) if columns.pairs else None


def nearest(levels: Sequence[float], wanted: float) -> float:
    """Return the level that is nearest to the wanted one.

    Examples
    --------
    >>> nearest((0.5, 0.8), 0.9)
    0.8
    """
    return min(levels, key=lambda level: abs(level - wanted))


def check_levels(levels: object, *, closed: bool = False) -> None:
    """Refuse anything but a number of levels or a tuple of ascending levels; `closed` admits 0 and 1."""
    if not isinstance(levels, tuple):
        check_count(levels, "levels, if not a tuple,")
        return
    values = np.asarray(levels, dtype=np.float64)
    check_nominal(values)
    if not closed and (values[0] <= 0 or values[-1] >= 1):
        raise InputError(
            f"levels must lie between 0 and 1, but reach from {as_given(values[0])} to {as_given(values[-1])}."
        )


def level_array(levels: int | tuple[float, ...]) -> FloatArray:
    """Return the levels, ascending."""
    if isinstance(levels, tuple):
        return np.asarray(levels, dtype=np.float64)
    return np.arange(1, levels + 1) / (levels + 1)


def central_levels(level: float) -> FloatArray:
    """Return the levels of the two ends of the central interval."""
    return np.array([(1 - level) / 2, (1 + level) / 2])
