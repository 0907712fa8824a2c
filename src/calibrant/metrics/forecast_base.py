"""What every measure of predictive distributions is."""

from abc import abstractmethod
from typing import ClassVar, Literal

from calibrant._typing import Evaluator, FloatArray
from calibrant.exceptions import InputError
from calibrant.forecasts import Forecasts
from calibrant.metrics.base import Metric
from calibrant.metrics.scores import weighted_means

NEEDS = {
    "anything": "",
    "line": "laws on the line",
    "cdf": "laws on the line with a distribution function",
    "density": "laws with a density",
}


class ForecastMetric(Metric):
    """A number computed from `Forecasts` only.

    Attributes
    ----------
    needs : {"anything", "line", "cdf", "density"}
        What the predicted laws must have.
    """

    predictions: ClassVar[bool] = False
    forecasts: ClassVar[bool] = True
    needs: ClassVar[Literal["anything", "line", "cdf", "density"]] = "anything"

    def suits(self, data: object) -> bool:
        """Return whether these are forecasts by laws that have what the metric needs."""
        if not isinstance(data, Forecasts):
            return False
        law = data.distribution
        has = {"anything": True, "line": not law.event_shape, "cdf": law.has_cdf, "density": law.has_density}
        return has[self.needs]

    def check(self, data: object) -> None:
        """Refuse data that the metric cannot be computed from."""
        super().check(data)
        if isinstance(data, Forecasts) and not self.suits(data):
            raise InputError(f"{type(self).__name__} needs {NEEDS[self.needs]}, but these are {data.distribution}.")


class ForecastScore(ForecastMetric):
    """The weighted mean of a per-row score."""

    family = "score"

    @abstractmethod
    def per_row(self, forecasts: Forecasts) -> FloatArray:
        """Return the score of every row."""

    def prepare(self, forecasts: Forecasts) -> Evaluator:
        """Return the map from weights, (n, B), to B weighted means."""
        return weighted_means(self.per_row(forecasts))
