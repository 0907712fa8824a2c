"""Assessment and comparison of predictive distributions."""

from calibrant.assessment.forecasts.assessing import assess_forecasts
from calibrant.assessment.forecasts.comparison import compare_forecasts

__all__ = ["assess_forecasts", "compare_forecasts"]
