"""Which calibrator to use: a rule names candidates, and rows that were held out decide between them."""

from calibrant.advice.advise import recommend
from calibrant.advice.fixing import fix
from calibrant.advice.forecast_rule import FORECAST_RULE, forecast_shortlist
from calibrant.advice.held_out import calibrate_held_out
from calibrant.advice.rule import RULE, shortlist

__all__ = ["FORECAST_RULE", "RULE", "calibrate_held_out", "fix", "forecast_shortlist", "recommend", "shortlist"]
