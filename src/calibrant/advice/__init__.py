"""Which calibrator to use: a rule names candidates, and rows that were held out decide between them."""

from calibrant.advice.advise import recommend
from calibrant.advice.fixing import fix
from calibrant.advice.held_out import calibrate_held_out
from calibrant.advice.rule import RULE, shortlist

__all__ = ["RULE", "calibrate_held_out", "fix", "recommend", "shortlist"]
