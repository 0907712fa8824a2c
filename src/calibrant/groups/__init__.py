"""Search for groups in which predictions are off although all rows together look fine, and a fix for them."""

from calibrant.groups.boosting import GroupBoosting
from calibrant.groups.search import GroupSearch
from calibrant.groups.store import load, save

__all__ = ["GroupBoosting", "GroupSearch", "load", "save"]
