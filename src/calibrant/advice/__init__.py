"""Which calibrator to use: a rule names candidates, and rows that were held out decide between them."""

from calibrant.advice.advise import recommend
from calibrant.advice.fixed import fix
from calibrant.advice.rule import RULE, shortlist

__all__ = ["RULE", "fix", "recommend", "shortlist"]
