"""Everything a report needs to know about one set of predictive distributions."""

from calibrant.assess_forecasts.core import assess_forecasts

__all__ = ["assess_forecasts"]
