"""Which calibrator to use: a rule names candidates, and rows that were held out decide between them."""

from calibrant.recommend.advise import recommend
from calibrant.recommend.fixed import fix
from calibrant.recommend.rule import RULE, shortlist

__all__ = ["RULE", "fix", "recommend", "shortlist"]
