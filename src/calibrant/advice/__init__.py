"""Which calibrator to use: a rule names candidates, and held-out rows decide between them."""

from calibrant.advice.advise import recommend
from calibrant.advice.fixing import calibrate_held_out, fix
from calibrant.advice.rule import FORECAST_RULE, RULE, forecast_shortlist, shortlist

__all__ = ["FORECAST_RULE", "RULE", "calibrate_held_out", "fix", "forecast_shortlist", "recommend", "shortlist"]
