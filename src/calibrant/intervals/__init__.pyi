from calibrant.intervals.differences import (
    difference_limits as difference_limits,
    DifferenceLimits as DifferenceLimits,
    percentiles as percentiles,
)
from calibrant.intervals.limits import Limits as Limits, Method as Method
from calibrant.intervals.methods import (
    interval as interval,
    known_interval as known_interval,
    method_for as method_for,
    METHODS as METHODS,
    why_not as why_not,
)
from calibrant.intervals.by_chance import has_range as has_range
