"""What every measure of predictive distributions is."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from calibrant._border.checks import check_count
from calibrant._border.types import Evaluator, FloatArray
from calibrant.curves.forecasts import check_nominal
from calibrant.exceptions import InputError
from calibrant.forecasts import Forecasts, Samples
from calibrant.metrics.forecast_chance import exchanged_values, redrawn_values
from calibrant.metrics.metric import Metric
from calibrant.metrics.scores import weighted_means

NEEDS = {
    "anything": "",
    "line": "univariate distributions",
    "cdf": "univariate distributions with a distribution function",
    "density": "distributions with a density",
    "sd": "distributions with finite standard deviations",
    "sd on the line": "univariate distributions with finite standard deviations",
}


class ForecastMetric(Metric):
    """A number computed from `Forecasts` only.

    Attributes
    ----------
    needs : {"anything", "line", "cdf", "density", "sd", "sd on the line"}
        What the predicted laws must have.
    rows_for_limits : int
        Rows that confidence limits need for known coverage.
    """

    predictions: ClassVar[bool] = False
    forecasts: ClassVar[bool] = True
    needs: ClassVar[Literal["anything", "line", "cdf", "density", "sd", "sd on the line"]] = "anything"

    @property
    def rows_for_limits(self) -> int:
        """Rows that confidence limits need for known coverage."""
        return 50

    def by_chance(self, forecasts: Forecasts, n_redraws: int, rng: np.random.Generator) -> FloatArray | None:
        """Return values, (B,), as calibrated forecasts have them; of an ensemble the target is one more draw."""
        values = exchanged_values if isinstance(forecasts.distribution, Samples) else redrawn_values
        return values(self, forecasts, n_redraws, rng)

    def at_columns(
        self,
        levels: tuple[float, ...],  # noqa: ARG002 (for those that have levels)
        pairs: tuple[float, ...],  # noqa: ARG002 (as above)
    ) -> "ForecastMetric | None":
        """Return the metric for laws of which only the quantiles at these levels are known; None if it needs more.

        The pairs are the levels of the central intervals between two of the quantiles.
        """
        return None

    def suits(self, data: object) -> bool:
        """Return whether these are forecasts by laws that have what the metric needs."""
        if not isinstance(data, Forecasts):
            return False
        law = data.distribution
        on_line = not law.event_shape
        has = {
            "anything": True,
            "line": on_line,
            "cdf": law.has_cdf,
            "density": law.has_density,
            "sd": law.has_sd,
            "sd on the line": on_line and law.has_sd,
        }
        return has[self.needs]

    def check(self, data: object) -> None:
        """Refuse data that the metric cannot be computed from."""
        super().check(data)
        if isinstance(data, Forecasts) and not self.suits(data):
            raise InputError(f"{type(self).__name__} needs {NEEDS[self.needs]}, but these are {data.distribution}.")


class ForecastScore(ForecastMetric):
    """The weighted mean of a per-row score."""

    family = "score"
    limits: ClassVar[str | None] = "hall"
    methods: ClassVar[tuple[str, ...]] = ("hall", "bootstrap-t")

    @abstractmethod
    def per_row(self, forecasts: Forecasts) -> FloatArray:
        """Return the score of every row."""

    def prepare(self, forecasts: Forecasts) -> Evaluator:
        """Return the map from weights, (n, B), to B values."""
        means = weighted_means(self.per_row(forecasts))
        return lambda weights: self.of_means(means(weights))

    def of_means(self, means: FloatArray) -> FloatArray:
        """Return the values, given weighted means of the rows: these themselves, unless a score says otherwise."""
        return means


class IntervalMetric(ForecastScore):
    """A score of the central interval of one level."""

    level: float

    def at_columns(
        self,
        levels: tuple[float, ...],  # noqa: ARG002 (of the quantiles, here only of intervals)
        pairs: tuple[float, ...],
    ) -> "IntervalMetric | None":
        """Return the score of the known interval whose level is nearest."""
        return replace(self, level=nearest(pairs, self.level)) if pairs else None  # type: ignore[type-var]


def nearest(levels: Sequence[float], wanted: float) -> float:
    """Return the level that is nearest to the wanted one.

    Examples
    --------
    >>> nearest((0.5, 0.8), 0.9)
    0.8
    """
    return min(levels, key=lambda level: abs(level - wanted))


def check_levels(levels: object, *, closed: bool = False) -> None:
    """Refuse what is neither a number of levels nor a tuple of ascending ones; `closed` admits 0 and 1."""
    if not isinstance(levels, tuple):
        check_count(levels, "levels, if not a tuple,")
        return
    values = np.asarray(levels, dtype=np.float64)
    check_nominal(values)
    if not closed and (values[0] <= 0 or values[-1] >= 1):
        raise InputError(f"levels must lie between 0 and 1, but reach from {values[0]:g} to {values[-1]:g}.")


def level_array(levels: int | tuple[float, ...]) -> FloatArray:
    """Return the levels, ascending."""
    if isinstance(levels, tuple):
        return np.asarray(levels, dtype=np.float64)
    return np.arange(1, levels + 1) / (levels + 1)


def central_levels(level: float) -> FloatArray:
    """Return the levels of the two ends of the central interval."""
    return np.array([(1 - level) / 2, (1 + level) / 2])
