"""Files: predictions and forecasts in, results out."""

from calibrant._border.lazy import from_stub

# A command that reads predictions needs no forecasts.
__getattr__, __dir__, __all__ = from_stub(__name__, __file__)
