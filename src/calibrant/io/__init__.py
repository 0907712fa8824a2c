"""Files: predictions and forecasts in, results out."""

from calibrant._border.lazy import attributes, declared

_HOMES = declared(__file__)  # A command that reads predictions needs no forecasts.

__all__ = list(_HOMES)

__getattr__ = attributes(__name__, _HOMES)
